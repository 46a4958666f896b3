import { joinBytes } from "./bytes.ts";
import { HeldBytes } from "./held-bytes.ts";

/** Collects the bytes of one line after the other, in memory that is used again for lines up to 1 MiB. */
export class LineBuffer {
  #bytes = new Uint8Array(0);
  #length = 0;
  /** The rest of a longer line. */
  readonly #rest = new HeldBytes();

  get length(): number {
    return this.#length + this.#rest.length;
  }

  append(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > KEPT_BYTES || this.#rest.length > 0) return this.#rest.append(bytes);
    if (length > this.#bytes.length) this.#grow(length);
    this.#bytes.set(bytes, this.#length);
    this.#length = length;
  }

  /** Returns bytes that are valid until the next `append`. */
  take(): Uint8Array {
    const start = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return joinBytes([start, ...this.#rest.take()]);
  }

  #grow(length: number): void {
    const grown = new Uint8Array(Math.max(length, Math.min(this.#bytes.length * 2, KEPT_BYTES)));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

const KEPT_BYTES = 1_048_576;
