import type { Json } from "../value/json.ts";

/** A cache of parsed, frozen values, bounded by their stored bytes. The least recently used are dropped first. */
export class ValueCache {
  readonly #values = new Map<string, { readonly value: Json; readonly bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): Json | undefined {
    const entry = this.#values.get(name);
    if (entry === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, entry);
    return entry.value;
  }

  set(name: string, value: Json, bytes: number): void {
    this.delete(name);
    if (bytes > this.#maxBytes) return;
    this.makeRoom(bytes);
    this.#values.set(name, { value, bytes });
    this.#bytes += bytes;
  }

  /** Drops the entries that a value of this size would displace, before that value is in memory too. */
  makeRoom(bytes: number): void {
    for (const oldest of this.#values.keys()) {
      if (this.#bytes + bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(name: string): void {
    const entry = this.#values.get(name);
    if (entry === undefined) return;
    this.#bytes -= entry.bytes;
    this.#values.delete(name);
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }
}
