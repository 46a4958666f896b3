import { withTimeLimit } from "../../../src/internal.ts";
import * as limits from "../../../src/limits.ts";
import {
  type ChangeResult,
  type ErrorAnswer,
  type Flaw,
  ownAnswer,
  type Replacing,
  replacementFor,
} from "./own-answer.ts";

/** Time limit for ending a session. */
const DELETE_MS = 2_000;
const MAX_REFUSAL_CHARS = 1_000;

/**
 * The `fetch` of an MCP client in a Worker. It opens no stream that would outlive the turn, follows
 * redirects within the origin only, because headers hold keys, and limits the size of responses. If a stream
 * ends or breaks before its response, it adds an error response, because the client would wait for one.
 */
export const mcpFetch = mcpFetchWith();

/** The same, with results changed before the client reads them. */
export function mcpFetchWith(change?: ChangeResult): typeof fetch {
  return (input: RequestInfo | URL, init?: RequestInit) => fetchChanged(input, init, change);
}

async function fetchChanged(
  input: RequestInfo | URL,
  init: RequestInit = {},
  change?: ChangeResult,
): Promise<Response> {
  // A GET would open the stream of the server's own messages, which nothing reads. Servers without that
  // stream answer 405.
  if (init.method === "GET") return new Response(null, { status: 405 });
  const url = new URL(input instanceof Request ? input.url : input);
  const send = (signal = init.signal) => fetchWithin(url, { ...init, ...(signal && { signal }) });
  if (init.method === "DELETE") return withTimeLimit(DELETE_MS, send);
  const response = await send();
  if (response.status === 400 || response.status === 404) return refusal(response);
  if (response.body === null || !response.ok) return response;
  const { body, status, headers } = response;
  const id = idOf(init.body);
  // The body is already decoded, so headers about its encoding are dropped.
  const kept = ["content-type", "mcp-session-id"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  const replacing = { asked: id, change };
  const answer = isEventStream(response)
    ? bounded(body, { id, events: new EventReader(false, replacing) })
    : id === undefined
      ? bounded(body)
      : await readAnswer(body, replacing);
  return new Response(answer, { status, headers: kept });
}

/**
 * Converts a refusal to text, so that the client reports the status. As JSON-RPC, the same text would hide
 * it.
 */
async function refusal({ status, body }: Response): Promise<Response> {
  const text = body === null ? "" : await new Response(bounded(body)).text();
  return new Response(`Refused: ${text.slice(0, MAX_REFUSAL_CHARS)}`, { status });
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

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.includes("text/event-stream") === true;
}

/** The request's id, which is at the end of its body. Undefined for a notification. */
function idOf(body: RequestInit["body"]): number | undefined {
  const [, id] = (typeof body === "string" && /"id":(\d+)\}$/.exec(body.slice(-40))) || [];
  return id === undefined ? undefined : Number(id);
}

interface BoundedOptions {
  /** Reads the events of a stream, to answer in place of the server. Default: the response is no such stream. */
  readonly events?: EventReader;
  /** The id of the request that the stream answers. */
  readonly id?: number | undefined;
  /** Counts bytes of a stream that has no end. Default: all bytes that were received. */
  readonly size?: (chunk: Uint8Array) => number;
}

/**
 * Limits a response's size. If a stream of events ends or breaks, it ends without an error, and with a response to the
 * request, which the client ignores if it already has one; unless the client can resume the stream.
 */
