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

/** A shared value that is loaded from the server while components use it. */
export class Loaded<Value> extends Shared<Value> {
  readonly #load: (before: Value) => Promise<Value>;
  #isOld = true;
  #isLoading = false;

  /** `load` returns the value. It must not throw. */
  constructor(
    initial: Value,
    onUse: (isUsed: boolean) => void,
    load: (before: Value) => Promise<Value>,
  ) {
    super(initial, onUse);
    this.#load = load;
  }

  /** Loads the value again, or when it is used again. Calls during a load become one more, after a short pause. */
  readonly renew = (): void => {
    this.#isOld = true;
    this.refresh();
  };

  /** Loads the value if it is used, and old or not loaded. */
  refresh(): void {
    if (!this.#isLoading) void this.#loadWhileOld();
  }

  async #loadWhileOld(): Promise<void> {
    this.#isLoading = true;
    while (this.#isOld && this.isUsed) {
      this.#isOld = false;
      this.set(await this.#load(this.read()));
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
    this.#isLoading = false;
  }
}
