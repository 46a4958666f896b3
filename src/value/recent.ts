/** Bound of what is kept of a kind of thing that may never end. */
const MAX_ENTRIES = 1_000;

/** A map that forgets the entries that were stored least recently, beyond a maximum. */
export class Recent<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #max: number;

  constructor(max = MAX_ENTRIES) {
    this.#max = max;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  /** Stores the entry as the latest one. */
  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#max && oldest !== undefined) this.#entries.delete(oldest);
  }

  /** Returns the entry, which is now the latest; a new one if there is none. */
  use(key: string, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  delete(key: string): boolean {
    return this.#entries.delete(key);
  }
}
