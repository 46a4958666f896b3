import type { Json } from "../value/json.ts";

export interface Cached {
  readonly value: Json;
  readonly expiresAtMs: number | undefined;
}

/** Parsed, frozen values, least recently used ones dropped first; bounded by their stored bytes. */
export class ValueCache {
  readonly #values = new Map<string, { readonly cached: Cached; readonly bytes: number }>();
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(name: string): Cached | undefined {
    const entry = this.#values.get(name);
    if (entry === undefined) return undefined;
    this.#values.delete(name);
    this.#values.set(name, entry);
    return entry.cached;
  }

  set(name: string, cached: Cached, bytes: number): void {
    this.delete(name);
    if (bytes > this.#maxBytes) return;
    this.#values.set(name, { cached, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
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
