/** Collects the bytes of one line after the other, in memory that is used again. */
export class LineBuffer {
  readonly #maxBytes: number;
  #bytes = new Uint8Array(0);
  #length = 0;

  /** `maxBytes`: the length of the longest line, which the caller enforces. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** Returns a view that is valid until the next `append`. */
  take(): Uint8Array {
    const line = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    // Releases the memory of a long line before short ones follow.
    if (this.#bytes.length > KEPT_BYTES) this.#bytes = new Uint8Array(0);
    return line;
  }

  #grow(length: number): void {
    const doubled = Math.min(this.#bytes.length * 2, this.#maxBytes);
    const grown = new Uint8Array(Math.max(length, doubled));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

const KEPT_BYTES = 1_048_576;
