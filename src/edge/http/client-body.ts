import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { Deadline } from "../../value/deadline.ts";
import { joinBytes } from "../../value/bytes.ts";
import { JSON_ADVICE, JSON_TYPE } from "../../store/bytes/content.ts";
import { parseMediaType } from "../../value/media-type.ts";

/** A body as its client sends it. */
export class ClientBody {
  readonly #body: ReadableStream<Uint8Array> | null;
  readonly #maxBytes: number;
  #cancel: (reason?: unknown) => Promise<void>;
  #error: ByrefError | undefined;
  #allBytes = 0;
  #waitedMs = 0;
  #bytes = 0;

  constructor(body: ReadableStream<Uint8Array> | null, maxBytes: number) {
    this.#body = body;
    this.#maxBytes = maxBytes;
    this.#cancel = async (reason) => body?.cancel(reason);
  }

  /** Set if the body was too large or too slow. */
  get error(): ByrefError | undefined {
    return this.#error;
  }

  /** Yields the body's pieces, once. Each piece is overwritten by the next. */
  async *pieces(): AsyncGenerator<Uint8Array> {
    if (this.#body === null) return;
    const read = this.#reading(pieceReader(this.#body));
    for (let piece = await read(); piece !== undefined; piece = await read()) yield piece;
  }

  /** Cancels the rest of the body. Unread bytes sometimes block a local server for seconds. */
  cancel(reason?: unknown): void {
    this.#cancel(reason).catch(() => undefined);
  }

  #reading(reader: PieceReader): () => Promise<Uint8Array | undefined> {
    this.#cancel = (reason) => reader.cancel(reason);
    return async () => {
      const startMs = Date.now();
      const silence = new Deadline(limits.silenceMs - this.#waitedMs, {
        error: () => (this.#error = tooSlow()),
      });
      try {
        const { value } = await silence.race(reader.read());
        if (value === undefined) return undefined;
        this.#note(value.byteLength, Date.now() - startMs);
        if (this.#allBytes > this.#maxBytes) throw (this.#error = tooLarge(this.#maxBytes));
        return value;
      } catch (error) {
        this.cancel(error);
        throw error;
      }
    };
  }

  #note(bytes: number, waitedMs: number): void {
    this.#allBytes += bytes;
    this.#bytes += bytes;
    this.#waitedMs += waitedMs;
    if (this.#bytes < limits.minBodyBytes) return;
    this.#bytes = 0;
    this.#waitedMs = 0;
  }
}

/** True for values, files, and parts of an import, which have their own limits (`receive.ts`). */
export function isStreamed({ method, path }: Place): boolean {
  if (method === "PUT") return /^\/(?:conversations|user)\//u.test(path);
  return method === "POST" && /\/(import|variables)$/.test(path);
}

interface Place {
  readonly method: string;
  readonly path: string;
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

function tooSlow(): ByrefError {
  return new ByrefError(
    "body_timeout",
    `The body is too slow: under ${limits.minBodyBytes} bytes in ${limits.silenceMs / 1_000} s.`,
  );
}

/** The largest size of a piece. */
const PIECE_BYTES = 65_536;

export interface PieceReader {
  /** The value is undefined at the end. The next read overwrites it. */
  read(): Promise<{ readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/**
 * Reads a body into one reused buffer, with `headBytes` free in front of each piece. With a new buffer for
 * each piece, a long body leaves 64 MiB of garbage before V8 collects it.
 */
function pieceReader(body: ReadableStream<Uint8Array>, headBytes = 0): PieceReader {
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    return copyingReader(body.getReader(), headBytes);
  }
  let buffer: ArrayBufferLike = new ArrayBuffer(headBytes + PIECE_BYTES);
  return {
    read: async () => {
      const { done, value } = await reader.read(new Uint8Array(buffer, headBytes));
      if (done) return {};
      buffer = value.buffer;
      return { value };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** Returns a reader for a stream that provides its own buffers. */
function copyingReader(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  headBytes: number,
): PieceReader {
  return {
    read: async () => {
      const { value } = await reader.read();
      return value === undefined
        ? {}
        : { value: joinBytes([new Uint8Array(headBytes), value]).subarray(headBytes) };
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

/** Contains the end marker of the body. */
const END_HEADER = "x-byref-end";
/** The length of a UUID. */
const END_BYTES = 36;

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
 * The body without its end marker. Reading fails with `bad_request` if the marker is missing, and with the
 * signal's reason as soon as the signal is aborted, also while no bytes arrive.
 */
export function untilEnd(request: Request, signal: AbortSignal): ReadableStream<Uint8Array> {
  const body = new Ending(new TextEncoder().encode(request.headers.get(END_HEADER) ?? ""));
  const reader = pieceReader(request.body ?? new Blob().stream(), END_BYTES);
  const cancel = (reason: unknown) => reader.cancel(reason).catch(() => undefined);
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const stop = () => {
          controller.error(signal.reason);
          void cancel(signal.reason);
        };
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
      },
      async pull(controller) {
        for (;;) {
          const { value } = await reader.read();
          if (signal.aborted) return;
          if (value === undefined) {
            body.requireEnd();
            return controller.close();
          }
          const bytes = body.take(value);
          if (bytes.length > 0) return controller.enqueue(bytes);
        }
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

/** Holds back the bytes that may be the end marker. */
class Ending {
  readonly #end: Uint8Array;
  #held = new Uint8Array();

  constructor(end: Uint8Array) {
    this.#end = end;
  }

  /** Returns a view of the piece's memory, with the held bytes in front of the piece. */
  take({ buffer, byteOffset, length }: Uint8Array): Uint8Array {
    const held = this.#held;
    const all = new Uint8Array(buffer, byteOffset - held.length, held.length + length);
    all.set(held);
    const passed = Math.max(all.length - this.#end.length, 0);
    this.#held = all.slice(passed);
    return all.subarray(0, passed);
  }

  requireEnd(): void {
    const end = this.#end;
    if (end.length > 0 && end.every((byte, index) => byte === this.#held[index])) return;
    throw new ByrefError("bad_request", "The body ended early.");
  }
}
