import { ByrefError, failingAs } from "../errors.ts";

const BLOCK_BYTES = 65_536;

/**
 * Collects bytes in blocks, so that small pieces take no more memory than large ones and no byte is copied
 * twice. A piece that exceeds the limit, and every later piece, is counted and dropped.
 */
export class ByteBuffer {
  readonly #maxBytes: number;
  readonly #blocks: Uint8Array[] = [];
  #held = 0;
  #lost = 0;

  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes received, dropped ones included. */
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

  /** Keeps the first `size` bytes, which must be held, and forgets the others. */
  cut(size: number): void {
    this.#held = size;
    this.#lost = 0;
  }

  /** Yields all held bytes and releases each block after it, except the first: its view is valid until `add`. */
  *take(): Generator<Uint8Array, undefined> {
    let left = this.#held;
    this.cut(0);
    const rest = this.#blocks.splice(1);
    for (let block = this.#blocks[0]; block !== undefined && left > 0; block = rest.shift()) {
      yield block.subarray(0, left);
      left -= Math.min(block.length, left);
    }
    return undefined;
  }

  /** Decodes all held bytes, a byte order mark too, and releases them. Throws `bad_json` if they are not UTF-8. */
  takeText(notUtf8 = "The body is not UTF-8; send it in UTF-8."): string {
    const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const decode = () => {
      let text = "";
      for (const block of this.take()) text += utf8.decode(block, { stream: true });
      return text + utf8.decode();
    };
    return failingAs(decode, () => new ByrefError("bad_json", notUtf8));
  }

  #blockOf(at: number): Uint8Array {
    return (this.#blocks[Math.floor(at / BLOCK_BYTES)] ??= new Uint8Array(BLOCK_BYTES));
  }
}
