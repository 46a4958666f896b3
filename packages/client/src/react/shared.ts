/** A value that components subscribe to, as `useSyncExternalStore` wants it. */
export class Shared<Value> {
  #value: Value;
  readonly #listeners = new Set<() => void>();
  readonly #onUse: (isUsed: boolean) => void;

  /** `onUse` is called when the first component subscribes, and when the last one is gone. */
  constructor(initial: Value, onUse: (isUsed: boolean) => void) {
    this.#value = initial;
    this.#onUse = onUse;
  }

  get isUsed(): boolean {
    return this.#listeners.size > 0;
  }

  readonly read = (): Value => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#onUse(true);
    return () => {
      if (this.#listeners.delete(listener) && !this.isUsed) this.#onUse(false);
    };
  };

  set(value: Value): void {
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}

const PAUSE_MS = 100;

/**
 * Calls the work at once. Calls while it runs become one more, after a short pause, if it is still needed then.
 * The work must not throw.
 */
export function coalesced(work: () => Promise<void>): (isNeeded?: () => boolean) => void {
  const asked: (() => boolean)[] = [];
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (asked.length > 0) {
      if (!asked.splice(0).some((isNeeded) => isNeeded())) continue;
      await work();
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
    isRunning = false;
  };
  return (isNeeded = () => true) => {
    asked.push(isNeeded);
    if (!isRunning) void run();
  };
}
