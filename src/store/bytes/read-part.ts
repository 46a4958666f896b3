import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { parseElements, parseRecords } from "../../value/encode-json.ts";
import { deepFreeze, type Json, parsedBody } from "../../value/json.ts";
import { spanOf } from "../../value/marks.ts";
import { byteLength, decodeUtf8 } from "../../value/utf8.ts";
import { sliceCodePoints } from "../../value/characters.ts";
import {
  below,
  type Bounds,
  EachReading,
  missingIn,
  type Path,
  type Reading,
  readPath,
  sliceBounds,
} from "../../value/path.ts";
import { formatOf } from "./content.ts";
import type { Work } from "../../value/work.ts";
import type { Stored } from "../rows/rows.ts";

/** A stored value and a function that reads its bytes. */
export interface Source {
  readonly stored: Stored;
  /** Counts the characters read and the elements visited. */
  readonly work: Work;
  read(from: number, to: number): Promise<Uint8Array>;
}

/** True if the path selects a part of a marked array or text, which can be read without the rest. */
export function selectsPart({ marks }: Stored, path: Path): boolean {
  return marks.length > 0 && path.length > 0;
}

/** Reads the whole value, frozen. Rejects with `bad_value` for bytes or `limit_exceeded`. */
export async function readWhole(
  name: string,
  { stored, read }: Omit<Source, "work">,
): Promise<Json> {
  const { mediaType, bytes } = stored;
  const format = formatOf(mediaType);
  if (format === "bytes") {
    const message = `${name} is bytes (${mediaType}, ${bytes}), and has no text.`;
    throw new ByrefError("bad_value", message);
  }
  requireReadable(bytes);
  const whole = await read(0, bytes);
  if (stored.marks.length > 0 && format !== "text") {
    return deepFreeze(parseSpans(stored, { fromByte: 0, bytes: whole }));
  }
  const text = decodeUtf8(whole);
  if (format === "text") return text;
  return deepFreeze(format === "records" ? parseRecords(text) : parsedBody(text));
}

/**
 * Returns the result of `readPath` on the whole value, but loads only the marked spans that the path's
 * first step needs. `[*]` loads all spans, one at a time. Rejects with `limit_exceeded` for a part of more
 * than `maxJsonBytes`.
 */
export async function readPart(source: Source, path: Path): Promise<Reading> {
  const { stored, work } = source;
  const { count, mediaType } = stored;
  if (formatOf(mediaType) !== "text") {
    const spans = () => spansOf(source);
    return readElements({ count, work, slice: (bounds) => elements(source, bounds), spans }, path);
  }
  const [first, ...rest] = path;
  const isSlice = first !== undefined && !("key" in first || "each" in first || "index" in first);
  if (!isSlice) return { found: false, nearest: [], type: "string", length: count };
  const bounds = sliceBounds(first, count);
  const value = bounds.from === bounds.to ? "" : await text(source, bounds);
  return below(readPath(value, rest, work), [first]);
}

/** An array whose elements are loaded on request, frozen. */
export interface Elements {
  readonly count: number;
  /** Counts the elements that paths visit. */
  readonly work: Work;
  /** Bounds are never empty. */
  slice(bounds: Bounds): Promise<readonly Json[]>;
  /** Yields all elements, a span at a time. */
  spans(): AsyncIterable<readonly Json[]>;
}

/** Returns the result of `readPath` on the array, but loads only what the path's first step needs. */
export async function readElements(array: Elements, path: Path): Promise<Reading> {
  const [first, ...rest] = path;
  const { count, work } = array;
  const isMissing = missingIn({ length: count }, first);
  if (first === undefined || "key" in first) {
    const [element] = count === 0 ? [] : await array.slice({ from: 0, to: 1 });
    return missingIn({ length: count, first: element }, first);
  }
  if ("each" in first) return readEach(array, rest);
  if ("index" in first) {
    const index = first.index < 0 ? count + first.index : first.index;
    if (index < 0 || index >= count) return isMissing;
    const [element] = await array.slice({ from: index, to: index + 1 });
    return element === undefined ? isMissing : below(readPath(element, rest, work), [first]);
  }
  const bounds = sliceBounds(first, count);
  const found = bounds.from === bounds.to ? [] : await array.slice(bounds);
  return below(readPath(found, rest, work), [first]);
}

