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
  isSlice,
  missingIn,
  type Path,
  type Reading,
  readPath,
  sliceBounds,
} from "../../value/path.ts";
import { formatOf, isOfLines, isStored, type Stored } from "./content.ts";
import type { OpenValue, VariableInfo } from "../variable.ts";
import type { Bodies } from "./bodies.ts";
import { partsOf, type RecordsFormat } from "./receive.ts";
import { Work } from "../../value/work.ts";

/** Where values are stored, and how files are read as records. */
export interface StoredValues {
  readonly bodies: Bodies;
  readonly csv: RecordsFormat | undefined;
}

/** Reads a stored value, whole or in parts. Its bytes are protected from the sweep until they are read. */
export class StoredValue {
  readonly #stored: Stored;
  readonly #bodies: Bodies;
  readonly #csv: RecordsFormat | undefined;
  /** Counts the characters read and the elements visited. */
  readonly #work: Work;

  constructor(stored: Stored, { bodies, csv }: StoredValues, work = new Work()) {
    this.#stored = stored;
    this.#bodies = bodies;
    this.#csv = csv;
    this.#work = work;
  }

  /** True if the path selects a part of a marked array or text, which can be read without the rest. */
  hasPart(path: Path): boolean {
    const { marks, body } = this.#stored;
    return isStored(body) && marks.length > 0 && path.length > 0;
  }

  /** Reads all of it, frozen. Rejects with `bad_value` for bytes or `limit_exceeded`. */
  whole(name: string): Promise<Json> {
    return this.#whileHeld(() => this.#whole(name));
  }

  /**
   * Returns the result of `readPath` on the whole value, but loads only the marked spans that the path's
   * first step needs. `[*]` loads all spans, one at a time. Rejects with `limit_exceeded` for a part of more
   * than `maxJsonBytes`.
   */
  part(path: Path): Promise<Reading> {
    return this.#whileHeld(() => this.#part(path));
  }

  /** Opens it for reading. */
  open(info: VariableInfo): OpenValue {
    const { body } = this.#stored;
    return {
      info,
      read: (from, to) => this.#bodies.read(body, from, to),
      ...(isOfLines(this.#stored) ? { lines: () => this.#lines() } : {}),
      close: this.#bodies.hold(body),
    };
  }

  /** Reads records as NDJSON: that of a variable as it is. */
  async *ndjson(): AsyncGenerator<Uint8Array, undefined> {
    if (this.#stored.columns === undefined) return yield* partsOf(this.#stored, this.#bodies);
    const encoder = new TextEncoder();
    for await (const lines of this.#lines()) {
      yield encoder.encode(lines.map((line) => `${line}\n`).join(""));
    }
    return undefined;
  }

  get #format() {
    return formatOf(this.#stored.mediaType, this.#stored.columns !== undefined);
  }

  async #whileHeld<Result>(use: () => Promise<Result>): Promise<Result> {
    const release = this.#bodies.hold(this.#stored.body);
    try {
      return await use();
    } finally {
      release();
    }
  }

  #read(from: number, to: number): Promise<Uint8Array> {
    this.#work.spend(to - from);
    return this.#bodies.read(this.#stored.body, from, to);
  }

  async #whole(name: string): Promise<Json> {
    const { mediaType, bytes, marks } = this.#stored;
    const format = this.#format;
    if (format === "bytes") {
      const message = `${name} is bytes (${mediaType}, ${bytes}), and has no text.`;
      throw new ByrefError("bad_value", message);
    }
    requireReadable(bytes);
    const whole = await this.#read(0, bytes);
    const isMarked = marks.length > 0 || format === "table";
    if (isMarked && format !== "text") return deepFreeze(await this.#parseSpans(0, whole));
    const text = decodeUtf8(whole);
    if (format === "text") return text;
    return deepFreeze(format === "records" ? parseRecords(text) : parsedBody(text));
  }

  async #part(path: Path): Promise<Reading> {
    const { count } = this.#stored;
    const work = this.#work;
    if (this.#format !== "text") {
      const slice = (bounds: Bounds) => this.#elements(bounds);
      return readElements({ count, work, slice, spans: () => this.#spans() }, path);
    }
    const [first, ...rest] = path;
    if (first === undefined || !isSlice(first))
      return { found: false, nearest: [], type: "string", length: count };
    const bounds = sliceBounds(first, count);
    const value = bounds.from === bounds.to ? "" : await this.#text(bounds);
    return below(readPath(value, rest, work), [first]);
  }

  async #text(bounds: Bounds): Promise<string> {
    const { firstCount, bytes } = await this.#span(bounds);
    const found = sliceCodePoints(decodeUtf8(bytes), {
      from: bounds.from - firstCount,
      to: bounds.to - firstCount,
    });
    if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(found));
    return found;
  }

