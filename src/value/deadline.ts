export interface DeadlineOptions {
  /** Creates the error for an expired deadline. */
  readonly error: () => unknown;
  /** Ends the deadline early, with its own reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A time limit for one operation. Its timer runs until `end`. */
export class Deadline {
  /** Aborts when the time is over, or with the caller's signal. */
  readonly signal: AbortSignal;
  /** Rejects with the error, or with the reason of the caller's signal. */
  readonly passed: Promise<never>;
  #touchedMs = -Infinity;
  #end: () => void = () => undefined;

  constructor(ms: number, { error, signal }: DeadlineOptions) {
    const timeout = new AbortController();
    this.signal = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
    // A deadline keeps its clock, also if another one takes the place of the global one meanwhile.
    const { setTimeout: arm } = globalThis;
    // Not `Promise.withResolvers`, which Node 20 lacks.
    this.passed = new Promise((_, reject) => {
      const pass = () => {
        const leftMs = Math.min(this.#touchedMs + ms - Date.now(), ms);
        if (leftMs > 0) return void (timer = arm(pass, leftMs));
        const reason = error();
        // First, so that `race` rejects with this reason and not with the work's reaction to the abort.
        reject(reason);
        timeout.abort(reason);
      };
      const stop = () => reject(signal?.reason);
      let timer = arm(pass, ms);
      signal?.addEventListener("abort", stop);
      if (signal?.aborted === true) stop();
      this.#end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
      };
    });
    this.passed.catch(() => undefined);
  }

  /**
   * Returns the work's result. Rejects without waiting for the work when the time is over or the signal
   * aborts. Ends the deadline.
   */
  race<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([work, this.passed]).finally(() => this.end());
  }

  /** Starts the time anew. It needs no timer, so that it may be called often. */
  touch(): void {
    this.#touchedMs = Date.now();
  }

  /** Clears the timer. Idempotent. */
  end(): void {
    this.#end();
  }
}

/** Returns the result of work that must settle in time. `signal` ends the time early. */
export function withTimeLimit<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const error = () => new Error(`There was no answer within ${ms} ms.`);
  const limit = new Deadline(ms, { error, signal });
  return limit.race(work(limit.signal));
}

/** Returns the same result. Rejects with the signal's reason, without waiting, once the signal aborts. */
export function unlessAborted<Result>(
  result: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    void result.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
