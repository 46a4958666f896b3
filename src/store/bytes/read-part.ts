import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { parseElements, parseLines, recordLines } from "../../value/records-text.ts";
import { deepFreeze, type Json, parsedBody } from "../../value/json.ts";
import { type Span, spanOf } from "../../value/marks.ts";
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
   * Returns what is at the path, frozen. Of a value with parts, it loads only the marked spans that the path's first step
   * needs; `[*]` loads all spans, one at a time. Rejects as `whole` does, and with `limit_exceeded` for a part of more
   * than `maxJsonBytes`.
   */
  readPath(path: Path, name: string): Promise<Reading> {
    return this.#whileHeld(async () =>
      this.hasPart(path) ? this.#part(path) : readPath(await this.#whole(name), path, this.#work),
    );
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
    if (format !== "text" && (format !== "json" || marks.length > 0))
      return deepFreeze(await this.#collect(0, bytes));
    const text = decodeUtf8(await this.#read(0, bytes));
    return format === "text" ? text : deepFreeze(parsedBody(text));
  }

  async #part(path: Path): Promise<Reading> {
    const { count } = this.#stored;
    const work = this.#work;
    if (this.#format !== "text") {
      const slice = (bounds: Bounds) => this.#elements(bounds);
      const spans = () => this.#elementsIn(0, this.#stored.bytes);
      return readElements({ count, work, slice, spans }, path);
    }
    const [first, ...rest] = path;
    if (first === undefined || !isSlice(first))
      return { found: false, nearest: [], type: "string", length: count };
    const bounds = sliceBounds(first, count);
    const value = bounds.from === bounds.to ? "" : await this.#text(bounds);
    return below(readPath(value, rest, work), [first]);
  }

  async #text(bounds: Bounds): Promise<string> {
    const { fromByte, toByte, firstCount } = this.#spanOf(bounds);
    const bytes = await this.#read(fromByte, toByte);
    const found = sliceCodePoints(decodeUtf8(bytes), {
      from: bounds.from - firstCount,
      to: bounds.to - firstCount,
    });
    if (bytes.length > limits.maxJsonBytes) requireReadable(byteLength(found));
    return found;
  }

  async #elements(bounds: Bounds): Promise<readonly Json[]> {
    const { fromByte, toByte, firstCount } = this.#spanOf(bounds);
    const span = await this.#collect(fromByte, toByte);
    const found = span.slice(bounds.from - firstCount, bounds.to - firstCount);
    // Without the brackets, because one element may have the maximum size.
    const isLong = toByte - fromByte > limits.maxJsonBytes;
    if (isLong) requireReadable(byteLength(JSON.stringify(found)) - 2);
    return deepFreeze(found);
  }

  /** Finds a span, which may be larger than the requested part in it. The part may be as large as a value. */
  #spanOf(bounds: Bounds): Span {
    const span = spanOf(this.#stored.marks, this.#stored, bounds);
    const bytes = span.toByte - span.fromByte;
    if (bytes > MAX_SPAN_BYTES) requireReadable(bytes);
    return span;
  }

  async #collect(from: number, to: number): Promise<Json[]> {
    const found: Json[] = [];
    const most = { atOnce: Infinity, chars: MAX_SPAN_BYTES };
    for await (const elements of this.#elementsIn(from, to, most))
      for (const element of elements) found.push(element);
    return found;
  }

  /**
   * Yields elements, a marked span at a time, so that only a small part of the text is in memory with them. The records
   * of a table may be far longer than its bytes: each repeats the names of the columns.
   */
  async *#elementsIn(
    from: number,
    to: number,
    { atOnce, chars: maxChars } = { atOnce: 0, chars: Infinity },
  ): AsyncGenerator<readonly Json[], undefined> {
    const linesOf = this.#format === "json" ? undefined : await this.#lineReader();
    let chars = 0;
    for await (const span of this.#spans([from, to], atOnce, (...range) => this.#read(...range))) {
      const lines = linesOf?.(span);
      for (const line of lines ?? []) chars += line.length;
      if (chars > maxChars) requireReadable(chars);
      yield lines === undefined ? parseElements(decodeUtf8(span)) : parseLines(lines);
    }
    return undefined;
  }

  /** Yields the bytes of each marked span. One read serves those in `atOnce` bytes. */
  async *#spans(
    [from, to]: readonly [from: number, to: number],
    atOnce: number,
    read: (from: number, to: number) => Promise<Uint8Array>,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { marks, columns } = this.#stored;
    // NDJSON in a row has no marks.
    const all = marks.length === 0 && columns === undefined ? [0] : marks.map(([byte]) => byte);
    const starts = all.filter((start) => start >= from && start < to);
    let block: { readonly from: number; readonly bytes: Uint8Array } = {
      from,
      bytes: new Uint8Array(),
    };
    for (const [index, start] of starts.entries()) {
      const end = starts[index + 1] ?? to;
      if (end > block.from + block.bytes.length) {
        const next = starts.find((one) => one >= start + atOnce) ?? to;
        block = { from: start, bytes: await read(start, Math.max(next, end)) };
      }
      yield block.bytes.subarray(start - block.from, end - block.from);
    }
    return undefined;
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
    const { bytes, body } = this.#stored;
    const read = (from: number, to: number) => this.#bodies.read(body, from, to);
    for await (const span of this.#spans([0, bytes], limits.maxRecordBytes, read))
      yield linesOf(span);
    return undefined;
  }
}

/** With the bytes around a part: at most one mark's distance on each side, or more where elements are large. */
const MAX_SPAN_BYTES = limits.maxJsonBytes + 4 * limits.markBytes;

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
