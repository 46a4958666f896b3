import * as z from "zod";
import { ByrefError, requireAtMost } from "../../../src/errors.ts";
import {
  type Taint,
  type VariableStore,
  characters,
  encoding,
  json,
  requireWellFormed,
  sequences,
  targets,
  type stores,
} from "../../../src/internal.ts";
import { toolFiles, toolOutputs, runtimeTools } from "../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../src/runtime.ts";
import { decode } from "./servers/secrets.ts";
import { textOf } from "./json-text.ts";
import type {
  ClientCapabilities,
  ReadResourceResult,
  Resource,
  Tool,
} from "@modelcontextprotocol/server";
import * as limits from "./gateway-limits.ts";

/** Writes files of the person's computer. */
export interface FileSaver {
  /**
   * Writes the file, all of it or nothing, and returns its path and size. Throws `bad_path` for a file that must
   * not be written.
   */
  save(
    file: string,
    content: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly file: string; readonly bytes: number }>;
}

/** Bytes of a stored value that are in memory at once. */
const PIECE_BYTES = 1_048_576;

/**
 * Returns the tool that writes a variable to a file. Refuses sealed variables, because other programs could read
 * the file.
 */
export function saveVariable(files: FileSaver): runtimeTools.RuntimeTool {
  return runtimeTools.runtimeTool({
    name: "save_variable",
    description: "Write a variable or a part of it to a file on this computer.",
    effects: "idempotent",
    inputSchema: z.object({ name: z.string(), file: z.string(), path: z.string().optional() }),
    async execute({ name, file, path }, { store }) {
      const target = targets.targetIn(name, path);
      const info = targets.readable(store, target.name);
      const content = contentFor(file, { store, info, target });
      return { output: { ...(await files.save(file, content)) } };
    },
  });
}

interface Saving {
  readonly store: stores.Variables;
  readonly info: VariableInfo;
  readonly target: targets.Target;
}

async function* contentFor(file: string, saving: Saving): AsyncGenerator<Uint8Array> {
  const { store, info, target } = saving;
  const isAsStored = target.path.length === 0 && isStoredAsWritten(info, file);
  const stored = isAsStored ? store.open(info.name) : undefined;
  try {
    if (stored === undefined) {
      const text = await textFor(file, saving);
      requireWellFormed(text, "A file");
      yield new TextEncoder().encode(text);
      return;
    }
    for (let from = 0; from < stored.info.bytes; from += PIECE_BYTES) {
      yield await stored.read(from, Math.min(from + PIECE_BYTES, stored.info.bytes));
    }
  } finally {
    stored?.close();
  }
}

/** True if the file's bytes are those of the store: of a text, of bytes, and of JSON that was read from a text. */
function isStoredAsWritten({ type, mediaType, textKey }: VariableInfo, file: string): boolean {
  if (type === "bytes") return true;
  if (type === "string") return mediaType === "text/plain";
  return textKey === "" && toolFiles.formatFor(file, null) === "json";
}

/** Texts are written as they are, other values in the format that the file's ending names, by default as JSON. */
async function textFor(file: string, { store, info, target }: Saving): Promise<string> {
  if (info.type === "bytes")
    throw new ByrefError("bad_path", `$${info.name} is bytes: it has no path.`);
  const value = await sequences.valueAt(store, target);
  if (typeof value === "string") return value;
  const format = toolFiles.formatFor(file, value);
  const isAsReceived = target.path.length === 0 && format !== "csv";
  const received = isAsReceived ? await textOf(target.name, value, store) : undefined;
  if (received !== undefined) return received;
  const content = toolFiles.fileContent(value, format);
  return "text" in content ? content.text : "";
}

/** The names of MCP Apps (SEP-1865). */
const EXTENSION = "io.modelcontextprotocol/ui";
const APP_TYPE = "text/html;profile=mcp-app";

export const VIEW = {
  uri: "ui://byref/variable",
  name: "variable",
  description: "Shows a variable to the person.",
  mimeType: APP_TYPE,
};

const NAME = "show_variable";

/** A tool of the gateway with metadata for clients beside its definition. */
export type OwnTool = runtimeTools.RuntimeTool & { readonly meta?: Tool["_meta"] };

/**
 * Returns the tool that shows a variable to the person. Its result is one line: the view reads the value through
 * the client, as any reader of a resource does.
 */
