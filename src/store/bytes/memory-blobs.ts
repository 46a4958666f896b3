import { joinBytes, copyOf } from "../../value/bytes.ts";
import { type Blobs, type BlobUpload, type ByteRange, unreadable, uploadIsOver } from "./blobs.ts";

export interface BlobRead extends ByteRange {
  readonly key: string;
}

/** Objects in the memory of this process, for tests. An upload holds all of its bytes. */
export class MemoryBlobs implements Blobs {
  readonly #objects = new Map<string, Uint8Array>();
  readonly #reads: BlobRead[] = [];

  /** Every range that was read, oldest first. Empty ranges are not listed. */
  get reads(): readonly BlobRead[] {
    return this.#reads;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    this.#objects.set(key, copyOf(bytes));
  }

  async upload(key: string): Promise<BlobUpload> {
    return new MemoryUpload(key, (bytes) => this.#objects.set(key, bytes));
  }

  async read(key: string, from: number, to: number): Promise<Uint8Array> {
    if (from === to) return new Uint8Array();
    this.#reads.push({ key, from, to });
    const object = this.#objects.get(key);
    if (object === undefined) throw unreadable(key, { from, to }, "It is not there.");
    if (from < 0 || from > to || to > object.length)
      throw unreadable(key, { from, to }, `It has ${object.length} bytes.`);
    return object.slice(from, to);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#objects.delete(key);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.#objects.keys()].filter((key) => key.startsWith(prefix));
  }
}

class MemoryUpload implements BlobUpload {
  readonly #key: string;
  readonly #show: (bytes: Uint8Array) => void;
  #pieces: Uint8Array[] = [];
  #isOver = false;

  constructor(key: string, show: (bytes: Uint8Array) => void) {
    this.#key = key;
    this.#show = show;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) throw uploadIsOver(this.#key);
    this.#pieces.push(copyOf(bytes));
  }

  async complete(): Promise<void> {
    if (this.#isOver) throw uploadIsOver(this.#key);
    this.#show(joinBytes(this.#end()));
  }

  async abort(): Promise<void> {
    this.#end();
  }

  /** Ends the upload and returns the bytes written so far. */
  #end(): readonly Uint8Array[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#isOver = true;
    return pieces;
  }
}
