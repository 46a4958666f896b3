/** Lets any number of readers wait until there is something new. */
export class News {
  #waiting: ((isNews: boolean) => void)[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;

  /** Resolves to true when there is something new, and to false after at most `patienceMs`. */
  wait(patienceMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // One timer serves all and keeps running: news may arrive faster than timers can be created.
      this.#timer ??= setInterval(() => this.#tick(), patienceMs);
    });
  }

  /** Resolves all that wait to true. */
  announce(): void {
    this.#resolve(true);
  }

  /** The same for the last news. */
  end(): void {
    this.announce();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    if (this.#waiting.length === 0) this.end();
    this.#resolve(false);
  }

  #resolve(isNews: boolean): void {
    for (const resolve of this.#waiting.splice(0)) resolve(isNews);
  }
}
