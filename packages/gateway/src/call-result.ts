import type { CallToolResult, ContentBlock, ProtocolError } from "@modelcontextprotocol/server";
import { maxShownResultChars } from "../../../src/limits.ts";
import * as limits from "./gateway-limits.ts";
import type { ToolOutput, VariableInfo } from "../../../src/runtime.ts";
import { characters, encoding, json } from "../../../src/internal.ts";
import { toolOutputs, type wraps, type runtimeTools } from "../../../src/internal-tool.ts";
import type { Json } from "../../../src/references.ts";
import type { OfferedTool } from "./offered-items.ts";
import { isOfServer, isOwn, resourceOf } from "./own-tools.ts";
import { joinedRules } from "./servers/server-rules.ts";
import { type GatewayState, WRONG_REFERENCES } from "./gateway-state.ts";

/** The key of a result's `_meta` with the variable that has its value: `{name, version}`. */
const VARIABLE_META = "byref/variable";

export interface SavedResult {
  /** The result as returned by the server. Undefined for a large result of a tool in this process. */
  readonly received: CallToolResult | undefined;
  readonly output: ToolOutput;
  readonly info: VariableInfo | undefined;
  /** Results of up to this many characters are passed on unchanged. */
  readonly inlineChars: number;
}

/**
 * Returns a small result as the server gave it, with the variable's name in `_meta`; of a large or guarded one
 * the handle and a link to the variable.
 */
export function clientResult({ received, output, info, inlineChars }: SavedResult): CallToolResult {
  const isGuarded = "visibility" in output;
  const isSmall = received !== undefined && charsOfResult(received) <= inlineChars;
  if (isSmall && !isGuarded && info !== undefined) {
    return {
      ...received,
      content: [...withoutViews(received).content, ...notesIn(output)],
      _meta: { ...received._meta, ...metaOf(info) },
    };
  }
  const handle = handleResult(output, info);
  const failed = received?.isError === true ? { isError: true } : {};
  if (isGuarded || received === undefined) return { ...handle, ...failed };
  const { _meta: given } = withoutVariable(received);
  return {
    ...failed,
    content: [...handle.content, ...besideHandle(received, { info, inlineChars })],
    ...((given ?? handle._meta) && { _meta: { ...given, ...handle._meta } }),
  };
}

/**
 * Returns what a client is shown of a long result beside its handle: small pictures, the other contents of a result
 * with media if they are short, and what the variable does not have; then a note about the rest.
 */
function besideHandle(
  received: CallToolResult,
  { info, inlineChars }: Pick<SavedResult, "info" | "inlineChars">,
): readonly ContentBlock[] {
  const { content, structuredContent, isError } = received;
  const media = content.map(mediaIn);
  const others = content.filter((_part, index) => media[index] === undefined);
  const isShort =
    others.length < content.length && contentChars({ content: others }) <= inlineChars;
  const isKept = structuredContent === undefined || isError === true;
  const isShown = (part: ContentBlock, index: number) =>
    media[index] === undefined ? isShort && !isView(part) : !isKept || isSmallImage(part);
  const base = info && `$${info.name}${structuredContent === undefined ? "" : ".content"}`;
  const left = media.flatMap((one, index) => {
    const part = content[index];
    if (one === undefined || part === undefined || isShown(part, index)) return [];
    const place = base === undefined ? "" : `${base}[${index}].${one.key}: `;
    return [`${place}${one.mimeType} of ${bytesOf(one.data)} bytes`];
  });
  const shown = content.filter(isShown);
  // The handle of a single content says what it is.
  return content.length === 1 || left.length === 0 ? shown : [noteAbout(left, info), ...shown];
}

function noteAbout(left: readonly string[], info: VariableInfo | undefined): ContentBlock {
  const listed = left.slice(0, MAX_LISTED).join(", ");
  const more = left.length > MAX_LISTED ? ` and ${left.length - MAX_LISTED} more` : "";
  const count = left.length === 1 ? "1 content is" : `${left.length} contents are`;
  const how = info === undefined ? "and not kept" : "but kept, as base64";
  return textBlock(`${count} not shown ${how}: ${listed}${more}.`);
}

const MAX_LISTED = 5;

