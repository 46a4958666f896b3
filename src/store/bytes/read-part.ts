import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { parseElements, parseLines, parseRecords, recordLines } from "../../value/records-text.ts";
import { deepFreeze, type Json, parsedBody } from "../../value/json.ts";
import { spanOf } from "../../value/marks.ts";
import { byteLength, decodeUtf8 } from "../../value/encoding.ts";
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
import {
  type Content,
  type Format,
  formatOf,
  isOfLines,
  isStored,
  type Stored,
  storedOf,
} from "./content.ts";
import type { OpenValue, VariableInfo } from "../variable.ts";
import type { Bodies } from "./bodies.ts";
import { partsOf, type RecordsFormat } from "./receive.ts";
import { Work } from "../../value/work.ts";

/** A stored value and a function that reads its bytes. */
export interface Source {
  readonly stored: Stored;
  /** Reads tables. */
  readonly csv: RecordsFormat | undefined;
  /** Counts the characters read and the elements visited. */
  readonly work: Work;
  read(from: number, to: number): Promise<Uint8Array>;
}

/** True if the path selects a part of a marked array or text, which can be read without the rest. */
export function selectsPart({ marks, body }: Stored, path: Path): boolean {
  return isStored(body) && marks.length > 0 && path.length > 0;
}

function storedFormat({ mediaType, columns }: Stored): Format {
  return formatOf(mediaType, columns !== undefined);
}

