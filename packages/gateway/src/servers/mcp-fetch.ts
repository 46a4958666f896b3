import { type EventSourceMessage, EventSourceParserStream } from "@ai-sdk/provider-utils";
import { messageOf } from "../../../../src/errors.ts";
import { exactNumbers, json } from "../../../../src/internal.ts";
import * as limits from "../../../../src/limits.ts";

/**
 * The `fetch` of the clients of MCP servers. It follows redirects within the origin only, because headers hold keys, and
 * limits the size of responses; of a stream that a GET opens, which has no end, that of each message. If a stream ends or
 * breaks before its response and cannot be resumed, it adds an error response, because the client would wait for one.
 */
export async function upstreamFetch(
  input: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  return answerOf(await fetchWithin(new URL(input), init), init);
}

/** The same in a Worker, without the stream of a server's own messages, which would outlive the turn. */
export async function mcpFetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const isOwnStream = init.method === "GET" && !isResuming(init);
  return isOwnStream ? new Response(null, { status: 405 }) : upstreamFetch(input, init);
}

function isResuming({ headers }: RequestInit): boolean {
  return new Headers(headers).has("last-event-id");
}

/** Returns the response with what a client would not understand replaced. */
async function answerOf(response: Response, init: RequestInit): Promise<Response> {
  const { body, status, statusText, ok } = response;
  // The client would wait for the answer that it cannot resume.
  if (status === 405 && isResuming(init)) return new Response(null, { status: 410 });
  if (body === null) return response;
  // The body is already decoded.
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length", "transfer-encoding"])
    headers.delete(name);
  const id = idOf(init.body);
  const type = headers.get("content-type") ?? "";
  const replace = (text: string) => {
    const message = text.length > MAX_READ ? undefined : replacementFor(text, id);
    return message && JSON.stringify(message);
  };
  if (type.includes("text/event-stream")) {
    // Of a stream that a GET opens, which has no end, each message is limited.
    const limited = init.method === "GET" ? body : bounded(body);
    const events = eventsOf(limited, id, replace);
    return new Response(events, { status, statusText, headers });
  }
  const isAnswer = ok && id !== undefined && type.includes("json");
  if (!isAnswer) return new Response(bounded(body), { status, statusText, headers });
  const bytes = await new Response(bounded(body)).arrayBuffer();
  // Longer ones are not decoded either.
  const text = bytes.byteLength > MAX_READ ? undefined : replace(new TextDecoder().decode(bytes));
  return new Response(text ?? bytes, { status, statusText, headers });
}

/** Follows redirects within the origin only, because headers hold keys. Throws for others. */
async function fetchWithin(url: URL, init: RequestInit): Promise<Response> {
  let target = url;
  for (let hop = 0; hop <= limits.maxTries; hop++) {
    const response = await fetch(target.href, { ...init, redirect: "manual" });
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    // Other redirects change the request to a GET.
    const keepsMethod = response.status === 307 || response.status === 308 || init.method === "GET";
    const next = location === null || !keepsMethod ? undefined : new URL(location, target);
    if (next === undefined) {
      throw new Error(`The server's redirect (${response.status}) cannot be followed.`);
    }
    if (next.origin !== url.origin) {
      throw new Error(`The server redirects to another origin: ${next.origin}.`);
    }
    target = next;
  }
  throw new Error(`The server redirects more than ${limits.maxTries} times.`);
}

/** The request's id, which is at the end of its body. Undefined for a notification. */
function idOf(body: RequestInit["body"]): number | undefined {
  const [, id] = (typeof body === "string" && /"id":(\d+)\}$/.exec(body.slice(-40))) || [];
  return id === undefined ? undefined : Number(id);
}

const TOO_LONG = `The server's answer is longer than ${limits.maxBodyBytes} bytes.`;

function bounded(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let bytes = 0;
  const counter: Transformer<Uint8Array, Uint8Array> = {
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > limits.maxBodyBytes) throw new Error(TOO_LONG);
      controller.enqueue(chunk);
    },
  };
  return body.pipeThrough(new TransformStream(counter));
}

