import * as ascii from "../../value/ascii.ts";
import { ByrefError, failingAs, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { copyOf, joinBytes } from "../../value/bytes.ts";
import { ByteBuffer } from "../../value/byte-buffer.ts";
import { BytesMeter, type Meter } from "../../value/meter.ts";
import { RecordsMeter } from "../../value/records-meter.ts";
import { requireFewContainers } from "../../value/require-json.ts";
import { TextMeter } from "../../value/text-meter.ts";
import { type JsonArray, parsedBody } from "../../value/json.ts";
import { decodeUtf8 } from "../../value/encoding.ts";
import type { Bodies, StartedBody } from "./bodies.ts";
import {
  Content,
  isStored,
  JSON_TYPE,
  jsonContent,
  JSON_ADVICE,
  RECORDS_TYPE,
  type Stored,
  storedOf,
  TEXT_TYPE,
} from "./content.ts";

/** The character between the cells of a CSV; `auto`: the most frequent one of the first line. */
export type CsvDelimiter = "comma" | "semicolon" | "tab" | "pipe" | "auto";

/** How to read a CSV. */
export interface ReadingOptions {
  /** Default: `comma`, or `tab` for tab-separated values. */
  readonly delimiter?: CsvDelimiter;
  /** `off`: all cells are texts. Default: numbers, booleans and null where a whole column has them. */
  readonly types?: "off";
}

/** A format of files that are read as records, and that records can be written as. */
export interface RecordsFormat {
  readonly mediaType: string;
  /** Returns undefined for a media type that it does not read. Throws `unsupported_media_type`. */
  begin(mediaType: string, options: ReadingOptions): TableMeter | undefined;
  /**
   * Returns a function that reads rows of a stored file as records in JSON. `header`: the text before the first
   * mark.
   */
  read(table: Table, header: string): (rows: string) => readonly string[];
  /** Writes records. Calls `records`, which returns them in parts, twice: the first line has all keys. */
  write(records: () => AsyncIterable<JsonArray>): AsyncGenerator<Uint8Array>;
}

/** How a stored file is read as records. */
interface Table {
  /** With the options of reading as parameters. */
  readonly mediaType: string;
  /** What `TableMeter` has learnt of the columns. */
  readonly columns: string;
}

/** Measures a file as records. Throws `bad_value` or `limit_exceeded`. `columns` is complete at the end. */
export interface TableMeter extends Meter, Table {
  /** Returns a meter for the same bytes if later rows have changed how earlier ones are read. */
  again(): Meter | undefined;
}

/** Receives a file that is read as records. Throws as `receive` does. */
export async function receiveTable(
  stream: AsyncIterable<Uint8Array>,
  meter: TableMeter,
  bodies: Bodies,
): Promise<Content> {
  const content = await receiveMeasured(stream, meter, { bodies, mediaType: meter.mediaType });
  try {
    const again = meter.again();
    if (again === undefined) return new Content({ ...content, columns: meter.columns });
    for await (const part of partsOf(storedOf(content), bodies)) again.write(part);
    const { about } = again.end();
    return new Content({
      ...content,
      about: { ...content.about, ...about },
      columns: meter.columns,
    });
  } catch (error) {
    if (isStored(content.body)) bodies.drop(content.body);
    throw error;
  }
}

/** Joins NDJSON and more of it, which begins on a line of its own, without its byte order mark. */
export async function* joinedLines(
  lines: AsyncIterable<Uint8Array>,
  added: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let last: number | undefined = ascii.LF;
  for await (const part of lines) {
    last = part.at(-1) ?? last;
    yield part;
  }
  if (last !== ascii.LF) yield Uint8Array.of(ascii.LF);
  let isStart = true;
  for await (const part of added) {
    yield isStart && BYTE_ORDER_MARK.every((byte, at) => part[at] === byte)
      ? part.subarray(3)
      : part;
    isStart = false;
  }
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Reads bytes in memory or in storage. */
export async function* partsOf(
  { body, bytes }: Pick<Stored, "body" | "bytes">,
  bodies: Bodies,
): AsyncGenerator<Uint8Array, undefined> {
  for (let from = 0; from < bytes; from += limits.maxRecordBytes) {
    yield await bodies.read(body, from, Math.min(from + limits.maxRecordBytes, bytes));
  }
  return undefined;
}

/**
 * Receives a value from a stream. Up to 8 MiB are held in memory; a longer value is written to its storage
 * as it arrives, and the caller must claim or drop the body. JSON is held in memory and may have 16 MiB.
 * Throws `limit_exceeded`, `bad_json`, `bad_value`, or the error of the stream. The stream is then
 * cancelled, and only garbage remains.
 */
export async function receive(
  stream: AsyncIterable<Uint8Array>,
  mediaType: string,
  bodies: Bodies,
): Promise<Content> {
  if (mediaType === JSON_TYPE) return receiveJson(stream);
  return receiveMeasured(stream, meterFor(mediaType), { bodies, mediaType });
}

async function receiveMeasured(
  stream: AsyncIterable<Uint8Array>,
  meter: Meter,
  { bodies, mediaType }: { readonly bodies: Bodies; readonly mediaType: string },
): Promise<Content> {
  const held: Uint8Array[] = [];
  let size = 0;
  let started: StartedBody | undefined;
  try {
    for await (const bytes of stream) {
      meter.write(bytes);
      size += bytes.length;
      requireAtMost("maxValueBytes", size, "Split it into several variables.");
      // A stream may reuse the buffer of its chunks.
      if (started === undefined) held.push(copyOf(bytes));
      else await started.upload.write(bytes);
      if (started !== undefined || size <= bodies.maxHeldBytes) continue;
      started = await bodies.upload();
      for (const one of held.splice(0)) await started.upload.write(one);
    }
    const { about: measured, marks } = meter.end();
    const about = { ...measured, mediaType };
    await started?.upload.complete();
    const body = started?.body ?? joinBytes(held);
    const isText = about.type !== "bytes" && size <= limits.maxRowBytes;
    if (!isText || isStored(body)) return new Content({ about, marks, body });
    const text = decodeUtf8(body);
    if (about.type === "string") return jsonContent(text);
    // A small value is read as a whole, but for the header of a table.
    return new Content({ about, marks: mediaType === RECORDS_TYPE ? [] : marks, body: text });
  } catch (error) {
    await started?.upload.abort();
    if (started !== undefined) bodies.drop(started.body);
    throw error;
  }
}

function meterFor(mediaType: string): Meter {
  if (mediaType === TEXT_TYPE) return new TextMeter();
  return mediaType === RECORDS_TYPE ? new RecordsMeter() : new BytesMeter(mediaType);
}

async function receiveJson(stream: AsyncIterable<Uint8Array>): Promise<Content> {
  const held = new ByteBuffer();
  for await (const chunk of stream) {
    held.add(chunk);
    requireAtMost("maxJsonBytes", held.size, JSON_ADVICE);
  }
  const text = held.takeText("The body is not JSON: it is not UTF-8.");
  requireFewContainers(text);
  const refuse = (reason: string) => new ByrefError("bad_json", `The body is not JSON: ${reason}`);
  return jsonContent(
    failingAs(() => parsedBody(text), refuse),
    text,
  );
}
