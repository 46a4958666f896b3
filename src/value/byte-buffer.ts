const BLOCK_BYTES = 262_144;

/**
 * Bytes that come one after the other, in blocks: however small the pieces are, they cost no more, and none
 * is copied again. What comes when there is no room is counted, and not held.
 */
export class ByteBuffer {
  readonly #maxBytes: number;
  readonly #blocks: Uint8Array[] = [];
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
    if (this.size + bytes.length > this.#maxBytes) {
      this.#lost += bytes.length;
      return;
    }
    for (let rest = bytes; rest.length > 0;) {
      const at = this.#held % BLOCK_BYTES;
      const taken = rest.subarray(0, BLOCK_BYTES - at);
      this.#blockOf(this.#held).set(taken, at);
      this.#held += taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  /** Forgets what came behind the first so many, which must be held. */
  cut(size: number): void {
    this.#held = size;
    this.#lost = 0;
  }

  /** What is held, as a decoder reads it. By default, what is not UTF-8 becomes U+FFFD. */
  text(utf8 = new TextDecoder()): string {
    let text = "";
    for (let at = 0; at < this.#held; at += BLOCK_BYTES) {
      text += utf8.decode(this.#blockOf(at).subarray(0, this.#held - at), { stream: true });
    }
    return text + utf8.decode();
  }

  #blockOf(at: number): Uint8Array {
    return (this.#blocks[Math.floor(at / BLOCK_BYTES)] ??= new Uint8Array(BLOCK_BYTES));
  }
}
