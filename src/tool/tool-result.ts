import { copyOf } from "../value/bytes.ts";
import { bytesContent, type Content } from "../store/bytes/content.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { isObject, type Json } from "../value/json.ts";
import { toJson } from "../value/to-json.ts";
import { chosenPlaces, choiceIn, type Place, type SaveTarget } from "./save-target.ts";

/** Bytes with what they are, as a tool may return them; a Blob or a Response does as well. */
export interface BytesResult {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** What a tool returned, ready to be kept. */
interface ToolResult {
  readonly value: Json | Content;
  /** What had to be converted, one sentence each. */
  readonly notes: readonly string[];
}

/** A result with the places that it is to be saved in; none: under a name of its own. */
export interface PlacedResult extends ToolResult {
  readonly places: readonly Place[];
}

interface Placing {
  readonly target: SaveTarget | undefined;
  /** The tool may not choose among several places: its choice could reveal a guarded value. */
  readonly isFixed: boolean;
  readonly store: VariableStore;
}

/** What a call gave. Where its result may go to one of several places, the tool may have said to which. */
export async function placedResultOf(
  returned: unknown,
  { target, isFixed, store }: Placing,
): Promise<PlacedResult> {
  if (target === undefined) return { ...(await toolResultOf(returned, store)), places: [] };
  const { value, named } = target.operator === "first" ? choiceIn(returned) : { value: returned };
  const places = chosenPlaces(target, isFixed ? undefined : named);
  return { ...(await toolResultOf(value, store)), places };
}

/**
 * What a tool returned as a value of the store. A Response is taken in as it streams, by its content type:
 * text and records of any size that a variable may have. Bytes become bytes, anything else JSON. Throws
 * `bad_value` or `limit_exceeded`, and `tool_failed` for a Response that is an error.
 */
async function toolResultOf(returned: unknown, store: VariableStore): Promise<ToolResult> {
  // A text may be longer than JSON.
  if (typeof returned === "string") return { value: returned, notes: [] };
  if (returned instanceof Response) return responseResult(returned, store);
  const bytes = await bytesIn(returned);
  if (bytes !== undefined) return { value: bytesContent(bytes.bytes, bytes.mediaType), notes: [] };
  return toJson(returned);
}

async function responseResult(response: Response, store: VariableStore): Promise<ToolResult> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`The server answered ${response.status} ${response.statusText}`.trim());
  }
  const [mediaType = ""] = (response.headers.get("content-type") ?? "").split(";");
  const type = mediaType.trim().toLowerCase() || OCTETS;
  if (response.body === null) return { value: null, notes: [] };
  return { value: await store.receive(response.body, type), notes: [] };
}

const OCTETS = "application/octet-stream";

async function bytesIn(value: unknown): Promise<BytesResult | undefined> {
  if (value instanceof Blob) {
    const bytes = new Uint8Array(await value.arrayBuffer());
    return { bytes, mediaType: value.type || OCTETS };
  }
  if (isObject(value) && value.bytes instanceof Uint8Array && typeof value.mediaType === "string") {
    return { bytes: copyOf(value.bytes), mediaType: value.mediaType };
  }
  const bytes = plainBytes(value);
  return bytes === undefined ? undefined : { bytes, mediaType: OCTETS };
}

/** A copy: the tool may go on using its own. */
function plainBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Uint8Array) return copyOf(value);
  if (value instanceof ArrayBuffer) return new Uint8Array(value.slice(0));
  if (!ArrayBuffer.isView(value)) return undefined;
  return copyOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
}
