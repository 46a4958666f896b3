import { ByrefError, limitExceeded, messageOf } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Json } from "./json.ts";
import { type Mark, MarkList } from "./marks.ts";
import { ArrayPreview, previewOf, previewOfText } from "./preview.ts";
import { requireJson } from "./require-json.ts";
import { ArrayShape } from "./shape.ts";

/** What went through a meter. */
interface Metered {
  readonly about: {
    readonly type: "string" | "array" | "bytes";
    /** Code points, records or bytes. */
    readonly count: number;
    /** As stored. */
    readonly bytes: number;
    /** UTF-16 units of the value's text: of records as a JSON array; of bytes their number. */
    readonly chars: number;
    readonly shape: string;
    readonly preview: string;
  };
  /** None for bytes: any of them can be found without. */
  readonly marks: readonly Mark[];
}

/**
 * Says what is in a stream of bytes as it passes. What it says does not depend on where the stream is cut,
 * and it holds no more than the start of one record (`maxJsonBytes`). Of no use after it threw or ended.
 */
export interface Meter {
  /** What is to be stored for these bytes and held ones; may be a view of them. Throws ByrefError. */
  write(bytes: Uint8Array): Uint8Array;
  /** The last bytes to be stored, and what all of it is. Throws ByrefError. */
  end(): { readonly rest: Uint8Array; readonly metered: Metered };
}

/** So many bytes become text at a time: few enough for one mark, and for one record, to suffice. */
const PIECE_BYTES = limits.markBytes / 4;
const MAX_OBSERVED_RECORDS = 1_000;
const MAX_OBSERVED_CHARS = 1_048_576;

const EMPTY = new Uint8Array(0);
const LINE_FEED = 10;
const BYTE_ORDER_MARK = "\uFEFF";

/** Passes text through as it is, a byte order mark too. Throws `bad_value` for what is not UTF-8. */
export function textMeter(): Meter {
  return new TextMeter();
}

/**
 * Makes NDJSON regular: no blank lines, nothing around a record, one line feed behind each, no byte order
 * mark at the start. Throws `bad_json` for a record that is not JSON, `limit_exceeded` for one of more
 * than `maxJsonBytes`, as soon as so much of it has come, and what `requireJson` throws.
 */
export function recordsMeter(): Meter {
  return new RecordsMeter();
}

/** Passes bytes through as they are. */
export function bytesMeter(mediaType: string): Meter {
  return new BytesMeter(mediaType);
}

class BytesMeter implements Meter {
  readonly #mediaType: string;
  #bytes = 0;

  constructor(mediaType: string) {
    this.#mediaType = mediaType;
  }

  write(bytes: Uint8Array): Uint8Array {
    this.#bytes += bytes.length;
    return bytes;
  }

  end(): { rest: Uint8Array; metered: Metered } {
    const bytes = this.#bytes;
    const preview = previewOf(`${this.#mediaType}, ${bytes} bytes`);
    const sizes = { count: bytes, bytes, chars: bytes };
    const about = { type: "bytes", ...sizes, shape: "bytes", preview } as const;
    return { rest: EMPTY, metered: { about, marks: [] } };
  }
}

class TextMeter implements Meter {
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #marks = new MarkList();
  #bytes = 0;
  #count = 0;
  #chars = 0;
  #start = "";

  write(bytes: Uint8Array): Uint8Array {
    for (const piece of piecesOf(bytes)) this.#look(piece);
    return bytes;
  }