  async #elements(bounds: Bounds): Promise<readonly Json[]> {
    const { fromByte, firstCount, bytes } = await this.#span(bounds);
    const span = await this.#parseSpans(fromByte, bytes);
    const found = span.slice(bounds.from - firstCount, bounds.to - firstCount);
    // Without the brackets, because one element may have the maximum size.
    if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(JSON.stringify(found)) - 2);
    return deepFreeze(found);
  }

  async #span(bounds: Bounds) {
    const { fromByte, toByte, firstCount } = spanOf(this.#stored.marks, this.#stored, bounds);
    return { fromByte, firstCount, bytes: await this.#readSpan(fromByte, toByte) };
  }

  /** Reads a span, which may be larger than the requested part in it. The part may be as large as a value. */
  #readSpan(from: number, to: number): Promise<Uint8Array> {
    const isTooMuch = to - from > limits.maxJsonBytes + MAX_AROUND_BYTES;
    if (isTooMuch) requireReadable(to - from);
    return this.#read(from, to);
  }

  /** Parses one marked span at a time, so that only a small part of the text is in memory with the elements. */
  async #parseSpans(fromByte: number, bytes: Uint8Array): Promise<Json[]> {
    const { marks, columns } = this.#stored;
    const toByte = fromByte + bytes.length;
    const starts = marks.flatMap(([byte]) => (byte >= fromByte && byte < toByte ? byte : []));
    let chars = 0;
    const parse = await this.#parser((added) => {
      chars += added;
      // The records of a table may be far longer than its bytes: each repeats the names of the columns.
      const isTooMuch = chars > limits.maxJsonBytes + MAX_AROUND_BYTES;
      if (isTooMuch && columns !== undefined) requireReadable(chars);
    });
    const found: Json[] = [];
    for (const [index, start] of starts.entries()) {
      const span = bytes.subarray(start - fromByte, (starts[index + 1] ?? toByte) - fromByte);
      for (const element of parse(span)) found.push(element);
    }
    return found;
  }

  async *#spans(): AsyncGenerator<readonly Json[]> {
    const { marks, bytes } = this.#stored;
    const parse = await this.#parser();
    for (const [index, [fromByte]] of marks.entries()) {
      yield parse(await this.#readSpan(fromByte, marks[index + 1]?.[0] ?? bytes));
    }
  }

  /** Returns a function that parses spans. `count` receives the length of each span as JSON. */
  async #parser(
    count: (chars: number) => void = () => undefined,
  ): Promise<(span: Uint8Array) => readonly Json[]> {
    if (this.#format === "json") return (span) => parseElements(decodeUtf8(span));
    const linesOf = await this.#lineReader();
    return (span) => {
      const lines = linesOf(span);
      count(lines.reduce((chars, line) => chars + line.length, 0));
      return parseLines(lines);
    };
  }

  /** Returns a function that returns the records of a span, each as JSON. */
  async #lineReader(): Promise<(span: Uint8Array) => readonly string[]> {
    const { mediaType, columns, marks, bytes, body } = this.#stored;
    if (columns === undefined) return (span) => recordLines(decodeUtf8(span));
    if (this.#csv === undefined) {
      const message = `${mediaType} is not read as records here; add csvRecords to the application.`;
      throw new ByrefError("unsupported_media_type", message);
    }
    const header = await this.#bodies.read(body, 0, marks[0]?.[0] ?? bytes);
    const records = this.#csv.read({ mediaType, columns }, decodeUtf8(header));
    return (span) => records(decodeUtf8(span));
  }

  /** Reads records, a span at a time: those of NDJSON as they are written, those of a table as JSON. */
  async *#lines(): AsyncGenerator<readonly string[], undefined> {
    const linesOf = await this.#lineReader();
    const { marks, bytes, columns, body } = this.#stored;
    // NDJSON in a row has no marks.
    const starts = marks.length === 0 && columns === undefined ? [0] : marks.map(([byte]) => byte);
    let from = 0;
    let read: Uint8Array = new Uint8Array();
    for (const [index, start] of starts.entries()) {
      const end = starts[index + 1] ?? bytes;
      // One read of the bucket serves several spans.
      if (end > from + read.length) {
        const to = starts.find((one) => one >= start + limits.maxRecordBytes) ?? bytes;
        [from, read] = [start, await this.#bodies.read(body, start, Math.max(to, end))];
      }
      yield linesOf(read.subarray(start - from, end - from));
    }
    return undefined;
  }
}

/** Bytes around the part: at most one mark's distance on each side, or more where elements are large. */
const MAX_AROUND_BYTES = 4 * limits.markBytes;

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
