import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { encodeArray } from "../../value/encode-json.ts";
import {
  countOf,
  deepFreeze,
  isJsonArray,
  type Json,
  parsedJson,
  typeOfJson,
} from "../../value/json.ts";
import type { Mark } from "../../value/marks.ts";
import { BytesMeter } from "../../value/meter.ts";
import { TextMeter } from "../../value/text-meter.ts";
import { previewOf } from "../../value/preview.ts";
import { requireJson } from "../../value/require-json.ts";
import { shapeOf } from "../../value/shape.ts";
import { byteLength, decodeUtf8 } from "../../value/utf8.ts";
import type { VariableInfo } from "../variable.ts";

export const JSON_TYPE = "application/json";
export const TEXT_TYPE = "text/plain";
/** An array of records, one JSON text a line. */
export const RECORDS_TYPE = "application/x-ndjson";

/** How stored bytes are read: by their media type, which for anything but these three is just told. */
export type Format = "json" | "text" | "records" | "bytes";

export function formatOf(mediaType: string): Format {
  if (mediaType === JSON_TYPE) return "json";
  if (mediaType === TEXT_TYPE) return "text";
  return mediaType === RECORDS_TYPE ? "records" : "bytes";
}

/** What is said of a value, all of it decided by its content. */
export type About = Pick<
  VariableInfo,
  "type" | "count" | "bytes" | "chars" | "shape" | "preview" | "mediaType"
>;

/** Bytes that lie in chunk rows or in the bucket, under an id that was never used before. */
export interface StoredBody {
  readonly location: "chunks" | "r2";
  readonly id: string;
}

/** A value's bytes: in memory (text stands for its UTF-8), or stored already. */
export type Body = string | Uint8Array | StoredBody;

/** False for what is in memory. */
export function isStored(body: Body): body is StoredBody {
  return typeof body === "object" && "location" in body;
}

/** A value as it is stored, and all that is said about it. */
export class Content {
  readonly about: About;
  /** Where elements or characters begin, of a value that is too large for its row. */
  readonly marks: readonly Mark[];
  readonly body: Body;
  /** A private, frozen copy of the value, where there is one. */
  readonly value: Json | undefined;

  constructor(parts: Pick<Content, "about" | "marks" | "body"> & { readonly value?: Json }) {
    this.about = parts.about;
    this.marks = parts.marks;
    this.body = parts.body;
    this.value = parts.value;
  }
}

/** Bytes with a media type. Throws `limit_exceeded`. They are not copied. */
export function bytesContent(bytes: Uint8Array, mediaType: string): Content {
  requireAtMost(
    ["maxValueBytes", limits.maxValueBytes],
    bytes.length,
    "Save it in several variables.",
  );
  const meter = new BytesMeter(mediaType);
  meter.write(bytes);
  const { metered } = meter.end();
  return new Content({ ...metered, about: { ...metered.about, mediaType }, body: bytes });
}

/**
 * A JSON value. Throws `limit_exceeded` for a text of more than `maxValueBytes`, or for anything else of
 * more than `maxJsonBytes` as JSON; `bad_value` for numbers that JSON cannot hold. Cost: linear.
 */
export function jsonContent(value: Json): Content {
  requireJson(value);
  // A lone surrogate cannot be stored as UTF-8; JSON escapes it.
  if (typeof value === "string" && value.isWellFormed()) return textContent(value);
  const { bytes, chars, marks } = isJsonArray(value) ? encodeArray(value) : encoded(value);
  requireAtMost(["maxJsonBytes", limits.maxJsonBytes], bytes.length, WAYS_OUT);
  const about = { ...described(value), bytes: bytes.length, chars, mediaType: JSON_TYPE } as const;
  // What is so large would be too much in memory twice; it is parsed when it is first read.
  if (bytes.length > limits.maxChunkedBytes) return new Content({ about, marks, body: bytes });
  const text = decodeUtf8(bytes);
  const copy = deepFreeze(parsedJson(text));
  return bytes.length > limits.maxRowBytes
    ? new Content({ about, marks, body: bytes, value: copy })
    : new Content({ about, marks: [], body: text, value: copy });
}

/** The value of a content that is text or JSON and has all of it in memory. */
export function valueIn({ about, body, value }: Content): Json | undefined {
  if (value !== undefined || !(body instanceof Uint8Array)) return value;
  const format = formatOf(about.mediaType);
  if (format === "text") return decodeUtf8(body);
  return format === "json" ? parsedJson(decodeUtf8(body)) : undefined;
}

export const WAYS_OUT =
  "Send an array as application/x-ndjson, text as text/plain, or a part of it; both may have 95 MiB.";

function textContent(text: string): Content {
  const bytes = byteLength(text);
  requireAtMost(["maxValueBytes", limits.maxValueBytes], bytes, "Save it in several variables.");
  const about = { ...described(text), bytes, chars: text.length, mediaType: TEXT_TYPE };
  if (bytes <= limits.maxRowBytes)
    return new Content({ about, marks: [], body: text, value: text });
  const body = new TextEncoder().encode(text);
  const meter = new TextMeter();
  meter.write(body);
  return new Content({ about, marks: meter.end().metered.marks, body, value: text });
}

function encoded(value: Json) {
  const text = JSON.stringify(value);
  return { bytes: new TextEncoder().encode(text), chars: text.length, marks: [] };
}

function described(value: Json) {
  return {
    type: typeOfJson(value),
    count: countOf(value),
    shape: shapeOf(value),
    preview: previewOf(value),
  };
}