/**
 * Passes on the events of a stream, with replacements for what a client would not understand. If the stream ends or
 * breaks, it ends without an error, and with a response to the request, which the client ignores if it already has one;
 * unless the client resumes the stream, as it does if events have ids. Limits the size of each event. A stream that answers
 * no request may end at any time. `replace` returns the text in place of a message; undefined for the same.
 */
function eventsOf(
  body: ReadableStream<Uint8Array>,
  id: number | undefined,
  replace: (text: string) => string | undefined,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let hasIds = false;
  let retry: readonly string[] = [];
  const onRetry = (ms: number) => {
    retry = [`retry: ${ms}`];
  };
  const reader = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(framed())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: limits.maxBodyBytes, onRetry }))
    .getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (!done) {
          hasIds ||= (value.id ?? "") !== "";
          const message = { ...value, data: replace(value.data) ?? value.data };
          controller.enqueue(encoder.encode(eventText(message, retry)));
          retry = [];
        } else if (id === undefined || hasIds) controller.close();
        else throw new Error("The server ended its answer too early.");
      } catch (error) {
        const isTooLong = error instanceof Error && TOO_LONG_EVENT.test(error.message);
        const why = isTooLong ? TOO_LONG : messageOf(error);
        if (id === undefined || (!isTooLong && hasIds)) {
          throw isTooLong ? new Error(TOO_LONG) : error;
        }
        const answer = ownAnswer(id, isTooLong ? "too long" : "cut off", why);
        controller.enqueue(encoder.encode(`event: message\ndata: ${JSON.stringify(answer)}\n\n`));
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Makes an event of a body that is JSON although it is called a stream of events: none begins with a bracket. */
function framed(): TransformStream<string, string> {
  let isJson: boolean | undefined;
  return new TransformStream({
    transform(text, controller) {
      const isFirst = isJson === undefined && text.trim() !== "";
      if (isFirst) isJson = /^\s*[[{]/u.test(text);
      const lines = isJson === true ? text.replaceAll(/\r?\n/gu, "\ndata: ") : text;
      controller.enqueue(isFirst && isJson === true ? `data: ${lines}` : lines);
    },
    flush: (controller) => controller.enqueue(isJson === true ? "\n\n" : ""),
  });
}

/** What `bounded` and the parser of events say. */
const TOO_LONG_EVENT = /^The server's answer is longer|exceeded max buffer size/u;

function eventText({ id, event, data }: EventSourceMessage, retry: readonly string[]): string {
  const fields = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...retry,
    ...data.split("\n").map((line) => `data: ${line}`),
  ];
  return `${fields.join("\n")}\n\n`;
}

/** Bytes or characters of an answer that is read. A longer one is passed on as it is. */
const MAX_READ = 8_388_608;

/** What is wrong with the answer of a server. */
type Flaw = "cut off" | "too long" | "malformed";

const FLAW = "byref/flaw";

interface ErrorAnswer {
  readonly jsonrpc: "2.0";
  readonly id: string | number;
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Returns the error that a client receives in place of an answer with a flaw. */
function ownAnswer(id: string | number, flaw: Flaw, message: string): ErrorAnswer {
  return { jsonrpc: "2.0", id, error: { code: -32_000, message, data: { [FLAW]: flaw } } };
}

/** Returns the flaw that the data of an error names; undefined for an error that a server gave. */
export function flawIn(data: unknown): unknown {
  return json.isObject(data) ? data[FLAW] : undefined;
}

/** Parses a message, with the digits of numbers in values; undefined if it is no JSON. */
export function messageIn(text: string): unknown {
  try {
    return exactNumbers.hasExactNumber(text)
      ? withDigits(exactNumbers.parseExactly(text))
      : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parts of a message that pass the library as they are. In the rest, such as schemas, it needs doubles. */
const VALUES = [
  ["result", "structuredContent"],
  ["result", "_meta"],
  ["params", "arguments"],
  ["params", "_meta"],
] as const;

function withDigits(exact: unknown): unknown {
  const message = toDoubles(exact);
  if (!json.isObject(message) || !json.isObject(exact)) return message;
  const parts = { ...message };
  for (const [part, key] of VALUES) {
    const [given, digits] = [parts[part], exact[part]];
    if (!json.isObject(given) || !json.isObject(digits) || digits[key] === undefined) continue;
    parts[part] = { ...given, [key]: key === "_meta" ? metaOf(digits[key]) : digits[key] };
  }
  return parts;
}

/** The library compares the token. */
function metaOf(meta: unknown): unknown {
  if (!json.isObject(meta) || meta.progressToken === undefined) return meta;
  return { ...meta, progressToken: toDoubles(meta.progressToken) };
}

function toDoubles(exact: unknown): unknown {
  return exactNumbers.mapExactNumbers(exact, ({ rawJSON }) => Number(rawJSON));
}

/**
 * Returns the message that a client over HTTP gets in place of this one; undefined if it gets this one: an error for an
 * answer that it would ignore, and structured content also as a text, because the client reads numbers as doubles.
 * `asked` is the id of the only request that it can answer.
 */
function replacementFor(text: string, asked: number | undefined): object | undefined {
  const message = messageIn(text);
  const answer = inPlaceOf(message, asked);
  if (answer !== undefined || !json.isObject(message) || !json.isObject(message.result))
    return answer;
  const result = withoutNulls(message.result);
  const { structuredContent, _meta } = result;
  if (!exactNumbers.holdsExactNumber([structuredContent, _meta]))
    return result === message.result ? undefined : { ...message, result };
  const meta = {
    ...(json.isObject(_meta) && _meta),
    [nameOfDigits()]: JSON.stringify({ structuredContent, _meta }),
  };
  return { ...message, result: { ...result, _meta: meta } };
}

/** Returns the result without members that are null, for which the library refuses all of it; else the same. */
export function withoutNulls(
  result: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const members = Object.entries(result).filter(([, value]) => value !== null);
  return members.length < Object.keys(result).length ? Object.fromEntries(members) : result;
}

/** A name that no server knows: what has it comes from `replacementFor`. A Worker may not make it before a request. */
let digits: string | undefined;

function nameOfDigits(): string {
  return (digits ??= `byref/digits-${crypto.randomUUID()}`);
}

interface StructuredResult {
  readonly structuredContent?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Returns the result with the digits that `replacementFor` has kept. */
export function restoreDigits<Result extends StructuredResult>(result: Result): Result {
  const { [nameOfDigits()]: text, ..._meta } = result._meta ?? {};
  if (typeof text !== "string") return result;
  return { ...result, _meta, ...(exactNumbers.parseExactly(text) as StructuredResult) };
}

/**
 * Returns the error in place of an answer that clients would ignore; undefined for any other message. `asked` is the
 * id of the only request that it can answer.
 */
export function inPlaceOf(message: unknown, asked?: number): ErrorAnswer | undefined {
  if (!json.isObject(message) || "method" in message) return undefined;
  const id = asked ?? message.id;
  if (typeof id !== "string" && typeof id !== "number") return undefined;
  const isOther = asked !== undefined && message.id !== asked;
  // Servers that fail may not know the id.
  if (isOther && isError(message.error)) return { jsonrpc: "2.0", id, error: message.error };
  const problem =
    problemOf(message) ?? (isOther ? "it has another id than the request" : undefined);
  if (problem === undefined) return undefined;
  return ownAnswer(id, "malformed", `The answer does not follow MCP: ${problem}.`);
}

function isError(error: unknown): error is ErrorAnswer["error"] {
  return json.isObject(error) && Number.isInteger(error.code) && typeof error.message === "string";
}

function problemOf(message: Readonly<Record<string, unknown>>): string | undefined {
  const { jsonrpc, id: _id, result, error, ...others } = message;
  if (jsonrpc !== "2.0") return 'its "jsonrpc" is not "2.0"';
  const hasError = "error" in message;
  if (hasError && "result" in message) return 'it has a "result" and an "error"';
  if (hasError && !isError(error)) return 'its "error" has no whole "code" with a "message"';
  if (!hasError && !json.isObject(result)) return 'its "result" is not an object';
  return Object.keys(others).length === 0 ? undefined : "it has keys that no answer has";
}
