import { deepFreeze, type Json } from "../../src/value/json.ts";

/** One, two, three and four bytes in UTF-8; the last two units in UTF-16. */
const PATTERN = 'aé漢😀 "b';
const PATTERN_BYTES = Buffer.byteLength(PATTERN);

/** Returns a text of exactly this many bytes in UTF-8, with characters of every length. */
export function textOfBytes(bytes: number): string {
  const whole = Math.floor(bytes / PATTERN_BYTES);
  return PATTERN.repeat(whole) + "x".repeat(bytes - whole * PATTERN_BYTES);
}

/** Returns the same with only one character that is not ASCII, for texts of many megabytes. */
export const plainTextOfBytes = (bytes: number): string => `é${"x".repeat(bytes - 2)}`;

/**
 * Returns an array whose JSON has exactly this many bytes (at least 16). Frozen, and the same one each time.
 */
export const arrayOfBytes = remembered((bytes) => {
  const elements: Json[] = [];
  let left = bytes - 2;
  for (let id = 0; left > 9_000; id++) {
    const chars = 1_000 + (id % 7) * 500;
    const element = { id, name: id % 8 === 0 ? textOfBytes(chars) : "y".repeat(chars) };
    elements.push(element);
    left -= Buffer.byteLength(JSON.stringify(element)) + 1;
  }
  return [...elements, "x".repeat(left - 2)] as readonly Json[];
});

/** Makes each value only once. */
function remembered<Value extends Json>(make: (bytes: number) => Value): (bytes: number) => Value {
  const made = new Map<number, Value>();
  return (bytes) => {
    const value = made.get(bytes) ?? deepFreeze(make(bytes));
    made.set(bytes, value);
    return value;
  };
}

/** Serializes records as a client sends them. */
export function recordsText(records: readonly Json[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

export interface Streamed {
  readonly stream: ReadableStream<Uint8Array>;
  /** True if the reader cancelled the stream. */
  readonly wasCancelled: () => boolean;
}

/**
 * Streams the pieces. All share one buffer, which is overwritten when the next piece is requested. An Error
 * among the pieces makes the stream fail; a function is awaited in its place.
 */
export function streamed(
  pieces: Iterable<Uint8Array | Error | (() => Promise<unknown>)>,
): Streamed {
  const iterator = pieces[Symbol.iterator]();
  let shared = new Uint8Array(0);
  let wasCancelled = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        let next = iterator.next();
        while (next.done !== true && typeof next.value === "function") {
          await next.value();
          next = iterator.next();
        }
        if (next.done === true) return controller.close();
        const piece = next.value;
        if (!(piece instanceof Uint8Array)) return controller.error(piece);
        shared.fill(0xff);
        if (shared.length < piece.length) shared = new Uint8Array(piece.length);
        shared.set(piece);
        controller.enqueue(shared.subarray(0, piece.length));
      },
      cancel() {
        wasCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, wasCancelled: () => wasCancelled };
}

export const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Cuts the bytes at these places. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const ordered = [...places].map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  const starts = [0, ...ordered];
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length));
}

/** Yields this many bytes in pieces of about 200 KiB that end inside characters, without holding them all. */
export function* textPieces(bytes: number): Generator<Uint8Array> {
  const pattern = encode(PATTERN.repeat(16_384));
  const step = pattern.length - (pattern.length % PATTERN_BYTES);
  let left = bytes - (bytes % PATTERN_BYTES);
  let offset = 0;
  while (left > 0) {
    // One byte more than a whole number of patterns, so that each piece begins elsewhere in a character.
    const size = Math.min(left, step - PATTERN_BYTES + 1, pattern.length - offset);
    yield pattern.subarray(offset, offset + size);
    offset = (offset + size) % PATTERN_BYTES;
    left -= size;
  }
  yield encode("x".repeat(bytes % PATTERN_BYTES));
}

/** The pattern that the text of `textPieces` repeats. Tests need not hold the whole text. */
export const textPattern = { text: PATTERN, bytes: PATTERN_BYTES, chars: [...PATTERN].length };
