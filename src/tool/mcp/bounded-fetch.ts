import * as limits from "../../limits.ts";

/** Follows redirects within the origin only, because headers hold keys. Throws for others. */
export async function fetchWithin(url: URL, init: RequestInit): Promise<Response> {
  let target = url;
  for (let hop = 0; hop <= limits.maxMcpRedirects; hop++) {
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
  throw new Error(`The server redirects more than ${limits.maxMcpRedirects} times.`);
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.includes("text/event-stream") === true;
}

/** The request's id, which is at the end of its body. Undefined for a notification. */
export function idOf(body: RequestInit["body"]): string | undefined {
  return typeof body === "string" ? /"id":(\d+)\}$/.exec(body.slice(-40))?.[1] : undefined;
}

export interface BoundedOptions {
  /**
   * Condition under which a stream of events ends with an error response to the request. Default: the stream
   * breaks.
   */
  readonly when?: "always" | "too long";
  /** The request's. */
  readonly id?: string | undefined;
  /** Counts bytes of a stream that has no end. Default: all bytes that were received. */
  readonly size?: (chunk: Uint8Array) => number;
}

/**
 * Limits a response's size. With `always`, the stream ends without an error, and with a response to the request,
 * which the client ignores if it already has one.
 */
export function bounded(
  body: ReadableStream<Uint8Array>,
  { when, id, size = totalSize() }: BoundedOptions = {},
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, why: string) => {
    if (id !== undefined) controller.enqueue(errorEvent(id, why));
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      let isTooLong = false;
      try {
        const read = await reader.read();
        if (read.done) {
          if (when === "always") return end(controller, "The server ended its answer too early.");
          return controller.close();
        }
        isTooLong = size(read.value) > limits.maxMcpAnswerBytes;
        if (!isTooLong) return controller.enqueue(read.value);
        const error = new Error(
          `The server's answer is longer than ${limits.maxMcpAnswerBytes} bytes.`,
        );
        reader.cancel(error).catch(() => undefined);
        throw error;
      } catch (error) {
        if (when !== "always" && !(isTooLong && when === "too long")) throw error;
        end(controller, error instanceof Error ? error.message : "The connection broke.");
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function totalSize(): (chunk: Uint8Array) => number {
  let bytes = 0;
  return ({ byteLength }) => (bytes += byteLength);
}

/** Returns the size of the longest event so far that is not complete or ends in the chunk. */
export function eventSize(): (chunk: Uint8Array) => number {
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

function errorEvent(id: string, message: string): Uint8Array {
  const answer = { jsonrpc: "2.0", id: Number(id), error: { code: -32_000, message } };
  // The empty line ends an event that was cut off.
  return new TextEncoder().encode(`\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
}