function bounded(
  body: ReadableStream<Uint8Array>,
  { events, id, size = totalSize() }: BoundedOptions = {},
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let flaw: Flaw = "cut off";
      try {
        // A stream that gets nothing here does not ask again.
        for (;;) {
          const { value, done } = await reader.read();
          if (done) {
            for (const part of events?.rest() ?? []) controller.enqueue(part);
            if (id === undefined || events === undefined || events.canResume)
              return controller.close();
            throw new Error("The server ended its answer too early.");
          }
          if (size(value) > limits.maxBodyBytes) {
            flaw = "too long";
            const error = new Error(TOO_LONG);
            reader.cancel(error).catch(() => undefined);
            throw error;
          }
          const parts = [...(events?.read(value) ?? [value])];
          for (const part of parts) controller.enqueue(part);
          if (parts.length > 0) return;
        }
      } catch (error) {
        const isLeft = flaw === "cut off" && events?.canResume === true;
        if (id === undefined || events === undefined || isLeft) throw error;
        const why = error instanceof Error ? error.message : "The connection broke.";
        controller.enqueue(eventOf(ownAnswer(id, flaw, why)));
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

const TOO_LONG = `The server's answer is longer than ${limits.maxBodyBytes} bytes.`;

function totalSize(): (chunk: Uint8Array) => number {
  let bytes = 0;
  return ({ byteLength }) => (bytes += byteLength);
}

/** Returns the size of the longest event so far that is not complete or ends in the chunk. */
function eventSize(): (chunk: Uint8Array) => number {
  let bytes = 0;
  let isLineEmpty = true;
  return (chunk) => {
    let most = 0;
    for (const byte of chunk) {
      most = Math.max(most, ++bytes);
      if (byte === LINE_FEED) {
        // An empty line ends an event.
        if (isLineEmpty) bytes = 0;
        isLineEmpty = true;
      } else if (byte !== CARRIAGE_RETURN) isLineEmpty = false;
    }
    return most;
  };
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;

function eventOf(answer: ErrorAnswer): Uint8Array {
  // The empty line ends an event that was cut off.
  return new TextEncoder().encode(`\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
}

/** Returns the body of a response in JSON, or what the client gets in place of it. */
async function readAnswer(
  body: ReadableStream<Uint8Array>,
  replacing: Replacing,
): Promise<ArrayBuffer | string> {
  const bytes = await new Response(bounded(body)).arrayBuffer();
  if (bytes.byteLength > MAX_EVENT_BYTES) return bytes;
  const replacement = replacementFor(new TextDecoder().decode(bytes), replacing);
  return replacement === undefined ? bytes : JSON.stringify(replacement);
}

/** Bytes of an event that is read. A longer one is passed on as it is. */
const MAX_EVENT_BYTES = 8_388_608;

/** Passes on a stream of events, each when it is complete, with replacements for what a client would not understand. */
class EventReader {
  readonly #isResumable: boolean;
  readonly #replacing: Replacing;
  #hasIds = false;
  #held: Uint8Array[] = [];
  #bytes = 0;
  #isLineEmpty = true;

  /** `isResumable`: the client resumes a stream whose events have ids. */
  constructor(isResumable: boolean, replacing: Replacing) {
    this.#isResumable = isResumable;
    this.#replacing = replacing;
  }

  get canResume(): boolean {
    return this.#isResumable && this.#hasIds;
  }

  /** Returns the events that the chunk completes, and what there is of one that is too long to be read. */
  *read(chunk: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < chunk.length;) {
      const found = chunk.indexOf(LINE_FEED, at);
      const end = found < 0 ? chunk.length : found + 1;
      const line = chunk.slice(at, end);
      at = end;
      const isBlank = line.every((byte) => byte === LINE_FEED || byte === CARRIAGE_RETURN);
      this.#held.push(line);
      this.#bytes += line.length;
      if (found >= 0 && isBlank && this.#isLineEmpty) {
        yield* this.#event();
        this.#bytes = 0;
      } else if (this.#bytes > MAX_EVENT_BYTES) yield* this.rest();
      this.#isLineEmpty = found >= 0 || (this.#isLineEmpty && isBlank);
    }
  }

  /** Returns what there is of an event that is not complete. */
  rest(): readonly Uint8Array[] {
    return this.#held.splice(0);
  }

  /** Returns the event that has ended, or the one in place of it. */
  #event(): readonly Uint8Array[] {
    const held = this.rest();
    if (this.#bytes > MAX_EVENT_BYTES) return held;
    const decoder = new TextDecoder();
    const text = held.map((part) => decoder.decode(part, { stream: true })).join("");
    const lines = text.split(/\r?\n/u).filter((line) => line !== "");
    const valuesOf = (name: string) =>
      lines.flatMap((line) => {
        const [, found, value = ""] = /^(id|data)(?:: ?(.*))?$/u.exec(line) ?? [];
        return found === name ? [value] : [];
      });
    this.#hasIds ||= valuesOf("id").some((id) => id !== "");
    const replacement = replacementFor(valuesOf("data").join("\n"), this.#replacing);
    if (replacement === undefined) return held;
    const kept = lines.filter((line) => !/^data(?:$|:)/u.test(line));
    const written = [...kept, `data: ${JSON.stringify(replacement)}`, "", ""].join("\n");
    return [new TextEncoder().encode(written)];
  }
}

/**
 * The `fetch` of the gateway's clients outside of Workers. It follows redirects within the origin only, because
 * headers hold keys, and limits the size of responses; of a stream that a GET opens, which has no end, that of each
 * message.
 */
export async function upstreamFetch(
  input: string | URL,
  init: RequestInit = {},
): Promise<Response> {
  const response = await fetchWithin(new URL(input), init);
  const { body, status, statusText } = response;
  // The client would wait for the answer that it cannot resume.
  const isResuming = new Headers(init.headers).has("last-event-id");
  if (status === 405 && isResuming) return new Response(null, { status: 410 });
  if (body === null) return response;
  // The body is already decoded.
  const headers = new Headers(response.headers);
  for (const name of ["content-encoding", "content-length"]) headers.delete(name);
  const id = idOf(init.body);
  const isAnswer = response.ok && id !== undefined && headers.get("content-type")?.includes("json");
  const read = isAnswer
    ? await readAnswer(body, { asked: id })
    : bounded(body, optionsFor(response, init));
  return new Response(read, { status, statusText, headers });
}

function optionsFor(response: Response, { method, body }: RequestInit): BoundedOptions {
  if (!isEventStream(response)) return {};
  const id = idOf(body);
  const events = new EventReader(true, { asked: id });
  return method === "GET" ? { events, size: eventSize() } : { events, id };
}
