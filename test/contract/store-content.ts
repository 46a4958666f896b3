import { deepFreeze, type Json } from "../../src/value/json.ts";

/** One, two, three and four bytes in UTF-8; the last two units in UTF-16. */
const PATTERN = 'aé漢😀 "b';
const PATTERN_BYTES = Buffer.byteLength(PATTERN);

/** A text of exactly so many bytes in UTF-8, with characters of every length. */
export function textOfBytes(bytes: number): string {
  const whole = Math.floor(bytes / PATTERN_BYTES);
  return PATTERN.repeat(whole) + "x".repeat(bytes - whole * PATTERN_BYTES);
}

/** The same with one character that is not ASCII, for where there are many megabytes to write. */
export function plainTextOfBytes(bytes: number): string {
  return `é${"x".repeat(bytes - 2)}`;
}

/** An array whose JSON has exactly so many bytes (at least 16). The same one each time, frozen. */
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

/** An object whose JSON has exactly so many bytes (at least 16). The same one each time, frozen. */
export const objectOfBytes = remembered((bytes) => {
  const entries: [string, Json][] = [];
  let left = bytes - '{"last":""}'.length;
  for (let id = 0; left > 50_000; id++) {
    const entry: [string, Json] = [`key_${id}`, [textOfBytes(2_000), "y".repeat(20_000), id]];
    entries.push(entry);
    left -= Buffer.byteLength(JSON.stringify(Object.fromEntries([entry]))) - 1;
  }
  return { ...Object.fromEntries(entries), last: "x".repeat(left) } as { [key: string]: Json };
});

/** Makes what is asked for again and again only once. */
function remembered<Value extends Json>(make: (bytes: number) => Value): (bytes: number) => Value {
  const made = new Map<number, Value>();
  return (bytes) => {
    const value = made.get(bytes) ?? deepFreeze(make(bytes));
    made.set(bytes, value);
    return value;
  };
}

/** Records as a client sends them. */
export function recordsText(records: readonly Json[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

export interface Streamed {
  readonly stream: ReadableStream<Uint8Array>;
  /** Set if the reader gave up. */
  readonly wasCancelled: () => boolean;
}

/**
 * The pieces as a stream. Each is handed out in the same buffer, which is overwritten when the next one
 * is asked for; an Error among them is what the stream fails with; a function is awaited in its place.
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

export function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The bytes, cut at these places. */
export function cutAt(bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] {
  const ordered = [...places].map((place) => place % (bytes.length + 1)).sort((a, b) => a - b);
  const starts = [0, ...ordered];
  return starts.map((start, index) => bytes.subarray(start, starts[index + 1] ?? bytes.length));
}

/** So many bytes in pieces of about 300 KiB that end inside of characters, without holding them. */
export function* textPieces(bytes: number): Generator<Uint8Array> {
  const pattern = encode(PATTERN.repeat(16_384));
  const step = pattern.length - (pattern.length % PATTERN_BYTES);
  let left = bytes - (bytes % PATTERN_BYTES);
  let offset = 0;
  while (left > 0) {
    // One byte more than a whole number of patterns: each piece begins elsewhere in a character.
    const size = Math.min(left, step - PATTERN_BYTES + 1, pattern.length - offset);
    yield pattern.subarray(offset, offset + size);
    offset = (offset + size) % PATTERN_BYTES;
    left -= size;
  }
  yield encode("x".repeat(bytes % PATTERN_BYTES));
}

/** What `textPieces` gives is this text, of which only the pattern is held. */
export const textPattern = { text: PATTERN, bytes: PATTERN_BYTES, chars: [...PATTERN].length };
