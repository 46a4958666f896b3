/** Bound of what is kept of a kind of thing that may never end. */
const MAX_ENTRIES = 1_000;

/** A map that forgets the entries that were used least recently, beyond a maximum size of all together. */
export class Recent<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly size: number }>();
  readonly #max: number;
  #size = 0;

  constructor(max = MAX_ENTRIES) {
    this.#max = max;
  }

  /** Returns the entry, which is now the latest. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Stores the entry as the latest one, unless it is larger than the maximum. */
  set(key: string, value: Value, size = 1): void {
    this.delete(key);
    if (size > this.#max) return;
    this.makeRoom(size);
    this.#entries.set(key, { value, size });
    this.#size += size;
  }

  /** Forgets the entries that one of this size would displace, before that is in memory too. */
  makeRoom(size: number): void {
    for (const oldest of this.#entries.keys()) {
      if (this.#size + size <= this.#max) return;
      this.delete(oldest);
    }
  }

  /** Returns the entry, which is now the latest; a new one if there is none. */
  use(key: string, make: () => Value): Value {
    const value = this.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  delete(key: string): boolean {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    return this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }
}
