import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";

/** Runs tasks one after the other, in the order of arrival; a failed task does not stop the next. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Tasks that run or wait. */
  get length(): number {
    return this.#waiting;
  }

  /** Resolves when none runs or waits. */
  async idle(): Promise<void> {
    for (let tail; tail !== this.#tail;) {
      tail = this.#tail;
      await tail;
    }
  }

  /** Throws `too_many_turns` at once if as many as may wait do. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#waiting > limits.maxQueuedTurns) {
      const message = `A conversation answers one message at a time and ${limits.maxQueuedTurns} are waiting; try again later.`;
      throw new ByrefError("too_many_turns", message);
    }
    this.#waiting++;
    const run = this.#tail.then(task).finally(() => {
      this.#waiting--;
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }
}
