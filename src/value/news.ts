/** Lets any number of readers wait until there is something new. */
export class News {
  #waiting: readonly Waiting[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Resolves to true when there is something new, and to false after one to two times `patienceMs`. */
  wait(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting = [...this.#waiting, { resolve, isLate: false }];
      // One timer serves all and keeps running: news may arrive faster than timers can be created.
      this.#timer ??= setInterval(() => this.#tick(), patienceMs);
    });
  }

  /** Resolves all that wait to true. */
  announce(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { resolve } of waiting) resolve(true);
  }

  /** The same for the last news. */
  end(): void {
    this.announce();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Resolves those that have waited for a whole tick to false. */
  #tick(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return this.end();
    this.#waiting = waiting.flatMap((one) => (one.isLate ? [] : [{ ...one, isLate: true }]));
    for (const { resolve, isLate } of waiting) if (isLate) resolve(false);
  }
}

interface Waiting {
  readonly resolve: (isNews: boolean) => void;
  /** True after one whole tick. */
  readonly isLate: boolean;
}
