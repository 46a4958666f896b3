import { ByrefError, messageOf, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { ArrayMeter } from "../../value/array-meter.ts";
import { copyOf, joinBytes, piecesOf } from "../../value/bytes.ts";
import { BytesMeter, type Meter, PIECE_BYTES } from "../../value/meter.ts";
import { RecordsMeter } from "../../value/records-meter.ts";
import { TextMeter } from "../../value/text-meter.ts";
import { type Json, parsedJson } from "../../value/json.ts";
import { decodeUtf8 } from "../../value/utf8.ts";
import type { Bodies, BodyWriter } from "./bodies.ts";
import {
  arrayContent,
  bytesContent,
  Content,
  type Format,
  formatOf,
  jsonContent,
  JSON_ADVICE,
} from "./content.ts";

/**
 * Receives a value from a stream. Up to 8 MiB are held in memory; a longer value is written to its storage
 * as it arrives, and the caller must claim or drop the body. JSON is held in memory and may have 16 MiB.
 * Throws `limit_exceeded`, `bad_json`, `bad_value`, or the error of the stream. The stream is then
 * cancelled, and only garbage remains.
 */
export async function receive(
  stream: ReadableStream<Uint8Array>,
  mediaType: string,
  bodies: Bodies,
): Promise<Content> {
  const format = formatOf(mediaType);
  if (format === "json") return receiveJson(stream);
  const meter = meterFor(format, mediaType);
  const incoming = new Incoming(bodies);
  try {
    for await (const bytes of stream) await incoming.add(meter.write(bytes));
    return await incoming.end(meter, mediaType);
  } catch (error) {
    await incoming.abort();
    throw error;
  }
}

function meterFor(format: Exclude<Format, "json">, mediaType: string): Meter {
  if (format === "text") return new TextMeter();
  return format === "records" ? new RecordsMeter() : new BytesMeter(mediaType);
}

class Incoming {
  readonly #bodies: Bodies;
  #held: Uint8Array[] = [];
  #bytes = 0;
  #writer: BodyWriter | undefined;

  constructor(bodies: Bodies) {
    this.#bodies = bodies;
  }

  async add(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    this.#bytes += bytes.length;
    requireAtMost(
      ["maxValueBytes", limits.maxValueBytes],
      this.#bytes,
      "Save it in several variables.",
    );
    if (this.#writer !== undefined) return this.#writer.write(bytes);
    // A stream may reuse the buffer of its chunks.
    this.#held.push(copyOf(bytes));
    if (this.#bytes > this.#bodies.maxHeldBytes) await this.#startWriting();
  }

  async end(meter: Meter, mediaType: string): Promise<Content> {
    const { rest, metered } = meter.end();
    await this.add(rest);
    const about = { ...metered.about, mediaType };
    if (this.#writer !== undefined) {
      return new Content({ about, marks: metered.marks, body: await this.#writer.complete() });
    }
    const body = joinBytes(this.#held);
    if (about.type === "bytes") return bytesContent(body, mediaType);
    const { marks } = metered;
    if (this.#bytes > limits.maxRowBytes) return new Content({ about, marks, body });
    const text = decodeUtf8(body);
    if (about.type === "string") return jsonContent(text);
    return new Content({ about, marks: [], body: text });
  }

  async abort(): Promise<void> {
    await this.#writer?.abort();
  }

  async #startWriting(): Promise<void> {
    this.#writer = await this.#bodies.write();
    for (const bytes of this.#held) await this.#writer.write(bytes);
    this.#held = [];
  }
}

/** Holds the encoded bytes of a long array; the text of another value is released once the value exists. */
async function receiveJson(stream: ReadableStream<Uint8Array>): Promise<Content> {
  const text = new Text();
  let array: ArrayMeter | undefined;
  let bytes = 0;
  let longChars = LONG_CHARS;
  for await (const chunk of stream) {
    bytes += chunk.length;
    requireAtMost(["maxJsonBytes", limits.maxJsonBytes], bytes, JSON_ADVICE);
    for (const piece of piecesOf(chunk, PIECE_BYTES)) {
      text.add(piece);
      if (text.chars < longChars) continue;
      array ??= text.removeStart(ARRAY_START) ? new ArrayMeter() : undefined;
      if (array === undefined) longChars = Infinity;
      else array.write(text.take());
    }
  }
  if (array === undefined) return jsonContent(parseBody(text.end()));
  array.write(text.end());
  return arrayContent(array.end());
}

/** An array is read in pieces of this length. A shorter text is read as a whole. */
const LONG_CHARS = 1_048_576;
const ARRAY_START = /^[ \t\n\r]*\[/u;

/** Pieces up to this size are decoded together, because each string takes memory of its own. */
const SMALL_BYTES = 4_096;

/** Decodes UTF-8 text as it arrives, so that its bytes are not held in memory too. */
class Text {
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  readonly #small = new Uint8Array(SMALL_BYTES);
  #smallBytes = 0;
  #text = "";

  add(bytes: Uint8Array): void {
    if (this.#smallBytes + bytes.length > SMALL_BYTES) this.#decodeSmall();
    if (bytes.length > SMALL_BYTES) return this.#decode(bytes);
    this.#small.set(bytes, this.#smallBytes);
    this.#smallBytes += bytes.length;
  }

  /** The length of the text, without the last small pieces. */
  get chars(): number {
    return this.#text.length;
  }

  /** Removes what matches. False if nothing does. */
  removeStart(start: RegExp): boolean {
    const isFound = start.test(this.#text);
    if (isFound) this.#text = this.#text.replace(start, "");
    return isFound;
  }

  /** Returns the text of `chars`, and forgets it. */
  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  /** Returns the text that was not taken. Throws `bad_json` if it is not UTF-8. */
  end(): string {
    this.#decodeSmall();
    this.#decode();
    return this.take();
  }

  #decodeSmall(): void {
    this.#decode(this.#small.subarray(0, this.#smallBytes));
    this.#smallBytes = 0;
  }

  /** Decodes bytes. Without an argument, flushes the decoder. */
  #decode(bytes?: Uint8Array): void {
    try {
      this.#text += this.#utf8.decode(bytes, { stream: bytes !== undefined });
    } catch {
      throw new ByrefError("bad_json", "The body is not JSON: it is not UTF-8.");
    }
  }
}

function parseBody(text: string): Json {
  try {
    return parsedJson(text);
  } catch (error) {
    throw new ByrefError("bad_json", `The body is not JSON: ${messageOf(error)}`);
  }
}
