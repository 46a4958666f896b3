import type { MiddlewareHandler } from "hono";
import { ByrefError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { AppEnv } from "./app.ts";
import { problem } from "./problem.ts";

/**
 * Gives up a request whose body is too large, stops, or trickles: whoever reads it fails, and the answer is
 * `body_too_large` or `body_timeout`. Only waiting for the client counts, not how long it takes to do
 * something with what came. Nothing is held here.
 */
export const limitBody: MiddlewareHandler<AppEnv> = async (context, next) => {
  const { req } = context;
  const { body, method } = req.raw;
  if (body === null) return next();
  // Values, and parts of an import, have bounds of their own (`receive.ts`).
  const isStreamedIn = method === "PUT" || req.path === "/conversations/import";
  const maxBytes = isStreamedIn ? Number.POSITIVE_INFINITY : limits.maxChatBodyBytes;
  if (Number(req.header("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const heard = new HeardBody(body, maxBytes);
  req.raw = new Request(req.raw, { method, body: heard.stream });
  await next();
  heard.letGo();
  // Whatever it was that this has spoiled.
  if (heard.error !== undefined) context.res = problem(heard.error);
};

class HeardBody {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #maxBytes: number;
  #error: ByrefError | undefined;
  #allBytes = 0;
  #waitedMs = 0;
  #bytes = 0;

  constructor(body: ReadableStream<Uint8Array>, maxBytes: number) {
    this.#maxBytes = maxBytes;
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

  /** Nobody wants more of it: what is left unread stops a local server for seconds now and then. */
  letGo(): void {
    this.#reader.cancel().catch(() => undefined);
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
      if (this.#allBytes > this.#maxBytes) throw (this.#error = tooLarge(this.#maxBytes));
      controller.enqueue(read.value);
    } catch (error) {
      controller.error(error);
      this.#reader.cancel(error).catch(() => undefined);
    } finally {
      clearTimeout(timer);
    }
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

function tooLarge(maxBytes: number): ByrefError {
  return new ByrefError("body_too_large", `A body is at most ${maxBytes} bytes.`);
}

function tooSilent(): ByrefError {
  const { bodySilenceMs, minBodyBytes } = limits;
  return new ByrefError(
    "body_timeout",
    `The body stopped: fewer than ${minBodyBytes} bytes of it came in ${bodySilenceMs / 1_000} s.`,
  );
}