/** True for a failure that is too long to pass on, apart from pictures that come beside a handle, too. */
export function isLongFailure(failure: CallToolResult): boolean {
  const content = failure.content.filter((part) => !isSmallImage(part));
  return charsOfResult({ ...failure, content }) > maxShownResultChars;
}

/** Returns what a tool of this process would answer as a server, if its value is small. */
function answerOf(output: ToolOutput): CallToolResult | undefined {
  if (!("value" in output)) return undefined;
  const { value } = output;
  return { content: [textBlock(typeof value === "string" ? value : JSON.stringify(value))] };
}

/** Returns the result of one of the gateway's own tools, which may be a variable. */
function ownResult(
  output: Json,
  info: VariableInfo | undefined,
  shown?: runtimeTools.ModelOutput,
): CallToolResult {
  if (shown?.type === "content") return { content: shown.value.map(blockOf) };
  if (info === undefined) return { content: [textBlock(JSON.stringify(output))] };
  // A result with a variable is one of these.
  return handleResult(output as unknown as ToolOutput, info);
}

type ShownPart = Extract<runtimeTools.ModelOutput, { readonly type: "content" }>["value"][number];

/** The files that tools show are pictures. */
function blockOf(part: ShownPart): ContentBlock {
  if (part.type === "text") return textBlock(part.text);
  return { type: "image", data: part.data.data, mimeType: part.mediaType };
}

function handleResult(output: ToolOutput, info: VariableInfo | undefined): CallToolResult {
  const text = textBlock(handleText(output));
  if (info === undefined) return { content: [text] };
  const link = { type: "resource_link", ...resourceOf(info) } as const;
  return { content: "value" in output ? [text] : [text, link], _meta: metaOf(info) };
}

function metaOf({ name, version }: VariableInfo) {
  return { [VARIABLE_META]: { name, version } };
}

/** Returns a server's result without the name of a variable, which only the gateway gives. */
function withoutVariable(result: CallToolResult): CallToolResult {
  if (result._meta?.[VARIABLE_META] === undefined) return result;
  const { [VARIABLE_META]: _variable, ...meta } = result._meta;
  return { ...result, _meta: meta };
}

/** Returns a result without the views that some clients show: they could use everything behind the gateway. */
function withoutViews(result: CallToolResult): CallToolResult {
  return { ...result, content: result.content.filter((part) => !isView(part)) };
}

export function failedResult(code: string, message: string): CallToolResult {
  return { isError: true, content: [textBlock(`${code}: ${message}`)] };
}

/** Characters of all contents together, or of the structured content, whichever are more. */
function charsOfResult(result: CallToolResult): number {
  const { structuredContent } = result;
  const structured = structuredContent === undefined ? 0 : JSON.stringify(structuredContent).length;
  return Math.max(structured, contentChars(result));
}