export function showVariable(): OwnTool {
  const tool = runtimeTools.runtimeTool({
    name: NAME,
    description:
      "Show the person a variable as table, chart, tree, text or image. You get no value.",
    inputSchema: z.object({ name: z.string(), path: z.string().optional() }),
    async execute({ name, path }, { store }) {
      const target = targets.targetIn(name, path);
      targets.readable(store, target.name);
      if (target.path.length > 0) await sequences.valueAt(store, target);
      return { output: { shown: target.name } };
    },
  });
  // Hosts of before the specification know the second key only.
  return { ...tool, meta: { ui: { resourceUri: VIEW.uri }, "ui/resourceUri": VIEW.uri } };
}

export function showsApps({ extensions }: ClientCapabilities): boolean {
  const declared = extensions?.[EXTENSION];
  if (!json.isObject(declared)) return false;
  const { mimeTypes } = declared;
  return Array.isArray(mimeTypes) && mimeTypes.includes(APP_TYPE);
}

/** True for a tool that is only for clients that show views. */
export function isShowing({ name }: Tool): boolean {
  return name === NAME;
}

/** The view as a resource. It loads nothing from anywhere. */
export function readView(html: string): ReadResourceResult {
  const { uri, mimeType } = VIEW;
  const meta = { _meta: { ui: { prefersBorder: true } } };
  return { contents: [{ uri, mimeType, text: html, ...meta }] };
}

/** True for addresses of resources that only the gateway itself has. Clients remove spaces when they read an address. */
export function isOwn(address: string): boolean {
  return /^(?:byref|ui):/iu.test(address.replaceAll(/[\s\p{Cc}]/gu, ""));
}

/** True for the addresses that the gateway gives to resources of servers. */
export function isOfServer(address: string): boolean {
  return address.startsWith("byref://servers/");
}

const VARIABLES = "byref://variables/";

export const VARIABLE_TEMPLATE = `${VARIABLES}{name}{?path,offset,limit}`;

/** Returns the variables as resources, oldest first. */
export function variableResources(store: VariableStore): readonly Resource[] {
  return store.list().map(resourceOf);
}

/** Describes a variable to a client: a guarded one by its name only, because its media type may be a part of it. */
export function resourceOf(info: VariableInfo): Resource {
  const { name, mediaType, bytes, shape } = info;
  const isGuarded = toolOutputs.guardedView(info) !== undefined;
  const details = isGuarded ? {} : { mimeType: mediaType, size: bytes, description: shape };
  return { uri: VARIABLES + encodeURIComponent(name), name, ...details };
}

export function isVariableUri(uri: string): boolean {
  return uri.startsWith(VARIABLES);
}

/**
 * Reads the variable, or its part at `path`; of a text or JSON at most `limit` characters from `offset`.
 * Rejects with `variable_not_found`, `variable_evicted`, `variable_sealed`, `path_not_found` and, for bytes that
 * are too many, `limit_exceeded`.
 */
export async function readVariableUri(
  uri: string,
  { store, state }: { readonly store: VariableStore; readonly state: { readonly taint: Taint } },
): Promise<ReadResourceResult> {
  const { pathname, searchParams } = new URL(uri);
  const written = decode(pathname.split("/").at(-1) ?? "");
  const { name, path } = targets.targetIn(written, searchParams.get("path") ?? undefined);
  const info = targets.readable(store, name);
  // A model may read it.
  if (!info.trusted) state.taint.add();
  if (info.type === "bytes") {
    const { mediaType: mimeType } = info;
    return { contents: [{ uri, mimeType, blob: await bytesOf(name, store) }] };
  }
  const value = await sequences.valueAt(store, { name, path });
  const isText = typeof value === "string";
  const all = isText ? value : JSON.stringify(value);
  const from = countIn(searchParams.get("offset"), 0);
  const limit = Math.min(countIn(searchParams.get("limit"), all.length), limits.maxResourceChars);
  const text = characters.sliceCodePoints(all, { from, to: from + limit });
  return { contents: [{ uri, mimeType: isText ? "text/plain" : "application/json", text }] };
}

async function bytesOf(name: string, store: VariableStore): Promise<string> {
  const opened = store.open(name);
  if (opened === undefined) return "";
  try {
    const { bytes } = opened.info;
    const bound = ["maxResourceChars", limits.maxResourceChars] as const;
    requireAtMost(bound, bytes, "Pass the reference to a tool.");
    return encoding.toBase64(await opened.read(0, bytes));
  } finally {
    opened.close();
  }
}

function countIn(text: string | null, otherwise: number): number {
  const count = Number(text ?? otherwise);
  return Number.isSafeInteger(count) && count >= 0 ? count : otherwise;
}
