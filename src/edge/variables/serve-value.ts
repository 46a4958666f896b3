import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { answerFrom } from "../../reference/lookup-in.ts";
import { problemFrom } from "../../reference/reference-problem.ts";
import { BYTES, formatOf, JSON_TYPE, RECORDS_TYPE, TEXT_TYPE } from "../../store/bytes/content.ts";
import type { OpenValue, VariableInfo } from "../../store/variable.ts";
import type { VariableStore } from "../../store/variables.ts";
import type { RecordsFormat } from "../../store/bytes/receive.ts";
import { streamOf } from "../../value/bytes.ts";
import { isJsonArray, type Json, type JsonArray, parsedJson } from "../../value/json.ts";
import { parseMediaType } from "../../value/media-type.ts";
import { type Bounds, formatPath, type Path } from "../../value/path.ts";
import {
  appliesRange,
  byteRangeIn,
  type Conditions,
  contentRange,
  isNotModified,
  preferred,
  requireConditions,
} from "../http/request-headers.ts";
import { problemOf } from "../http/problem.ts";
import { etagOf } from "./etags.ts";

/** A request, and its conditions. */
export interface Conditional extends Conditions {
  readonly request: Request;
}

interface Part {
  readonly path?: Path | undefined;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/**
 * Serves the value of an existing variable that is not secret, or the part that the query or a `Range`
 * selects. Large values are read in parts, while the response is read.
 */
export async function serveValue(
  { store, csv }: Source,
  info: VariableInfo,
  part: Part,
  { request: { method, headers }, ...conditions }: Conditional,
): Promise<Response> {
  const { path = [], offset = 0, limit = info.bytes } = part;
  const isPart = path.length > 0 || part.offset !== undefined || part.limit !== undefined;
  const isBytes = info.type === "bytes";
  if (isBytes && path.length > 0) {
    throw new ByrefError("bad_request", `${info.name} is bytes: it has no path.`);
  }
  const value = isPart && !isBytes ? await readPart(store, info.name, part) : undefined;
  const offers = value === undefined ? wholeOffersOf(info) : offersOf(value, info.type);
  // An array can be served as CSV, too.
  const isCsv = offers.some((offer) => essenceOf(offer) === csv?.mediaType);
  const addsCsv = csv !== undefined && !isCsv && offers.includes(RECORDS_TYPE);
  const served = chosen(headers, info, addsCsv ? [...offers, csv.mediaType] : offers);
  const unchanged = notModified(conditions, served);
  if (unchanged !== undefined) return unchanged;
  const isAsStored = value === undefined && served.mediaType === info.mediaType;
  const asCsv = isAsStored || served.mediaType !== csv?.mediaType ? undefined : csv;
  if (value !== undefined) return respond(await bodyFor(value, served, asCsv), served);
  if (method === "HEAD" && asCsv === undefined) return headOf(served, isAsStored && !isPart);
  const open = store.open(info.name);
  if (open === undefined) throw noVariable(info.name);
  const { lines, close } = open;
  if (lines !== undefined && !isAsStored) {
    const parts = asCsv ? asCsv.write(() => recordsIn(lines())) : linesOf(lines(), served);
    return respond(await bodyFrom(parts, close), served);
  }
  try {
    if (isAsStored && isPart) {
      const from = Math.min(offset, info.bytes);
      const to = Math.min(from + limit, info.bytes);
      return respond(await bodyOf(open, { from, to }), served);
    }
    if (isAsStored) return await serveBytes(open, served, headers);
    if (info.type === "string") return respond(await bodyFrom(jsonStringOf(open), close), served);
  } catch (error) {
    close();
    throw error;
  }
  close();
  const whole = (await store.read(info.name)) ?? [];
  return respond(await bodyFor(whole, served, asCsv), served);
}

/** The store of values, and the format that records can be served in. */
interface Source {
  readonly store: Pick<VariableStore, "open" | "read" | "readPath">;
  readonly csv: RecordsFormat | undefined;
}

export interface StoredBytes extends Pick<OpenValue, "read" | "close"> {
  readonly info: Pick<VariableInfo, "bytes">;
}

/** Serves bytes as they are stored, or the part that a `Range` selects. */
export async function serveStored(
  open: StoredBytes,
  served: Served,
  { request: { method, headers }, ...conditions }: Conditional,
): Promise<Response> {
  const unchanged = notModified(conditions, served);
  if (unchanged !== undefined || method === "HEAD") open.close();
  if (method === "HEAD") return unchanged ?? headOf(served, true);
  return unchanged ?? serveBytes(open, served, headers);
}

/** The answer to HEAD: reads nothing, and has no range, which only GET has. */
function headOf(served: Served, hasRanges: boolean): Response {
  const response = respond(null, served);
  if (hasRanges) response.headers.set("accept-ranges", "bytes");
  return response;
}

/** The media types that a value can be served as, the default first. */
type Offers = readonly [string, ...string[]];

function wholeOffersOf({ type, mediaType }: VariableInfo): Offers {
  if (type === "array") return [...new Set([JSON_TYPE, RECORDS_TYPE, mediaType])] as [string];
  const isText = type === "string" && mediaType === TEXT_TYPE;
  return isText ? [TEXT_TYPE, JSON_TYPE] : [mediaType];
}

function offersOf(value: Json, whole: VariableInfo["type"]): Offers {
  if (isJsonArray(value)) return [JSON_TYPE, RECORDS_TYPE];
  // A lone surrogate has no UTF-8 encoding; JSON escapes it.
  if (typeof value !== "string" || !value.isWellFormed()) return [JSON_TYPE];
  return whole === "string" ? [TEXT_TYPE, JSON_TYPE] : [JSON_TYPE, TEXT_TYPE];
}

function essenceOf(mediaType: string): string {
  return parseMediaType(mediaType)?.essence ?? "";
}

/** The representation that `Accept` selects. Each has its own ETag. */
function chosen(headers: Headers, info: VariableInfo, offers: Offers): Served {
  const mediaType = preferred(headers.get("accept"), offers);
  const format = formatOf(mediaType);
  const name = format === "bytes" ? essenceOf(mediaType).replace(/^.*\//, "") : format;
  const suffix = mediaType === offers[0] ? "" : `.${name}`;
  return { mediaType, etag: etagOf(info, suffix) };
}

/** The 304 for a reader that has this representation. Throws `precondition_failed`. */
function notModified(conditions: Conditions, { etag }: Served): Response | undefined {
  requireConditions({ "If-Match": conditions["If-Match"] }, etag);
  if (!isNotModified(conditions, etag)) return undefined;
  return new Response(null, { status: 304, headers: { ...CACHING, etag } });
}

async function readPart(store: Source["store"], name: string, part: Part): Promise<Json> {
  const { path = [], offset = 0, limit } = part;
  const isSlice = offset > 0 || limit !== undefined;
  const slice = { from: offset, ...(limit === undefined ? {} : { to: offset + limit }) };
  const whole = isSlice ? [...path, slice] : path;
  const reading = await store.readPath(name, whole);
  if (reading === undefined) throw noVariable(name);
  if (reading.found) return reading.value;
  if (isSlice && reading.nearest.length === path.length) {
    throw new ByrefError("bad_request", "offset and limit are for arrays, text and bytes.");
  }
  const answer = answerFrom({ name, path: whole }, reading);
  if (answer.found) return answer.value;
  throw problemFrom(`${name}${formatPath(whole)}`, answer);
}

export function noVariable(name: string): ByrefError {
  return new ByrefError("variable_not_found", `There is no variable ${name}.`);
}

/** Writes a value as CSV, text, JSON or NDJSON. Throws what is wrong with the columns of a CSV. */
async function bodyFor(value: Json, { mediaType }: Served, csv?: RecordsFormat): Promise<Body> {
  if (csv === undefined || !isJsonArray(value)) return written(value, mediaType);
  async function* records() {
    yield value as JsonArray;
  }
  return bodyFrom(csv.write(records), () => undefined);
}

/** Writes a value as text, JSON or NDJSON. */
export function written(value: Json, mediaType: string): string {
  if (mediaType === TEXT_TYPE && typeof value === "string") return value;
  if (mediaType !== RECORDS_TYPE || !isJsonArray(value)) return JSON.stringify(value);
  return value.map((record) => `${JSON.stringify(record)}\n`).join("");
}

/** Serves the stored bytes, or the part of them that `Range` selects. */
async function serveBytes(open: StoredBytes, served: Served, headers: Headers): Promise<Response> {
  const size = open.info.bytes;
  const applies = appliesRange(headers.get("if-range"), served.etag);
  const requested = applies ? byteRangeIn(headers.get("range"), size) : "whole";
  const isWhole = requested === "whole";
  if (requested === "unsatisfiable") {
    open.close();
    const message = `The value has ${size} bytes; the range is outside of it.`;
    const response = problemOf("range_not_satisfiable", message, { size });
    // As the RFC requires.
    response.headers.set("content-range", contentRange("unsatisfiable", size));
    return response;
  }
  const range = isWhole ? { from: 0, to: size } : requested;
  const body = await bodyOf(open, range);
  const response = respond(body, served, isWhole ? undefined : contentRange(range, size));
  response.headers.set("accept-ranges", "bytes");
  return response;
}

type Lines = AsyncIterable<readonly string[]>;

async function* recordsIn(lines: Lines): AsyncGenerator<JsonArray> {
  for await (const part of lines) yield part.map(parsedJson);
}

/** Stored records as a JSON array or as NDJSON. */
async function* linesOf(lines: Lines, { mediaType }: Served): AsyncGenerator<Uint8Array> {
  const isArray = mediaType === JSON_TYPE;
  const [first, between, last] = isArray ? ["[", ",", "]"] : ["", "\n", "\n"];
  const encoder = new TextEncoder();
  let before = first;
  let isEmpty = true;
  for await (const part of lines) {
    if (part.length === 0) continue;
    yield encoder.encode(before + part.map((line) => line.trim()).join(between));
    [before, isEmpty] = [between, false];
  }
  if (isArray || !isEmpty) yield encoder.encode(isEmpty ? "[]" : last);
}

/** A body that is made while it is read. Throws what is wrong with its first part. */
async function bodyFrom(
  parts: AsyncGenerator<Uint8Array>,
  close: () => void,
): Promise<ReadableStream<Uint8Array>> {
  async function* closing(): AsyncGenerator<Uint8Array> {
    try {
      yield* parts;
    } finally {
      close();
    }
  }
  const all = closing();
  return streamOf(all, await all.next());
}

/** A stored text as a JSON string. Each part is escaped separately; characters split between parts are joined first. */
async function* jsonStringOf(open: StoredBytes): AsyncGenerator<Uint8Array> {
  const utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  const encoder = new TextEncoder();
  yield encoder.encode('"');
  for await (const part of partsOf(open, { from: 0, to: open.info.bytes })) {
    const text = utf8.decode(part, { stream: true });
    yield encoder.encode(JSON.stringify(text).slice(1, -1));
  }
  yield encoder.encode('"');
}

async function* partsOf(open: StoredBytes, { from, to }: Bounds): AsyncGenerator<Uint8Array> {
  const step = limits.maxRecordBytes;
  for (let at = from; at < to; at += step) yield open.read(at, Math.min(at + step, to));
}

/** The bytes of a small body, or for a large one a stream that reads each part on demand. */
async function bodyOf(open: StoredBytes, { from, to }: Bounds): Promise<Body> {
  const close = () => open.close();
  if (to - from > limits.maxRecordBytes) return bodyFrom(partsOf(open, { from, to }), close);
  const bytes = await open.read(from, to);
  close();
  return bytes;
}

type Body = string | Uint8Array | ReadableStream<Uint8Array>;

interface Served {
  readonly mediaType: string;
  readonly etag: string;
}

const CACHING = { "cache-control": "private, no-cache", vary: "accept" };

/**
 * The response. Its headers prevent a stored value from running as a script on this origin, whatever its
 * content and type.
 */
function respond(body: Body | null, { mediaType, etag }: Served, range?: string): Response {
  const { essence, text } = parseMediaType(mediaType) ?? BYTES;
  const headers = new Headers({
    ...CACHING,
    "content-type": mediaType === TEXT_TYPE ? "text/plain; charset=utf-8" : text,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    etag,
  });
  if (!INLINE_TYPES.has(essence)) headers.set("content-disposition", "attachment");
  if (range !== undefined) headers.set("content-range", range);
  return new Response(body, { status: range === undefined ? 200 : 206, headers });
}

const INLINE_TYPES = new Set([
  JSON_TYPE,
  TEXT_TYPE,
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);