async function elements(source: Source, bounds: Bounds): Promise<readonly Json[]> {
  const { stored } = source;
  const { fromByte, toByte, firstCount } = spanOf(stored.marks, stored, bounds);
  const bytes = await readSpan(source, fromByte, toByte);
  const span = parseSpans(stored, { fromByte, bytes });
  const found = span.slice(bounds.from - firstCount, bounds.to - firstCount);
  // Without the brackets, because one element may have the maximum size.
  if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(JSON.stringify(found)) - 2);
  return deepFreeze(found);
}

/** Parses one marked span at a time, so that only a small part of the text is in memory with the elements. */
function parseSpans(
  stored: Stored,
  { fromByte, bytes }: { readonly fromByte: number; readonly bytes: Uint8Array },
): Json[] {
  const toByte = fromByte + bytes.length;
  const starts = stored.marks.flatMap(([byte]) => (byte >= fromByte && byte < toByte ? byte : []));
  const found: Json[] = [];
  for (const [index, start] of starts.entries()) {
    const span = bytes.subarray(start - fromByte, (starts[index + 1] ?? toByte) - fromByte);
    for (const element of parseSpan(stored, span)) found.push(element);
  }
  return found;
}

function parseSpan({ mediaType }: Stored, bytes: Uint8Array): Json[] {
  const span = decodeUtf8(bytes);
  return formatOf(mediaType) === "records" ? parseRecords(span) : parseElements(span);
}

async function text(source: Source, bounds: Bounds): Promise<string> {
  const { stored } = source;
  const { fromByte, toByte, firstCount } = spanOf(stored.marks, stored, bounds);
  const bytes = await readSpan(source, fromByte, toByte);
  const found = sliceCodePoints(decodeUtf8(bytes), {
    from: bounds.from - firstCount,
    to: bounds.to - firstCount,
  });
  if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(found));
  return found;
}

/** Reads a span, which may be larger than the requested part in it. The part may be as large as a value. */
async function readSpan({ read }: Source, from: number, to: number): Promise<Uint8Array> {
  const isTooMuch = to - from > limits.maxJsonBytes + MAX_AROUND_BYTES;
  if (isTooMuch) requireReadable(to - from);
  return read(from, to);
}

/** Bytes around the part: at most one mark's distance on each side, or more where elements are large. */
const MAX_AROUND_BYTES = 4 * limits.markBytes;

async function* spansOf(source: Source): AsyncGenerator<readonly Json[]> {
  const { stored } = source;
  for (const [index, [fromByte]] of stored.marks.entries()) {
    const toByte = stored.marks[index + 1]?.[0] ?? stored.bytes;
    yield parseSpan(stored, await readSpan(source, fromByte, toByte));
  }
}

async function readEach({ spans, work }: Elements, rest: Path): Promise<Reading> {
  const each = new EachReading(rest, work);
  let chars = 0;
  // One span at a time, so that memory holds only one.
  for await (const span of spans()) {
    const found = span.map((element) => each.add(element)).filter((value) => value !== undefined);
    chars += JSON.stringify(found).length;
    requireReadable(chars);
  }
  const reading = each.reading();
  if (reading.found) deepFreeze(reading.value);
  return reading;
}

/** Throws `limit_exceeded` if the size is too large to be in memory at once. */
export function requireReadable(actual: number): void {
  const advice = "Ask for a slice of it, such as [0:100].";
  requireAtMost(["maxJsonBytes", limits.maxJsonBytes], actual, advice);
}
