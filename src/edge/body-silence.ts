import type { MiddlewareHandler } from "hono";
import { ByrefError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { AppEnv } from "./app.ts";
import { problem } from "./problem.ts";

/**
 * Gives up a request whose body stops, or trickles: whoever reads it fails, and the answer is `body_timeout`.
 * Only waiting for the client counts, not how long it takes to do something with what came.
 */
export const limitSilence: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { raw } = context.req;
  if (raw.body === null) return next();
  const heard = new HeardBody(raw.body);
  context.req.raw = new Request(raw, { method: raw.method, body: heard.stream });
  await next();
  // Whatever it was that the silence spoiled.
  if (heard.error !== undefined) context.res = problem(heard.error);
};

class HeardBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #error: ByrefError | undefined;
  #waitedMs = 0;
  #bytes = 0;

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => this.#pull(controller),
        cancel: (reason) => this.#reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  /** Set once it has been given up. */
  get error(): ByrefError | undefined {
    return this.#error;
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const startMs = Date.now();
    const silence = Promise.withResolvers<never>();
    const giveUp = () => silence.reject((this.#error = tooSilent()));
    const timer = setTimeout(giveUp, limits.bodySilenceMs - this.#waitedMs);
    try {
      const read = await Promise.race([this.#reader.read(), silence.promise]);
      if (read.done) return controller.close();
      this.#note(read.value.byteLength, Date.now() - startMs);
      controller.enqueue(read.value);
    } catch (error) {
      controller.error(error);
      this.#reader.cancel(error).catch(() => undefined);
    } finally {
      clearTimeout(timer);
    }
  }

  #note(bytes: number, waitedMs: number): void {
    this.#bytes += bytes;
    this.#waitedMs += waitedMs;
    if (this.#bytes < limits.minBodyBytes) return;
    this.#bytes = 0;
    this.#waitedMs = 0;
  }
}

function tooSilent(): ByrefError {
  const { bodySilenceMs, minBodyBytes } = limits;
  return new ByrefError(
    "body_timeout",
    `The body stopped: fewer than ${minBodyBytes} bytes of it came in ${bodySilenceMs / 1_000} s.`,
  );
}
