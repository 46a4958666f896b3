import { codeOf } from "../errors.ts";
import {
  BYTES,
  bytesContent,
  Content,
  formatOf,
  OCTETS,
  storedAs,
  TEXT_TYPE,
  valueIn,
} from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variables.ts";
import { copyOf } from "../value/bytes.ts";
import { isObject, type Json } from "../value/json.ts";
import { parseMediaType } from "../value/media-type.ts";
import { toJson } from "../value/to-json.ts";
import { choiceIn, chosenPlaces, type Place, type SaveTarget } from "./save-target.ts";

/** Bytes with their media type, as a tool may return them. A Blob or a Response is equivalent. */
export interface BytesResult {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** A tool's return value, ready to be saved. */
interface ToolResult {
  readonly value: Json | Content;
  /** Notes about converted values, one sentence each. */
  readonly notes: readonly string[];
}

/** A result with the places to save it in; without any, it gets a name of its own. */
export interface PlacedResult extends ToolResult {
  readonly places: readonly Place[];
}

interface PlacementOptions {
  readonly target: SaveTarget | undefined;
  /** True if the tool may not choose among several places: its choice could reveal a guarded value. */
  readonly isFixed: boolean;
  readonly store: VariableStore;
}

/**
 * Converts a return value and determines its places. If there are alternatives, the tool may have chosen
 * one.
 */
export async function placedResultOf(
  returned: unknown,
  { target, isFixed, store }: PlacementOptions,
): Promise<PlacedResult> {
  if (target === undefined) return { ...(await toolResultOf(returned, store)), places: [] };
  const given = returned instanceof Content ? valueIn(returned) : returned;
  const choice: ReturnType<typeof choiceIn> =
    target.operator === "first" ? choiceIn(given) : { value: given };
  const { value, named } = choice.named === undefined ? { value: returned } : choice;
  const places = chosenPlaces(target, isFixed ? undefined : named);
  return { ...(await toolResultOf(value, store)), places };
}

/**
 * Converts a tool's return value to a value of the store. A Response is streamed into the store by its
 * content type, as text or records up to the maximum size of a variable. Bytes stay bytes, anything else
 * becomes JSON. Throws `bad_value` or `limit_exceeded`, and `tool_failed` for a Response with an error
 * status.
 */
async function toolResultOf(returned: unknown, store: VariableStore): Promise<ToolResult> {
  // A text may be longer than the limit for JSON.
  if (typeof returned === "string" || returned instanceof Content) {
    return { value: returned, notes: [] };
  }
  if (returned instanceof Response) return responseResult(returned, store);
  const bytes = await bytesIn(returned);
  if (bytes !== undefined) return { value: await contentOf(bytes, store), notes: [] };
  return toJson(returned);
}

/** Returns text, JSON or records where the bytes are what their media type says, else the bytes. */
export async function contentOf(
  { bytes, mediaType }: BytesResult,
  store: VariableStore,
): Promise<Content> {
  const stream = () => new Blob([copyOf(bytes)]).stream();
  const type = storedAs(parseMediaType(mediaType) ?? BYTES) ?? mediaType;
  try {
    const records = await store.receiveRecords(stream(), mediaType);
    if (records !== undefined) return records;
    if (formatOf(type) !== "bytes") return await store.receive(stream(), type);
  } catch (error) {
    if (codeOf(error) === "internal") throw error;
  }
  return bytesContent(bytes, mediaType);
}

async function responseResult(response: Response, store: VariableStore): Promise<ToolResult> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server answered ${response.status} ${response.statusText}`.trim());
  }
  if (response.body === null) return { value: null, notes: [] };
  const given = parseMediaType(response.headers.get("content-type") ?? "") ?? BYTES;
  const type = storedAs(given);
  const charset = given.parameters.get("charset");
  // Throws for a character set that the platform does not know.
  const body =
    type === undefined
      ? response.body
          .pipeThrough(new TextDecoderStream(charset, { fatal: true }))
          .pipeThrough(new TextEncoderStream())
      : response.body;
  const records = await store.receiveRecords(body, given.essence);
  return { value: records ?? (await store.receive(body, type ?? TEXT_TYPE)), notes: [] };
}

/** A copy, because the tool may continue to use its own. */
async function bytesIn(value: unknown): Promise<BytesResult | undefined> {
  if (value instanceof Blob) {
    const bytes = new Uint8Array(await value.arrayBuffer());
    return { bytes, mediaType: value.type || OCTETS };
  }
  if (isObject(value) && value.bytes instanceof Uint8Array && typeof value.mediaType === "string") {
    return { bytes: copyOf(value.bytes), mediaType: value.mediaType };
  }
  const view = value instanceof ArrayBuffer ? new Uint8Array(value) : value;
  if (!ArrayBuffer.isView(view)) return undefined;
  const bytes = copyOf(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return { bytes, mediaType: OCTETS };
}
