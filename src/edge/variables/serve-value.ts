import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { parsePath } from "../../reference/grammar.ts";
import { answerFrom } from "../../reference/lookup-in.ts";
import { problemFrom } from "../../reference/resolve.ts";
import { formatOf, JSON_TYPE, RECORDS_TYPE, TEXT_TYPE } from "../../store/bytes/content.ts";
import type { OpenValue, VariableInfo, VariableStore } from "../../store/variable-store.ts";
import { isJsonArray, type Json } from "../../value/json.ts";
import { formatPath, type Path } from "../../value/path.ts";
import { appliesRange, type ByteRange, byteRangeIn, contentRange } from "../http/byte-range.ts";
import { conditionsIn, isNotModified } from "../http/conditions.ts";
import { problemOf } from "../http/problem.ts";
import { wholeNumberIn } from "../http/parse.ts";

/** A variable's ETag: its version, and when that was written, for versions begin anew after a delete. */
export function etagOf({
  version,
  updatedAt,
}: Pick<VariableInfo, "version" | "updatedAt">): string {
  return `"${version}-${Date.parse(updatedAt).toString(36)}"`;
}

/**
 * The value of a variable that exists and is not secret, or the part of it that `path`, `offset` and
 * `limit` of the query or a `Range` ask for. What is large leaves as it is read.
 */
export async function serveValue(
  store: VariableStore,
  info: VariableInfo,
  request: Request,
): Promise<Response> {
  const response = await valueResponse(store, info, request);
  if (request.method !== "HEAD") return response;
  // Nobody reads the body: what it holds is let go.
  await response.body?.cancel();
  return new Response(null, response);
}

async function valueResponse(
  store: VariableStore,
  info: VariableInfo,
  request: Request,
): Promise<Response> {
  const etag = etagOf(info);
  if (isNotModified(conditionsIn(request.headers), etag)) {
    return new Response(null, { status: 304, headers: { etag, vary: "accept" } });
  }
  const part = partIn(request);
  const wantsRecords = request.headers.get("accept")?.includes(RECORDS_TYPE) === true;
  const isBytes = info.type === "bytes";
  if (isBytes && part.path.length > 0) {
    throw new ByrefError("bad_request", `${info.name} is bytes: it has no path.`);
  }
  if (part.isPart && !isBytes) {
    const value = await readPart(store, info.name, part);
    return jsonResponse(value, { info, wantsRecords });
  }
  const isRecords = formatOf(info.mediaType) === "records";
  if (wantsRecords && info.type === "array" && !isRecords) {
    return jsonResponse((await store.read(info.name)) ?? null, { info, wantsRecords });
  }
  const open = store.open(info.name);
  if (open === undefined) throw new ByrefError("variable_not_found", `There is no ${info.name}.`);
  try {
    return isRecords && !wantsRecords
      ? await serveRecordsAsArray(open)
      : await serveBytes(open, isBytes && part.isPart ? part : rangeIn(request, open.info));
  } catch (error) {
    open.close();
    throw error;
  }
}

interface Part {
  readonly isPart: boolean;
  readonly path: Path;
  readonly offset: number;
  readonly limit: number | undefined;
}

function partIn(request: Request): Part {
  const query = new URL(request.url).searchParams;
  const text = query.get("path") ?? "";
  const path = parsePath(text);
  if (path === undefined) {
    const message = `${text} is not a path; write it as behind a name, e.g. .temp or [0].id`;
    throw new ByrefError("bad_path", message);
  }
  const offset = wholeNumberIn(query.get("offset") ?? undefined, "offset", { min: 0 });
  const limit = wholeNumberIn(query.get("limit") ?? undefined, "limit", { min: 0 });
  const isPart = path.length > 0 || offset !== undefined || limit !== undefined;
  return { isPart, path, offset: offset ?? 0, limit };
}

async function readPart(store: VariableStore, name: string, part: Part): Promise<Json> {
  const { path, offset, limit } = part;
  const isSlice = offset > 0 || limit !== undefined;
  const slice = { from: offset, ...(limit === undefined ? {} : { to: offset + limit }) };
  const whole = isSlice ? [...path, slice] : path;
  const reading = await store.readPath(name, whole);
  if (reading === undefined) throw new ByrefError("variable_not_found", `There is no ${name}.`);
  if (reading.found) return reading.value;
  if (isSlice && reading.nearest.length === path.length) {
    throw new ByrefError("bad_request", "offset and limit are for arrays, text and bytes.");
  }
  const answer = answerFrom({ name, path: whole }, reading);
  if (answer.found) return answer.value;
  throw problemFrom(`${name}${formatPath(whole)}`, answer);
}