  end(): { rest: Uint8Array; metered: Metered } {
    this.#decode();
    const preview = previewOfText(this.#start, this.#count);
    const sizes = { count: this.#count, bytes: this.#bytes, chars: this.#chars };
    const about = { type: "string", ...sizes, shape: "string", preview } as const;
    return { rest: EMPTY, metered: { about, marks: this.#marks.marks } };
  }

  #look(piece: Uint8Array): void {
    const text = this.#decode(piece);
    // Other characters have fewer units than bytes, unless some of their bytes came with the last piece.
    const isAscii = text.length === piece.length && !isContinuation(piece[0]);
    const place = firstCharacter(piece, Math.max(this.#marks.dueByte - this.#bytes, 0));
    if (place < piece.length) {
      const before = isAscii ? place : charactersIn(piece.subarray(0, place));
      this.#marks.offer(this.#bytes + place, this.#count + before);
    }
    this.#count += isAscii ? piece.length : charactersIn(piece);
    this.#bytes += piece.length;
    this.#chars += text.length;
    const missing = limits.maxPreviewChars + 1 - this.#start.length;
    if (missing > 0) this.#start += text.slice(0, missing);
  }

  #decode(piece?: Uint8Array): string {
    try {
      return piece === undefined ? this.#utf8.decode() : this.#utf8.decode(piece, { stream: true });
    } catch {
      throw new ByrefError("bad_value", "The text is not UTF-8; send it in UTF-8.");
    }
  }
}

class RecordsMeter implements Meter {
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #held = new HeldLine();
  readonly #marks = new MarkList();
  readonly #shape = new ArrayShape();
  readonly #preview = new ArrayPreview();
  #lines = 0;
  #count = 0;
  #bytes = 0;
  /** Of the records alone. */
  #chars = 0;

  write(bytes: Uint8Array): Uint8Array {
    const stored: Uint8Array[] = [];
    for (const piece of piecesOf(bytes)) stored.push(this.#take(piece));
    return joined(stored);
  }

  end(): { rest: Uint8Array; metered: Metered } {
    const rest = this.#held.isEmpty ? EMPTY : this.#take(Uint8Array.of(LINE_FEED));
    const count = this.#count;
    const chars = this.#chars + Math.max(count - 1, 0) + 2;
    const said = { shape: this.#shape.shape(), preview: this.#preview.preview(count) };
    const about = { type: "array", count, bytes: this.#bytes, chars, ...said } as const;
    return { rest, metered: { about, marks: this.#marks.marks } };
  }

  /** Whole lines are read at once, what follows the last of them is held. */
  #take(piece: Uint8Array): Uint8Array {
    const end = piece.lastIndexOf(LINE_FEED) + 1;
    const stored = end === 0 ? EMPTY : this.#store(this.#completed(piece.subarray(0, end)));
    this.#held.append(piece.subarray(end));
    return stored;
  }

  #completed(lines: Uint8Array): Uint8Array {
    if (this.#held.isEmpty) return lines;
    const end = lines.indexOf(LINE_FEED);
    this.#held.append(lines.subarray(0, end));
    return joined([this.#held.take(), lines.subarray(end)]);
  }

  #store(lines: Uint8Array): Uint8Array {
    const countBefore = this.#count;
    const records: string[] = [];
    let isRegular = true;
    for (const line of this.#decode(lines)) {
      this.#lines++;
      const text = this.#lines === 1 ? withoutByteOrderMark(trimmed(line)) : trimmed(line);
      isRegular &&= text !== "" && text.length === line.length;
      if (text === "") continue;
      this.#look(text);
      records.push(`${text}\n`);
    }
    const stored = isRegular ? lines : new TextEncoder().encode(records.join(""));
    this.#mark(stored, countBefore);
    this.#bytes += stored.length;
    return stored;
  }

  #look(text: string): void {
    const value = this.#parse(text);
    requireJson(value);
    if (this.#count < MAX_OBSERVED_RECORDS && this.#chars < MAX_OBSERVED_CHARS) {
      this.#shape.add(value);
    }
    this.#preview.add(value);
    this.#count++;
    this.#chars += text.length;
  }

  #parse(text: string): Json {
    try {
      // What JSON.parse returns is Json by definition.
      return JSON.parse(text) as Json;
    } catch (error) {
      throw notJson(messageOf(error), { record: this.#count + 1, line: this.#lines });
    }
  }

  /** The lines without their ends. */
  #decode(lines: Uint8Array): Iterable<string> {
    try {
      return this.#utf8.decode(lines.subarray(0, -1)).split("\n");
    } catch {
      return this.#decodeEach(lines);
    }
  }

  /** One after another, so that the first fault is found, whatever it is. */
  *#decodeEach(lines: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = lines.indexOf(LINE_FEED); end >= 0; end = lines.indexOf(LINE_FEED, start)) {
      let line: string;
      try {
        line = this.#utf8.decode(lines.subarray(start, end));
      } catch {
        throw notJson("it is not UTF-8", { record: this.#count + 1, line: this.#lines + 1 });
      }
      yield line;
      start = end + 1;
    }
  }

  #mark(stored: Uint8Array, countBefore: number): void {
    if (this.#bytes + stored.length <= this.#marks.dueByte) return;
    let count = countBefore;
    for (let start = 0; start < stored.length; start = stored.indexOf(LINE_FEED, start) + 1) {
      this.#marks.offer(this.#bytes + start, count++);
    }
  }
}

/** The start of a line whose end has not come yet. */
class HeldLine {
  #bytes = EMPTY;
  /** Blanks beyond `maxJsonBytes` are counted, not kept: nothing but the line's end may follow them. */
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  append(bytes: Uint8Array): void {
    const end = bytes.findLastIndex((byte) => !isBlank(byte)) + 1;
    const maximum = limits.maxJsonBytes;
    const actual = this.#length + end;
    if (end > 0 && actual > maximum) throw recordTooLong(actual);
    const kept = bytes.subarray(0, Math.max(maximum - this.#length, 0));
    this.#reserve(this.#length + kept.length);
    this.#bytes.set(kept, Math.min(this.#length, maximum));
    this.#length += bytes.length;
  }

  /** A view that is good until the next `append`. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    // A long line should not stay in memory for the short ones that follow.
    if (this.#bytes.length > PIECE_BYTES) this.#bytes = EMPTY;
    return taken;
  }

  #reserve(length: number): void {
    if (Math.min(length, limits.maxJsonBytes) <= this.#bytes.length) return;
    const grown = Math.max(length, this.#bytes.length * 2);
    const bytes = new Uint8Array(Math.min(grown, limits.maxJsonBytes));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
  }
}

function notJson(reason: string, at: { record: number; line: number }): ByrefError {
  const message = `Record ${at.record} (line ${at.line}) is not JSON: ${reason}`;
  return new ByrefError("bad_json", message, at);
}

function recordTooLong(actual: number): ByrefError {
  const advice = "Send smaller records, one on each line.";
  return limitExceeded("maxJsonBytes", { maximum: limits.maxJsonBytes, actual, advice });
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
    yield bytes.subarray(start, start + PIECE_BYTES);
  }
}

/** The only one of the parts that is not empty, or a copy of all. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
  const full = parts.filter((part) => part.length > 0);
  const [first = EMPTY] = full;
  if (full.length < 2) return first;
  const all = new Uint8Array(full.reduce((length, part) => length + part.length, 0));
  let length = 0;
  for (const part of full) {
    all.set(part, length);
    length += part.length;
  }
  return all;
}

/** True for any byte of a character but its first. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** How many characters begin here. */
function charactersIn(bytes: Uint8Array): number {
  let count = 0;
  // By index: six times as fast as an iterator, and this sees every byte of a long text.
  for (let index = 0; index < bytes.length; index++) if (!isContinuation(bytes[index])) count++;
  return count;
}

/** Where the first character at or after `from` begins, or the end. */
function firstCharacter(bytes: Uint8Array, from: number): number {
  let place = from;
  while (isContinuation(bytes[place])) place++;
  return place;
}

/** Space, tab or carriage return, which may stand around a record. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}

function trimmed(line: string): string {
  let start = 0;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start++;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--;
  return line.slice(start, end);
}

function withoutByteOrderMark(text: string): string {
  return text.startsWith(BYTE_ORDER_MARK) ? trimmed(text.slice(1)) : text;
}
