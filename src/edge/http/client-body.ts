import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { Deadline } from "../../value/deadline.ts";
import { type PieceReader, pieceReader } from "./piece-reader.ts";

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
      const silence = new Deadline(limits.bodySilenceMs - this.#waitedMs, {
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

export function tooLarge(maxBytes: number): ByrefError {
  return new ByrefError("body_too_large", `A body is at most ${maxBytes} bytes.`);
}

function tooSlow(): ByrefError {
  return new ByrefError(
    "body_timeout",
    `The body stopped: fewer than ${limits.minBodyBytes} bytes of it came in ${limits.bodySilenceMs / 1_000} s.`,
  );
}
