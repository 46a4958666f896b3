import * as ascii from "./ascii.ts";
import * as limits from "../limits.ts";
import { type Json, parsedJson } from "./json.ts";
import { type Mark, MarkList } from "./marks.ts";

/** An array as JSON in UTF-8; `chars` is its length in UTF-16 units. */
export interface EncodedArray {
  readonly bytes: Uint8Array;
  readonly chars: number;
  readonly marks: readonly Mark[];
}

/** Text of one batch of small elements: short enough for marks to be in time. */
const BATCH_CHARS = limits.markBytes / 4;
const FIRST_BATCH = 16;

/**
 * Encodes `JSON.stringify(values)` exactly, and marks where elements begin. Cost: linear, about that of
 * `JSON.stringify`; at most twice that if small and large elements alternate. Memory: twice its bytes. One
 * string would need more as soon as it had a character beyond Latin-1.
 */
export function encodeArray(values: readonly Json[]): EncodedArray {
  const encoder = new ArrayEncoder();
  encoder.add(values);
  return encoder.end();
}

/** Encodes elements that arrive in several arrays. */
class ArrayEncoder {
  readonly #pieces: Uint8Array[] = [];
  readonly #marks = new MarkList();
  readonly #utf8 = new TextEncoder();
  #batchSize = FIRST_BATCH;
  #count = 0;
  /** Includes the opening bracket, and a comma or closing bracket after each element. */
  #bytes = 1;
  #chars = 1;

  add(values: readonly Json[]): void {
    for (let from = 0; from < values.length;) {
      const batch = values.slice(from, from + this.#batchSize);
      const chars = this.#addBatch(batch);
      from += batch.length;
      const fitting = Math.ceil((BATCH_CHARS * batch.length) / chars);
      this.#batchSize = Math.min(fitting, this.#batchSize * 8);
    }
  }

  /** Call it once, after all elements. */
  end(): EncodedArray {
    const bytes = new Uint8Array(Math.max(this.#bytes, 2));
    bytes[0] = ascii.OPEN_BRACKET;
    let end = 1;
    for (const piece of this.#pieces) {
      bytes.set(piece, end);
      end += piece.length + 1;
      bytes[end - 1] = ascii.COMMA;
    }
    bytes[bytes.length - 1] = ascii.CLOSE_BRACKET;
    return { bytes, chars: Math.max(this.#chars, 2), marks: this.#marks.marks };
  }

  /** Returns the length in characters. Serializes each element twice at most. */
  #addBatch(batch: readonly Json[]): number {
    const text = JSON.stringify(batch).slice(1, -1);
    const bytes = this.#utf8.encode(text);
    if (batch.length > 1 && bytes.length > limits.markBytes) {
      for (const value of batch) this.#addBatch([value]);
      return text.length;
    }
    this.#marks.offer(this.#bytes, this.#count);
    this.#pieces.push(bytes);
    this.#bytes += bytes.length + 1;
    this.#chars += text.length + 1;
    this.#count += batch.length;
    return text.length;
  }
}

/**
 * Parses a span of a JSON array that was cut at marks. Its last element is followed by a comma or by the
 * closing bracket. An empty text has no elements.
 */
export function parseElements(text: string): Json[] {
  return parseArray(`[${text.trimEnd().slice(0, -1)}]`);
}

/** Parses stored NDJSON, or a span of it that was cut at marks. */
export function parseRecords(text: string): Json[] {
  return parseLines(recordLines(text));
}

/** Parses records, each in a JSON text of its own. */
export function parseLines(lines: readonly string[]): Json[] {
  return parseArray(`[${lines.join(",")}]`);
}

/** Returns the lines that are records: not the blank ones. A byte order mark is none of them. */
export function recordLines(text: string): readonly string[] {
  const start = text.startsWith("\uFEFF") ? 1 : 0;
  const end = text.endsWith("\n") ? -1 : undefined;
  const lines = text.slice(start, end).split("\n");
  return lines.some(isBlank) ? lines.filter((line) => !isBlank(line)) : lines;
}

function isBlank(line: string): boolean {
  return line.length < 1 || (line.charCodeAt(0) <= 32 && /^[ \t\r]*$/.test(line));
}

function parseArray(text: string): Json[] {
  // The value of a text in brackets is an array.
  return parsedJson(text) as Json[];
}
