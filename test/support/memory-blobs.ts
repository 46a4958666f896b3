import * as blobs from "../../src/store/bytes/blobs.ts";
import { copyOf, joinBytes } from "../../src/value/bytes.ts";

/** Objects in the memory of this process. An upload holds all of its bytes. */
export class MemoryBlobs implements blobs.Blobs {
  /** Every range that was read, oldest first. Empty ranges are not listed. */
  readonly reads: { readonly key: string; readonly from: number; readonly to: number }[] = [];
  readonly #objects = new Map<string, Uint8Array>();

  async put(key: string, bytes: Uint8Array): Promise<void> {
    this.#objects.set(key, copyOf(bytes));
  }

  async upload(key: string): Promise<blobs.BlobUpload> {
    let pieces: Uint8Array[] | undefined = [];
    const written = () => {
      if (pieces === undefined) throw blobs.uploadIsOver(key);
      return pieces;
    };
    const abort = async () => void (pieces = undefined);
    const complete = async () => this.put(key, joinBytes(written())).then(abort);
    return { write: async (bytes) => void written().push(copyOf(bytes)), complete, abort };
  }

  async read(key: string, from: number, to: number): Promise<Uint8Array> {
    if (from === to) return new Uint8Array();
    this.reads.push({ key, from, to });
    const object = this.#objects.get(key);
    if (object === undefined) throw blobs.missing();
    if (from < 0 || from > to || to > object.length)
      throw blobs.unreadable(key, { from, to }, `It has ${object.length} bytes.`);
    return object.slice(from, to);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.#objects.delete(key);
  }

  async list(prefix: string): Promise<readonly string[]> {
    return [...this.#objects.keys()].filter((key) => key.startsWith(prefix));
  }
}
