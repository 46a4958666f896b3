import { APICallError, type LanguageModelV4 } from "@ai-sdk/provider";
import { messageOf } from "../../../../src/errors.ts";
import { around } from "./model-middleware.ts";
import { RunStopped } from "./run-stopped.ts";

/** The clock of a run. */
export interface Waiting {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly jitter: () => number;
}

const MAX_TRIES = 8;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 120_000;
/** A provider may ask for more: then the run is stopped, and can go on later. */
const MAX_ASKED_MS = 15 * 60_000;

/**
 * Delays all calls of a run when the provider reports too many requests: by the time in `retry-after`, or twice as
 * long each time.
 */
export class Pace {
  readonly #waiting: Waiting;
  #pausedUntil = 0;

  constructor(waiting: Waiting) {
    this.#waiting = waiting;
  }

  /** Runs a call, again after a failure that may pass. Throws `RunStopped` if it does not pass. */
  async run<Result>(call: () => PromiseLike<Result>): Promise<Result> {
    for (let tries = 1; ; tries++) {
      await this.#pause();
      try {
        return await call();
      } catch (error) {
        if (!isTemporary(error)) throw error;
        if (tries === MAX_TRIES)
          throw new RunStopped(`The provider failed ${tries} times: ${messageOf(error)}`);
        this.#delay(error, tries);
      }
    }
  }

  async #pause(): Promise<void> {
    for (;;) {
      const left = this.#pausedUntil - this.#waiting.now();
      if (left <= 0) return;
      await this.#waiting.sleep(left);
    }
  }

  #delay(error: unknown, tries: number): void {
    const { now, jitter } = this.#waiting;
    const asked = retryAfterMs(error, now());
    if (asked !== undefined && asked > MAX_ASKED_MS) {
      throw new RunStopped(`The provider asks to wait for ${Math.ceil(asked / 60_000)} minutes.`);
    }
    const own = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), MAX_WAIT_MS) * (1 + jitter() / 2);
    this.#pausedUntil = Math.max(this.#pausedUntil, now() + (asked ?? own));
  }
}

/** Returns the model with calls at the pace that the provider allows. */
export function patient(model: LanguageModelV4, pace: Pace): LanguageModelV4 {
  return around(model, ({ doGenerate }) => pace.run(doGenerate));
}

/** An answer that cannot be read has the status of a success. */
function isTemporary(error: unknown): boolean {
  return APICallError.isInstance(error) && (error.isRetryable || error.statusCode === 200);
}

/** `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterMs(error: unknown, now: number): number | undefined {
  if (!APICallError.isInstance(error)) return undefined;
  const { "retry-after-ms": ms, "retry-after": after } = error.responseHeaders ?? {};
  const candidates = [Number(ms ?? Number.NaN), Number(after ?? Number.NaN) * 1_000];
  const date = after === undefined ? Number.NaN : Date.parse(after) - now;
  return [...candidates, date].find((one) => Number.isFinite(one) && one >= 0);
}
