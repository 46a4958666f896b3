/** Holds bytes in blocks, so that many small pieces take no more memory than their bytes. */
export class HeldBytes {
  #blocks: Uint8Array[] = [];
  /** The end of the last block. */
  #free = new Uint8Array();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    for (let rest = bytes; rest.length > 0;) {
      if (this.#free.length === 0) this.#addBlock();
      const part = rest.subarray(0, this.#free.length);
      this.#free.set(part);
      this.#free = this.#free.subarray(part.length);
      this.#length += part.length;
      rest = rest.subarray(part.length);
    }
  }

  /** The first bytes, 4 KiB at most. */
  start(): Uint8Array {
    return this.#blocks[0]?.subarray(0, this.#length) ?? new Uint8Array();
  }

  /** Yields all bytes and releases each block after it. Call `append` only when it has ended. */
  *take(): Generator<Uint8Array, undefined> {
    this.#free = new Uint8Array();
    const blocks = this.#blocks;
    this.#blocks = [];
    for (let block = blocks.shift(); block !== undefined; block = blocks.shift()) {
      yield block.subarray(0, this.#length);
      this.#length -= Math.min(block.length, this.#length);
    }
    return undefined;
  }

  #addBlock(): void {
    const bytes = Math.min(Math.max(this.#length, FIRST_BYTES), BLOCK_BYTES);
    this.#free = new Uint8Array(bytes);
    this.#blocks.push(this.#free);
  }
}

const FIRST_BYTES = 4_096;
const BLOCK_BYTES = 65_536;