/** Characters of what a model is shown of a result. */
function contentChars({ content }: Pick<CallToolResult, "content">): number {
  const texts = content.map((part) => (part.type === "text" ? part.text : JSON.stringify(part)));
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function handleText(output: ToolOutput): string {
  const text = JSON.stringify(toolOutputs.outputJson(output));
  if (!("$var" in output) || "value" in output) return text;
  return `${text}\nKept as $${output.$var}: write "$${output.$var}" or "$${output.$var}.path" as an argument of any tool, and it is replaced by the value.`;
}

/** Reports only names that resemble existing ones, not `$HOME` or prices. */
function notesIn(output: ToolOutput): readonly ContentBlock[] {
  const unresolved = "unresolved" in output ? (output.unresolved ?? []) : [];
  return unresolved
    .filter(({ near = [] }) => near.length > 0)
    .map(({ reference, near = [] }) => {
      const names = near.map((name) => `$${name}`).join(", ");
      return textBlock(
        `${reference} is not a variable and was passed as it is. There is ${names}.`,
      );
    });
}

function isView(part: ContentBlock): boolean {
  return part.type === "resource" && isOwn(part.resource.uri) && !isOfServer(part.resource.uri);
}

/**
 * Returns a picture, a sound or a binary resource, and where the content has its base64; undefined for other contents. A
 * server may send any.
 */
function mediaIn(part: unknown) {
  if (!json.isObject(part)) return undefined;
  const { type, data, mimeType, resource } = part;
  if ((type === "image" || type === "audio") && typeof data === "string")
    return mediaOf("data", data, mimeType);
  if (type !== "resource" || !json.isObject(resource) || typeof resource.blob !== "string")
    return undefined;
  return mediaOf("resource.blob", resource.blob, resource.mimeType);
}

function mediaOf(key: string, data: string, type: unknown) {
  return {
    key,
    data,
    mimeType: typeof type === "string" ? characters.clip(type, 100) : "unknown type",
  };
}

function isSmallImage(part: ContentBlock): boolean {
  const media = part.type === "image" ? mediaIn(part) : undefined;
  return media !== undefined && bytesOf(media.data) <= limits.maxInlineImageBytes;
}

function bytesOf(base64: string): number {
  const padding = base64.endsWith("==") ? 2 : Number(base64.endsWith("="));
  return Math.floor((base64.length * 3) / 4) - padding;
}

function textBlock(text: string): ContentBlock {
  return { type: "text", text };
}

export interface FinishedCall {
  readonly saved: wraps.Saved;
  /** The result as returned by the server; undefined for a tool of the gateway. */
  readonly received: CallToolResult | undefined;
  readonly ready: wraps.Ready;
  /** What a tool of the gateway shows in place of its output. */
  readonly shown?: runtimeTools.ModelOutput | undefined;
}

export interface CallFailure {
  readonly code: string;
  readonly message: string;
}

/** Makes what clients are sent for calls, and counts it. */
export class CallResults {
  readonly #statistics: GatewayState;
  /** The tools that were called with a wrong reference, and have not succeeded since. */
  readonly #toCorrect = new Set<string>();

  constructor(statistics: GatewayState) {
    this.#statistics = statistics;
  }

  saved(
    { definition, from, own }: OfferedTool,
    { saved, received, ready, shown }: FinishedCall,
  ): CallToolResult {
    const { info } = saved;
    const { authoredChars, resolvedChars, values } = ready.references;
    // A tool of the pipeline returns one of its outputs.
    const output = saved.output as ToolOutput;
    const rules = from && joinedRules(from.upstream.server, from.tool.name);
    const inlineChars = rules?.inlineChars ?? maxShownResultChars;
    const result =
      own === undefined
        ? clientResult({ received: received ?? answerOf(output), output, info, inlineChars })
        : ownResult(saved.output as Json, info, shown);
    this.#statistics.add({
      calls: 1,
      kept: saved.info === undefined ? 0 : 1,
      charactersReceived: received === undefined ? (info?.bytes ?? 0) : contentChars(received),
      charactersSent: contentChars(result),
      referenceCharacters: authoredChars,
      bytesByReference: resolvedChars + values.map(moreBytesOf).reduce((a, b) => a + b, 0),
      recovered: Number(result.isError !== true && this.#toCorrect.delete(definition.name)),
    });
    return result;
  }

  failed(tool: string, { code, message }: CallFailure): CallToolResult {
    const result = failedResult(code, message);
    const charactersSent = contentChars(result);
    const isWrong = WRONG_REFERENCES.includes(code);
    if (isWrong) this.#toCorrect.add(tool);
    this.#statistics.add({ calls: 1, charactersSent, wrongReferences: Number(isWrong) });
    return result;
  }

  /** Counts a call that its server answered with an error of the protocol, which is passed on. */
  refused(error: ProtocolError): ProtocolError {
    const { length } = error.message;
    this.#statistics.add({ calls: 1, charactersReceived: length, charactersSent: length });
    return error;
  }

  /** Passes on a short failure as the server reported it. */
  failedAtServer(received: CallToolResult): CallToolResult {
    const result = withoutViews(withoutVariable(received));
    const chars = contentChars(result);
    this.#statistics.add({ calls: 1, charactersReceived: chars, charactersSent: chars });
    return result;
  }
}

/** Returns how many bytes a value as JSON in UTF-8 has more than characters. */
function moreBytesOf(value: unknown): number {
  const text = value instanceof Uint8Array ? "" : JSON.stringify(value);
  return encoding.byteLength(text) - text.length;
}
