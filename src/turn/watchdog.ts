import { ByrefError } from "../errors.ts";

/** Aborts a model that says nothing for too long. One timer, however many parts arrive. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #silenceMs: number;
  readonly signal: AbortSignal;
  /** Rejects with the reason when the signal aborts; never resolves. */
  readonly aborted: Promise<never>;
  readonly #onAbort: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isTouched = false;

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
    this.#arm();
  }

  /** Something was said. */
  touch(): void {
    this.#isTouched = true;
  }

  end(): void {
    clearTimeout(this.#timer);
    // A composed signal that somebody listens to is kept alive, and all that the listener holds with it.
    this.signal.removeEventListener("abort", this.#onAbort);
  }

  /** Fires after one to two times `silenceMs` of silence, so that a part costs no timer of its own. */
  #arm(): void {
    this.#timer = setTimeout(() => {
      if (this.#isTouched) {
        this.#isTouched = false;
        this.#arm();
        return;
      }
      const message = `The model said nothing for ${this.#silenceMs} ms.`;
      this.#controller.abort(new ByrefError("model_timeout", message));
    }, this.#silenceMs);
  }
}
