import { START_MS } from "../support/turn.ts";

interface Timer {
  readonly dueMs: number;
  readonly work: () => void;
  readonly everyMs?: number;
}

/** A clock that advances only when told to, for `now` and for every timer set meanwhile. */
export class Clock {
  nowMs = START_MS;
  readonly #timers = new Map<number, Timer>();
  #ids = 0;

  /** Replaces the timers of this process. Returns a function that restores them. */
  install(): () => void {
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const set = (isRepeated: boolean) => (work: () => void, delayMs: number) => {
      const dueMs = this.nowMs + delayMs;
      this.#timers.set(++this.#ids, { dueMs, work, ...(isRepeated ? { everyMs: delayMs } : {}) });
      return this.#ids;
    };
    const clear = (id: number) => this.#timers.delete(id);
    Object.assign(globalThis, {
      setTimeout: set(false),
      setInterval: set(true),
      clearTimeout: clear,
      clearInterval: clear,
    });
    return () =>
      void Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
  }

  /** Advances to the next timer and fires it. Returns false if there is none. */
  skip(): boolean {
    const [next] = [...this.#timers].sort(([, one], [, other]) => one.dueMs - other.dueMs);
    if (next === undefined) return false;
    const [id, timer] = next;
    this.nowMs = Math.max(this.nowMs, timer.dueMs);
    this.#timers.delete(id);
    if (timer.everyMs !== undefined)
      this.#timers.set(id, { ...timer, dueMs: this.nowMs + timer.everyMs });
    timer.work();
    return true;
  }

  /** Drops the timers of an object that has died. */
  forget(): void {
    this.#timers.clear();
  }
}
