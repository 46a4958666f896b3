import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { Deadline, unlessAborted } from "../../value/deadline.ts";
import { copyOf, joinBytes } from "../../value/bytes.ts";
import { decodeUtf8 } from "../../value/encoding.ts";
import { JSON_ADVICE, JSON_TYPE } from "../../store/bytes/content.ts";
import { parseMediaType } from "../../value/media-type.ts";

export class ClientBody {
  readonly #body: ReadableStream<Uint8Array> | null;
  readonly #maxBytes: number;
  /** Set if the body was too large or too slow. */
  error: ByrefError | undefined;
  #cancel: (reason?: unknown) => Promise<void>;
  #allBytes = 0;
  #waitedMs = 0;
  #bytes = 0;

  constructor(body: ReadableStream<Uint8Array> | null, maxBytes: number) {
    this.#body = body;
    this.#maxBytes = maxBytes;
    this.#cancel = async (reason) => body?.cancel(reason);
  }

  /** Yields the body's pieces, once. Each piece is overwritten by the next. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    if (this.#body === null) return;
    const reader = pieceReader(this.#body);
    this.#cancel = (reason) => reader.cancel(reason);
    const read = () => this.#read(reader);
    for (let piece = await read(); piece !== undefined; piece = await read()) yield piece;
  }

  /** Cancels the rest of the body. Unread bytes sometimes block a local server for seconds. */
  cancel(reason?: unknown): void {
    this.#cancel(reason).catch(() => undefined);
  }

  async #read(reader: ReturnType<typeof pieceReader>): Promise<Uint8Array | undefined> {
    const startMs = Date.now();
    const seconds = limits.silenceMs / 1_000;
    const message = `The body is too slow: under ${limits.minBodyBytes} bytes in ${seconds} s.`;
    const error = () => (this.error = new ByrefError("body_timeout", message));
    const silence = new Deadline(limits.silenceMs - this.#waitedMs, { error });
    try {
      const piece = await silence.race(reader.read());
      if (piece === undefined) return undefined;
      this.#allBytes += piece.length;
      this.#bytes += piece.length;
      this.#waitedMs += Date.now() - startMs;
      if (this.#bytes >= limits.minBodyBytes) this.#bytes = this.#waitedMs = 0;
      if (this.#allBytes > this.#maxBytes) throw (this.error = tooLarge(this.#maxBytes));
      return piece;
    } catch (error) {
      this.cancel(error);
      throw error;
    }
  }
}

interface Place {
  readonly method: string;
  readonly path: string;
}

/** True for values, files, and parts of an import, which have their own limits (`receive.ts`). */
export function isStreamed({ method, path }: Place): boolean {
  if (method === "PUT") return /^\/(?:conversations|user)\//u.test(path);
  return method === "POST" && /\/(import|variables)$/.test(path);
}

/** The largest body that a request may have. A value as JSON is parsed as a whole. */
export function maxBodyBytes(place: Place, contentType = ""): number {
  if (!isStreamed(place)) return limits.maxBodyBytes;
  const isValue = /\/variables(?:\/[^/]*)?$/.test(place.path);
  const isJson = parseMediaType(contentType)?.essence === JSON_TYPE;
  return isValue && isJson ? limits.maxJsonBytes : limits.maxValueBytes;
}

/** The error for a body of more bytes, which names another way for JSON. */
export function tooLarge(maxBytes: number): ByrefError {
  const message = `A body is at most ${maxBytes} bytes.`;
  if (maxBytes !== limits.maxJsonBytes) return new ByrefError("body_too_large", message);
  const details = { limit: "maxJsonBytes", maximum: maxBytes };
  return new ByrefError("body_too_large", `${message} ${JSON_ADVICE}`, details);
}

const PIECE_BYTES = 65_536;

/**
 * Reads a body into one reused buffer: the next read overwrites the piece. With a new buffer for each piece, a long body
 * leaves 64 MiB of garbage before V8 collects it. `read` returns undefined at the end.
 */
function pieceReader(body: ReadableStream<Uint8Array>) {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    // The stream provides its own buffers, and may reuse them.
    const own = body.getReader();
    const read = async () => {
      const { value } = await own.read();
      return value && copyOf(value);
    };
    return { read, cancel: (reason?: unknown) => own.cancel(reason) };
  }
  let buffer: ArrayBufferLike = new ArrayBuffer(PIECE_BYTES);
  const read = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await reader.read(new Uint8Array(buffer));
    if (!done) buffer = value.buffer;
    return done ? undefined : value;
  };
  return { read, cancel: (reason?: unknown) => reader.cancel(reason) };
}

/** Contains the end marker of the body. */
const END_HEADER = "x-byref-end";

/**
 * Streams a client's body to the object, followed by an end marker. If a client's body breaks off, the object
 * would otherwise take the part for the whole: it accepts a body only with its end marker, which is new for
 * each request.
 */
export function withEnd(pieces: AsyncIterable<Uint8Array>): {
  readonly header: readonly [name: string, value: string];
  readonly body: ReadableStream<Uint8Array>;
} {
  const end = crypto.randomUUID();
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const send = async () => {
    // Each piece reaches its reader before the next one overwrites it.
    for await (const piece of pieces) await writer.write(piece);
    await writer.write(new TextEncoder().encode(end));
  };
  // A body that broke off has no end marker. Writing also fails if the object stops reading.
  const close = () => writer.close().catch(() => undefined);
  void send().then(close, close);
  return { header: [END_HEADER, end], body: readable };
}

/**
 * The body without its end marker. The next piece overwrites the last. Fails with `bad_request` if the marker is missing,
 * and with the signal's reason as soon as the signal is aborted, also while no bytes arrive.
 */
export async function* untilEnd(
  request: Request,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, undefined> {
  const end = request.headers.get(END_HEADER) ?? "";
  const reader = pieceReader(request.body ?? new Blob().stream());
  /** The last bytes, which may be the marker. */
  let held = new Uint8Array();
  try {
    for (;;) {
      const piece = await unlessAborted(reader.read(), signal);
      if (piece === undefined) break;
      const passed = Math.max(held.length + piece.length - end.length, 0);
      const [before, start] = [held.subarray(0, passed), Math.max(passed - held.length, 0)];
      held = copyOf(joinBytes([held.subarray(passed), piece.subarray(start)]));
      if (before.length > 0) yield before;
      if (start > 0) yield piece.subarray(0, start);
    }
  } finally {
    reader.cancel(signal.reason).catch(() => undefined);
  }
  if (end !== "" && decodeUtf8(held) === end) return undefined;
  throw new ByrefError("bad_request", "The body ended early.");
}
