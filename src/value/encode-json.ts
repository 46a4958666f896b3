import * as limits from "../limits.ts";
import type { Json } from "./json.ts";
import { type Mark, MarkList } from "./marks.ts";

/** The array as JSON in UTF-8, and in `chars` UTF-16 units. */
export interface EncodedArray {
  readonly bytes: Uint8Array;
  readonly chars: number;
  readonly marks: readonly Mark[];
}

/** What is written at once, if elements are that small: short enough for a mark to come in time. */
const BATCH_CHARS = limits.markBytes / 4;
const FIRST_BATCH = 16;

/**
 * Exactly `JSON.stringify(values)`, and where its elements begin. Cost: linear, about that of
 * `JSON.stringify`; at worst, where small and large elements alternate, twice that. Memory: twice its
 * bytes; as one text, a single character beyond Latin-1 would make it more.
 */
export function encodeArray(values: readonly Json[]): EncodedArray {
  const encoder = new ArrayEncoder();
  let size = FIRST_BATCH;
  for (let from = 0; from < values.length;) {
    const batch = values.slice(from, from + size);
    const chars = encoder.add(batch);
    from += batch.length;
    const fitting = Math.ceil((BATCH_CHARS * batch.length) / chars);
    size = Math.min(fitting, size * 8);
  }
  return encoder.end();
}

class ArrayEncoder {
  readonly #pieces: Uint8Array[] = [];
  readonly #marks = new MarkList();
  readonly #utf8 = new TextEncoder();
  #count = 0;
  /** With the opening bracket, and behind each element a comma or the closing bracket. */
  #bytes = 1;
  #chars = 1;

  /** The characters that the batch takes. Each element is written twice at most. */
  add(batch: readonly Json[]): number {
    const text = JSON.stringify(batch).slice(1, -1);
    const bytes = this.#utf8.encode(text);
    if (batch.length > 1 && bytes.length > limits.markBytes) {
      for (const value of batch) this.add([value]);
      return text.length;
    }
    this.#marks.offer(this.#bytes, this.#count);
    this.#pieces.push(bytes);
    this.#bytes += bytes.length + 1;
    this.#chars += text.length + 1;
    this.#count += batch.length;
    return text.length;
  }

  end(): EncodedArray {
    const bytes = new Uint8Array(Math.max(this.#bytes, 2));
    bytes[0] = OPENING_BRACKET;
    let end = 1;
    for (const piece of this.#pieces) {
      bytes.set(piece, end);
      end += piece.length + 1;
      bytes[end - 1] = COMMA;
    }
    bytes[bytes.length - 1] = CLOSING_BRACKET;
    return { bytes, chars: Math.max(this.#chars, 2), marks: this.#marks.marks };
  }
}

const OPENING_BRACKET = 0x5b;
const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;

/**
 * The elements in a span of a JSON array that was cut at marks: behind the last one stands a comma, or
 * the bracket that ends the array. No elements for no text.
 */
export function parseElements(text: string): Json[] {
  return parseArray(`[${text.slice(0, -1)}]`);
}

/** The records in a span of NDJSON as it is stored: each with one line feed behind it, and none inside. */
export function parseRecords(text: string): Json[] {
  return parseArray(`[${text.slice(0, -1).replaceAll("\n", ",")}]`);
}

function parseArray(text: string): Json[] {
  // What JSON.parse makes of a text in brackets is an array of Json.
  return JSON.parse(text) as Json[];
}
