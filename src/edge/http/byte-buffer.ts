const FIRST_BYTES = 4_096;

/**
 * Bytes that come one after the other, in one piece: however small the pieces are, they cost no more. What
 * comes when there is no room is counted, and not held.
 */
export class ByteBuffer {
  readonly #maxBytes: number;
  #bytes = new Uint8Array(FIRST_BYTES);
  #held = 0;
  #lost = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Of all that came; more than there is room for if some of it is not held. */
  get size(): number {
    return this.#held + this.#lost;
  }

  add(bytes: Uint8Array): void {
    const size = this.size + bytes.length;
    if (size > this.#maxBytes) {
      this.#lost += bytes.length;
      return;
    }
    if (size > this.#bytes.length) {
      const larger = new Uint8Array(
        Math.min(this.#maxBytes, Math.max(size, 2 * this.#bytes.length)),
      );
      larger.set(this.#bytes.subarray(0, this.#held));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#held);
    this.#held = size;
  }

  /** Forgets what came behind the first so many, which must be held. */
  cut(size: number): void {
    this.#held = size;
    this.#lost = 0;
  }

  /** What is held; what is no UTF-8 in it becomes U+FFFD. */
  text(): string {
    return new TextDecoder().decode(this.#bytes.subarray(0, this.#held));
  }
}
