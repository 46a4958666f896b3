import { ByrefError, codeOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { contentOf } from "../../tool/tool-result.ts";
import { TEXT_TYPE } from "../../store/bytes/content.ts";
import { toIdentifier } from "../../store/names.ts";
import type { VariableStore } from "../../store/variables.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { toolOutput } from "../../tool/tool-output.ts";
import { compact } from "../../value/json.ts";
import { displayOf, type MessagePart } from "./message-parts.ts";
import { pasteIn } from "./paste.ts";
import { KEPT_AS } from "./variable-list.ts";
import { existing } from "../../tool/variables/variable-target.ts";

export type IncomingPart =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "file";
      readonly mediaType: string;
      readonly filename?: string | undefined;
      /** A data URL, or a path of `variableUrl`. Nothing is fetched. */
      readonly url: string;
    };

export interface ReceivedMessage {
  /** The parts as the model reads them. */
  readonly parts: readonly MessagePart[];
  /** The texts as the person typed them, one per text part. Absent if they equal the parts' texts. */
  readonly display?: readonly string[];
}

interface ReceiveOptions {
  readonly store: VariableStore;
  /** The conversation's id in its routes. */
  readonly conversation: string;
  /** A longer text becomes a variable. Default: `messageChars`. */
  readonly messageChars?: number | undefined;
}

/**
 * Stores large content of a message as variables: what was pasted into a long text, and every file. The model reads
 * the question and handles. Rejects with the store's errors.
 */
export async function receiveMessage(
  incoming: readonly IncomingPart[],
  options: ReceiveOptions,
): Promise<ReceivedMessage> {
  const parts: MessagePart[] = [];
  const display: string[] = [];
  for (const part of incoming) {
    if (part.type === "file") {
      parts.push(await keptFile(part, options));
      continue;
    }
    const isLong = part.text.length > (options.messageChars ?? limits.messageChars);
    parts.push({ type: "text", text: isLong ? await keptText(part.text, options) : part.text });
    display.push(part.text);
  }
  return { parts, ...compact({ display: displayOf(parts, display) }) };
}

async function keptText(text: string, { store }: ReceiveOptions): Promise<string> {
  const { question, text: pasted, mediaType, delimiter } = pasteIn(text);
  const isAll = question === "";
  const read = async () => {
    const stream = new Blob([pasted]).stream();
    if (delimiter === undefined) return store.receive(stream, mediaType);
    return (await store.receiveRecords(stream, mediaType, { delimiter })) ?? pasted;
  };
  const info = await store.save({
    // Records or JSON; a text where it only looked like them.
    value: mediaType === TEXT_TYPE ? pasted : await unlessUnreadable(read(), pasted),
    name: { base: isAll ? "message" : "paste", numbered: true, inputDigest: "" },
    description: isAll ? "What the person wrote." : "What the person pasted into a message.",
    sources: ["user"],
  });
  if (isAll) return `This message is long and was ${KEPT_AS}${handleOf(info)}`;
  return `${question}\n\nWhat was pasted with it was ${KEPT_AS}${handleOf(info)}`;
}

/** The value that is read, or another if the content does not match its type. */
function unlessUnreadable<Value>(reading: Promise<Value>, other: Value): Promise<Value> {
  return reading.catch((error: unknown) => {
    if (codeOf(error) === "internal") throw error;
    return other;
  });
}

function handleOf(info: VariableInfo): string {
  // A variable that a message links to may have been replaced by untrusted content.
  return JSON.stringify(toolOutput(info, undefined, { hidesUntrusted: true }));
}

type IncomingFile = Extract<IncomingPart, { type: "file" }>;

async function keptFile(file: IncomingFile, options: ReceiveOptions): Promise<MessagePart> {
  const { mediaType, filename, url } = file;
  const { store, conversation } = options;
  const known = variableAt(url, conversation);
  const info = known === undefined ? await savedFile(file, store) : existing(store, known);
  return {
    type: "file",
    mediaType,
    ...compact({ filename }),
    url: variableUrl(conversation, info.name),
    // The handle that the model receives.
    providerMetadata: { byref: { handle: handleOf(info) } },
  };
}

async function savedFile(
  { mediaType, filename, url }: IncomingFile,
  store: VariableStore,
): Promise<VariableInfo> {
  const base = toIdentifier((filename ?? "").replace(/\.[^.]*$/u, ""));
  return store.save({
    value: await contentOf({ bytes: bytesIn(url), mediaType }, store),
    name: { base: base === "" ? "file" : base, numbered: false, inputDigest: "" },
    description: `A file of the person's${filename === undefined ? "" : `: ${filename}`}`,
    sources: ["user"],
  });
}

/** Decodes a data URL. Throws `bad_value`. */
function bytesIn(url: string): Uint8Array {
  const comma = url.indexOf(",");
  if (!/^data:/iu.test(url) || comma < 0) {
    throw new ByrefError("bad_value", "A file comes as a data URL; nothing is fetched.");
  }
  const isBase64 = /;\s*base64$/iu.test(url.slice(0, comma));
  const text = url.slice(comma + 1);
  try {
    if (!isBase64) return new TextEncoder().encode(decodeURIComponent(text));
    return Uint8Array.from(atob(decodeURIComponent(text)), (unit) => unit.charCodeAt(0));
  } catch {
    throw new ByrefError("bad_value", "The file's data URL cannot be read.");
  }
}

/** The path of a variable's value, to which a message links in place of a person's file. */
export function variableUrl(conversation: string, name: string): string {
  return `/conversations/${conversation}/variables/${name}`;
}

/** The variable that such a path of this conversation names. Undefined for any other URL. */
export function variableAt(url: string, conversation: string): string | undefined {
  const start = variableUrl(conversation, "");
  const name = url.startsWith(start) ? url.slice(start.length) : "";
  return /^[^/?#]+$/u.test(name) ? name : undefined;
}
