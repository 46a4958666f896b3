import { codeOf } from "../errors.ts";
import { bytesContent, Content, valueIn } from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variables.ts";
import { copyOf } from "../value/bytes.ts";
import { isObject, type Json } from "../value/json.ts";
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
  if (bytes !== undefined) return { value: await bytesOrRecords(bytes, store), notes: [] };
  return toJson(returned);
}

/** Returns the content to save: records if the store reads the media type as such, and they are not broken. */
export async function bytesOrRecords(
  { bytes, mediaType }: BytesResult,
  store: VariableStore,
): Promise<Content> {
  try {
    const records = await store.receiveRecords(new Blob([copyOf(bytes)]).stream(), mediaType);
    if (records !== undefined) return records;
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
  const [mediaType = ""] = (response.headers.get("content-type") ?? "").split(";");
  const type = mediaType.trim().toLowerCase() || OCTETS;
  if (response.body === null) return { value: null, notes: [] };
  const records = await store.receiveRecords(response.body, type);
  return { value: records ?? (await store.receive(response.body, type)), notes: [] };
}

const OCTETS = "application/octet-stream";

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
