import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import {
  countOf,
  deepFreeze,
  isJsonArray,
  type Json,
  parsedBody,
  typeOfJson,
} from "../../value/json.ts";
import { type Mark, marksOfElements } from "../../value/marks.ts";
import { isUtf8, type MediaType } from "../../value/media-type.ts";
import { BytesMeter } from "../../value/meter.ts";
import { TextMeter } from "../../value/text-meter.ts";
import { jsonChars } from "../../value/json-text.ts";
import { previewOf } from "../../value/preview.ts";
import { requireJson } from "../../value/require-json.ts";
import { shapeOf } from "../../value/shape.ts";
import { byteLength, decodeUtf8 } from "../../value/encoding.ts";
import type { VariableInfo } from "../variable.ts";

export const JSON_TYPE = "application/json";
export const TEXT_TYPE = "text/plain";
/** An array of records, one JSON text per line. */
export const RECORDS_TYPE = "application/x-ndjson";
export const OCTETS = "application/octet-stream";
export const BYTES: MediaType = { essence: OCTETS, text: OCTETS, parameters: new Map() };

/**
 * How to decode stored bytes. Determined by the media type; any type other than these three means `bytes`, unless
 * the bytes are a table: a file that is read as records.
 */
export type Format = "json" | "text" | "records" | "table" | "bytes";

export function formatOf(mediaType: string, isTable = false): Format {
  if (mediaType === JSON_TYPE) return "json";
  if (mediaType === TEXT_TYPE) return "text";
  if (mediaType === RECORDS_TYPE) return "records";
  return isTable ? "table" : "bytes";
}

/** The media type with which a value is stored. Undefined for text in another character set than UTF-8. */
export function storedAs(type: MediaType): string | undefined {
  const { essence, text } = type;
  if (essence === JSON_TYPE || essence === RECORDS_TYPE) return essence;
  if (essence !== TEXT_TYPE) return text;
  return isUtf8(type) ? essence : undefined;
}

/** Metadata that the content of a value determines. */
export type About = Pick<
  VariableInfo,
  "type" | "count" | "bytes" | "chars" | "shape" | "preview" | "mediaType" | "textKey"
>;

/** Bytes in chunk rows or in the bucket, under a unique id. */
export interface StoredBody {
  readonly location: "chunks" | "r2";
  readonly id: string;
}

/** A value's bytes: in memory (a string represents its UTF-8) or stored. */
export type Body = string | Uint8Array | StoredBody;

/** False for bytes in memory. */
export function isStored(body: Body): body is StoredBody {
  return typeof body === "object" && "location" in body;
}

export function locationOf(body: Body): "row" | StoredBody["location"] {
  return isStored(body) ? body.location : "row";
}

/** Location of a value, and how to decode it. */
export interface Stored {
  readonly mediaType: string;
  readonly bytes: number;
  readonly count: number;
  readonly marks: readonly Mark[];
  /** The columns of a table. Absent for values that are no tables. */
  readonly columns?: string | undefined;
  /** The bytes in the row, or a reference to a stored body. */
  readonly body: Body;
}

/** A value as stored, with the metadata that it determines. */
export class Content {
  readonly about: About;
  /** Offsets of elements or characters, for a value that is too large for its row. */
  readonly marks: readonly Mark[];
  readonly body: Body;
  /** A private, frozen copy of the value, if it was parsed. */
  readonly value: Json | undefined;
  /** The columns of a table, as its format describes them. */
  readonly columns: string | undefined;

  constructor(parts: Pick<Content, "about" | "marks" | "body"> & Partial<Content>) {
    this.about = parts.about;
    this.marks = parts.marks;
    this.body = parts.body;
    this.value = parts.value;
    this.columns = parts.columns;
  }
}

/** True for values that are stored as records: NDJSON and tables. */
export function isOfLines({ mediaType, columns }: Pick<Stored, "mediaType" | "columns">): boolean {
  return mediaType === RECORDS_TYPE || columns !== undefined;
}

export function storedOf({ about, marks, columns, body }: Content): Stored {
  const { mediaType, bytes, count } = about;
  return { mediaType, bytes, count, marks, columns, body };
}

/** Creates content from bytes that are not what a type of text says. Does not copy them. Throws `limit_exceeded`. */
export function bytesContent(bytes: Uint8Array, given: string): Content {
  requireAtMost("maxValueBytes", bytes.length, "Split it into several variables.");
  const mediaType = formatOf(given) === "bytes" ? given : OCTETS;
  const meter = new BytesMeter(mediaType);
  meter.write(bytes);
  const { about, marks } = meter.end();
  return new Content({ about: { ...about, mediaType }, marks, body: bytes });
}

/**
 * Creates content from a JSON value. The JSON text that it was read from, if there is one, is stored as it is. Throws
 * `limit_exceeded` for a text of more than `maxValueBytes`, or for another value of more than `maxJsonBytes` as
 * JSON; `bad_value` for numbers that JSON cannot represent. Cost: linear.
 */
export function jsonContent(value: Json, source?: string): Content {
  requireJson(value);
  // A lone surrogate cannot be stored as UTF-8; JSON escapes it.
  if (typeof value === "string" && value.isWellFormed()) return textContent(value);
  const text = source?.isWellFormed() === true ? source : JSON.stringify(value);
  const bytes = new TextEncoder().encode(text);
  requireAtMost("maxJsonBytes", bytes.length, JSON_ADVICE);
  const chars = text === source ? jsonChars(value, Infinity) : text.length;
  const about = {
    ...describeValue(value),
    bytes: bytes.length,
    chars,
    mediaType: JSON_TYPE,
  } as const;
  const isLong = bytes.length > limits.maxRowBytes;
  const marks = isLong && isJsonArray(value) ? marksOfElements(bytes) : [];
  // A value of this size would take too much memory twice. It is parsed when it is first read.
  if (bytes.length > limits.maxChunkedBytes) return new Content({ about, marks, body: bytes });
  const copy = deepFreeze(parsedBody(text));
  return new Content({ about, marks, body: isLong ? bytes : text, value: copy });
}

/** Returns the value of text or JSON content that is in memory as a whole. */
export function valueIn({ about, body, value }: Content): Json | undefined {
  if (value !== undefined || !(body instanceof Uint8Array)) return value;
  const format = formatOf(about.mediaType);
  if (format === "text") return decodeUtf8(body);
  return format === "json" ? parsedBody(decodeUtf8(body)) : undefined;
}

export const JSON_ADVICE =
  "Send an array as application/x-ndjson, text as text/plain, or a part of it; both may have 95 MiB.";

function textContent(text: string): Content {
  const bytes = byteLength(text);
  requireAtMost("maxValueBytes", bytes, "Split it into several variables.");
  const about = { ...describeValue(text), bytes, chars: text.length, mediaType: TEXT_TYPE };
  if (bytes <= limits.maxRowBytes)
    return new Content({ about, marks: [], body: text, value: text });
  const body = new TextEncoder().encode(text);
  const meter = new TextMeter();
  meter.write(body);
  return new Content({ about, marks: meter.end().marks, body, value: text });
}

/** Describes a value without showing all of it. */
export function describeValue(value: Json) {
  return {
    type: typeOfJson(value),
    count: countOf(value),
    shape: shapeOf(value),
    preview: previewOf(value),
  };
}
