import { ByrefError } from "../../errors.ts";
import { pieceReader } from "./piece-reader.ts";

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
  const reader = pieceReader(request.body ?? emptyStream(), END_BYTES);
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
    throw new ByrefError("bad_request", "The body broke off before its end.");
  }
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}