/** Reads the whole value, frozen. Rejects with `bad_value` for bytes or `limit_exceeded`. */
export async function readWhole(name: string, source: Omit<Source, "work">): Promise<Json> {
  const { stored, read } = source;
  const { mediaType, bytes } = stored;
  const format = storedFormat(stored);
  if (format === "bytes") {
    const message = `${name} is bytes (${mediaType}, ${bytes}), and has no text.`;
    throw new ByrefError("bad_value", message);
  }
  requireReadable(bytes);
  const whole = await read(0, bytes);
  const isMarked = stored.marks.length > 0 || format === "table";
  if (isMarked && format !== "text") {
    return deepFreeze(await parseSpans(source, { fromByte: 0, bytes: whole }));
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
  const { count } = stored;
  if (storedFormat(stored) !== "text") {
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
  const span = await parseSpans(source, { fromByte, bytes });
  const found = span.slice(bounds.from - firstCount, bounds.to - firstCount);
  // Without the brackets, because one element may have the maximum size.
  if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(JSON.stringify(found)) - 2);
  return deepFreeze(found);
}

/** Parses one marked span at a time, so that only a small part of the text is in memory with the elements. */
async function parseSpans(
  source: Omit<Source, "work">,
  { fromByte, bytes }: { readonly fromByte: number; readonly bytes: Uint8Array },
): Promise<Json[]> {
  const toByte = fromByte + bytes.length;
  const { marks } = source.stored;
  const starts = marks.flatMap(([byte]) => (byte >= fromByte && byte < toByte ? byte : []));
  let chars = 0;
  const parse = await spanParser(source, (added) => {
    chars += added;
    // The records of a table may be far longer than its bytes: each repeats the names of the columns.
    const isTooMuch = chars > limits.maxJsonBytes + MAX_AROUND_BYTES;
    if (isTooMuch && source.stored.columns !== undefined) requireReadable(chars);
  });
  const found: Json[] = [];
  for (const [index, start] of starts.entries()) {
    const span = bytes.subarray(start - fromByte, (starts[index + 1] ?? toByte) - fromByte);
    for (const element of parse(span)) found.push(element);
  }
  return found;
}

/** Returns a function that parses spans. `count` receives the length of each span as JSON. */
async function spanParser(
  source: Omit<Source, "work">,
  count: (chars: number) => void = () => undefined,
): Promise<(span: Uint8Array) => readonly Json[]> {
  if (storedFormat(source.stored) === "json") return (span) => parseElements(decodeUtf8(span));
  const linesOf = await lineReader(source);
  return (span) => {
    const lines = linesOf(span);
    count(lines.reduce((chars, line) => chars + line.length, 0));
    return parseLines(lines);
  };
}

/** Returns a function that returns the records of a span, each as JSON. */
async function lineReader(
  source: Omit<Source, "work">,
): Promise<(span: Uint8Array) => readonly string[]> {
  const { stored, csv, read } = source;
  const { mediaType, columns, marks, bytes } = stored;
  if (columns === undefined) return (span) => recordLines(decodeUtf8(span));
  if (csv === undefined) {
    const message = `${mediaType} is not read as records here; add csvRecords to the application.`;
    throw new ByrefError("unsupported_media_type", message);
  }
  const header = decodeUtf8(await read(0, marks[0]?.[0] ?? bytes));
  const records = csv.read({ mediaType, columns }, header);
  return (span) => records(decodeUtf8(span));
}

/** Reads stored records, a span at a time: those of NDJSON as they are written, those of a table as JSON. */
async function* storedLines(
  source: Omit<Source, "work">,
): AsyncGenerator<readonly string[], undefined> {
  const linesOf = await lineReader(source);
  const { marks, bytes, columns } = source.stored;
  // NDJSON in a row has no marks.
  const starts = marks.length === 0 && columns === undefined ? [0] : marks.map(([byte]) => byte);
  let from = 0;
  let read: Uint8Array = new Uint8Array();
  for (const [index, start] of starts.entries()) {
    const end = starts[index + 1] ?? bytes;
    // One read of the bucket serves several spans.
    if (end > from + read.length) {
      const to = starts.find((one) => one >= start + limits.maxRecordBytes) ?? bytes;
      [from, read] = [start, await source.read(start, Math.max(to, end))];
    }
    yield linesOf(read.subarray(start - from, end - from));
  }
  return undefined;
}

/** Reads records as NDJSON: that of a variable as it is. */
export async function* ndjsonOf(
  stored: Stored,
  { bodies, csv }: StoredValues,
): AsyncGenerator<Uint8Array, undefined> {
  const read = (from: number, to: number) => bodies.read(stored.body, from, to);
  if (stored.columns === undefined) return yield* partsOf(stored, bodies);
  const encoder = new TextEncoder();
  for await (const lines of storedLines({ stored, csv, read })) {
    yield encoder.encode(lines.map((line) => `${line}\n`).join(""));
  }
  return undefined;
}

/** Reads the value of content of this name. Rejects as `readWhole`. */
export function readContent(
  name: string,
  content: Content,
  { bodies, csv }: StoredValues,
): Promise<Json> {
  const read = (from: number, to: number) => bodies.read(content.body, from, to);
  return readWhole(name, { stored: storedOf(content), csv, read });
}

/** Opens a stored value for reading. */
export function openStored(
  info: VariableInfo,
  stored: Stored,
  { bodies, csv }: StoredValues,
): OpenValue {
  const read = (from: number, to: number) => bodies.read(stored.body, from, to);
  return {
    info,
    read,
    ...(isOfLines(stored) ? { lines: () => storedLines({ stored, csv, read }) } : {}),
    close: bodies.hold(stored.body),
  };
}

/** Calls `use` with a stored value, whose bytes are protected from the sweep until they are read. */
export async function whileHeld<Result>(
  stored: Stored,
  { bodies, csv }: StoredValues,
  use: (source: Source) => Promise<Result>,
  work = new Work(),
): Promise<Result> {
  const release = bodies.hold(stored.body);
  try {
    const read = async (from: number, to: number) => {
      work.spend(to - from);
      return bodies.read(stored.body, from, to);
    };
    return await use({ stored, csv, work, read });
  } finally {
    release();
  }
}

/** Where values are stored, and how files are read as records. */
export interface StoredValues {
  readonly bodies: Bodies;
  readonly csv: RecordsFormat | undefined;
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
  const parse = await spanParser(source);
  for (const [index, [fromByte]] of stored.marks.entries()) {
    const toByte = stored.marks[index + 1]?.[0] ?? stored.bytes;
    yield parse(await readSpan(source, fromByte, toByte));
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
  requireAtMost("maxJsonBytes", actual, advice);
}
