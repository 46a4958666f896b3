import { ByrefError } from "../../errors.ts";

/** How finely silence is measured. */
const TICKS = 4;

/** Aborts a model that says nothing for too long. Few timers, however many parts arrive. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;
  readonly signal: AbortSignal;
  /** Rejects with the reason when the signal aborts; never resolves. */
  readonly aborted: Promise<never>;
  readonly #onAbort: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** Whole ticks without a part. */
  #quietTicks = 0;

  constructor(outer: AbortSignal, silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.signal = AbortSignal.any([outer, this.#controller.signal]);
    const { promise, reject } = Promise.withResolvers<never>();
    this.#onAbort = () => reject(this.signal.reason);
    if (this.signal.aborted) this.#onAbort();
    else this.signal.addEventListener("abort", this.#onAbort, { once: true });
    // Nobody may be waiting for it when it rejects.
    promise.catch(() => undefined);
    this.aborted = promise;
    this.#timer = setInterval(() => this.#tick(), silenceMs / TICKS);
  }

  /** Something was said. */
  touch(): void {
    // The tick in which it was said is not a quiet one.
    this.#quietTicks = -1;
  }

  end(): void {
    clearInterval(this.#timer);
    // A composed signal that somebody listens to is kept alive, and all that the listener holds with it.
    this.signal.removeEventListener("abort", this.#onAbort);
  }

  /** Fires after `silenceMs`, or a tick more behind a part, so that a part costs no timer of its own. */
  #tick(): void {
    this.#quietTicks++;
    if (this.#quietTicks < TICKS) return;
    const message = `The model said nothing for ${this.#silenceMs} ms.`;
    this.#controller.abort(new ByrefError("model_timeout", message));
  }
}
