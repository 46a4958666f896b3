/** Bound of what an agent keeps for each kind of thing that may never end. */
const MAX_RECENT = 1_000;

/** A map that forgets the entries that were used least recently, beyond a thousand. */
export class Recent<Value> {
  readonly #entries = new Map<string, Value>();

  get(key: string): Value | undefined {
    return this.#entries.get(key);
  }

  /** Returns the entry, which is now the latest; a new one if there is none. */
  use(key: string, make: () => Value): Value {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > MAX_RECENT && oldest !== undefined) this.#entries.delete(oldest);
    return value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