function jsonResponse(
  value: Json,
  { info, wantsRecords }: { readonly info: VariableInfo; readonly wantsRecords: boolean },
): Response {
  if (wantsRecords && isJsonArray(value)) {
    const lines = value.map((record) => `${JSON.stringify(record)}\n`).join("");
    return respond(lines, { info, mediaType: RECORDS_TYPE });
  }
  // Half a surrogate pair has no UTF-8; as JSON it is escaped.
  const isText = typeof value === "string" && info.type === "string" && value.isWellFormed();
  return isText
    ? respond(value, { info, mediaType: TEXT_TYPE })
    : respond(JSON.stringify(value), { info, mediaType: JSON_TYPE });
}

function rangeIn(request: Request, info: VariableInfo): ByteRange | "whole" | "unsatisfiable" {
  if (!appliesRange(request.headers.get("if-range"), etagOf(info))) return "whole";
  return byteRangeIn(request.headers.get("range"), info.bytes);
}

/** The stored bytes as they are, or some of them: by `Range`, or by the query for bytes. */
async function serveBytes(
  open: OpenValue,
  asked: ByteRange | "whole" | "unsatisfiable" | Part,
): Promise<Response> {
  const { info } = open;
  const size = info.bytes;
  if (asked === "unsatisfiable") {
    open.close();
    return unsatisfiable(size);
  }
  const { mediaType } = info;
  if (asked === "whole")
    return respond(await bodyOf(open, { from: 0, to: size }), { info, mediaType });
  if ("from" in asked) {
    const body = await bodyOf(open, asked);
    return respond(body, { info, mediaType, contentRange: contentRange(asked, size) });
  }
  const from = Math.min(asked.offset, size);
  const to = Math.min(from + (asked.limit ?? size), size);
  return respond(await bodyOf(open, { from, to }), { info, mediaType });
}

/** Says in its header, as the RFC asks, which ranges there are. */
function unsatisfiable(size: number): Response {
  const message = `The value has ${size} bytes; the range lies outside of them.`;
  const response = problemOf("range_not_satisfiable", message, { size });
  response.headers.set("content-range", contentRange("unsatisfiable", size));
  return response;
}

/** A JSON array out of one record a line: each line feed becomes a comma, the last one the bracket. */
async function serveRecordsAsArray(open: OpenValue): Promise<Response> {
  const { info } = open;
  const mediaType = JSON_TYPE;
  if (info.bytes === 0) {
    open.close();
    return respond("[]", { info, mediaType });
  }
  const asArray = (bytes: Uint8Array, from: number) => {
    const isLast = from + bytes.length === info.bytes;
    const array = bytes.map((byte) => (byte === LINE_FEED ? COMMA : byte));
    if (isLast) array[array.length - 1] = CLOSING_BRACKET;
    return from === 0 ? opened(array) : array;
  };
  const body = await bodyOf(open, { from: 0, to: info.bytes }, asArray);
  return respond(body, { info, mediaType });
}

const LINE_FEED = 0x0a;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

function opened(rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(rest.length + 1);
  bytes[0] = OPENING_BRACKET;
  bytes.set(rest, 1);
  return bytes;
}

type Transform = (bytes: Uint8Array, from: number) => Uint8Array;

/** Small: the bytes. Large: a stream that reads a part when the one before it has left. */
async function bodyOf(
  open: OpenValue,
  { from, to }: ByteRange,
  transform: Transform = (bytes) => bytes,
): Promise<Uint8Array | ReadableStream<Uint8Array>> {
  const step = limits.maxWholeBodyBytes;
  if (to - from <= step) {
    const bytes = transform(await open.read(from, to), from);
    open.close();
    return bytes;
  }
  let next = from;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const end = Math.min(next + step, to);
        try {
          controller.enqueue(transform(await open.read(next, end), next));
        } catch (error) {
          open.close();
          throw error;
        }
        next = end;
        if (next < to) return;
        controller.close();
        open.close();
      },
      cancel: () => open.close(),
    },
    { highWaterMark: 0 },
  );
}

interface Served {
  readonly info: VariableInfo;
  readonly mediaType: string;
  /** Of a part that a `Range` asked for. */
  readonly contentRange?: string;
}

/** A stored value must not become script on this origin, whatever it holds. */
function respond(
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  { info, mediaType, contentRange }: Served,
): Response {
  const headers = new Headers({
    "content-type": mediaType === TEXT_TYPE ? "text/plain; charset=utf-8" : mediaType,
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-cache",
    etag: etagOf(info),
    vary: "accept",
    "accept-ranges": "bytes",
  });
  if (!isShownInline(mediaType)) headers.set("content-disposition", "attachment");
  if (contentRange !== undefined) headers.set("content-range", contentRange);
  return new Response(body, { status: contentRange === undefined ? 200 : 206, headers });
}

const INLINE_TYPES = new Set([
  JSON_TYPE,
  TEXT_TYPE,
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);

function isShownInline(mediaType: string): boolean {
  const [type = ""] = mediaType.split(";");
  return INLINE_TYPES.has(type.trim().toLowerCase());
}
