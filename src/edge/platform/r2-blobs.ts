import { messageOf } from "../../errors.ts";
import * as limits from "../../limits.ts";
import {
  type Blobs,
  type BlobUpload,
  missing,
  unreadable,
  uploadIsOver,
} from "../../store/bytes/blobs.ts";
import type { Bounds } from "../../value/path.ts";

/** R2's limit for one call. */
const MAX_DELETED_KEYS = 1_000;

/** The prefix of the keys of deleted objects that are kept. */
const DELETED = "deleted/";

/** Blobs in an R2 bucket, which may be shared: it touches only the given keys, and those with `deleted/` before them. */
export class R2Blobs implements Blobs {
  readonly #bucket: R2Bucket;
  readonly #keepsDeleted: () => boolean;

  /** `keepsDeleted`: true if deleted objects are copied to `deleted/`, from where a read copies them back. */
  constructor(bucket: R2Bucket, keepsDeleted: () => boolean = () => false) {
    this.#bucket = bucket;
    this.#keepsDeleted = keepsDeleted;
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    await this.#bucket.put(key, bytes);
  }

  async upload(key: string): Promise<BlobUpload> {
    return new R2Upload(this.#bucket, key);
  }

  async read(key: string, from: number, to: number): Promise<Uint8Array> {
    if (from === to) return new Uint8Array();
    const range = { from, to };
    const bytes = await this.#bytesIn(key, range).catch((error: unknown) => {
      throw unreadable(key, range, messageOf(error));
    });
    if (bytes === undefined) throw missing();
    // R2 returns fewer bytes for a range that ends beyond the object.
    if (bytes.length !== to - from)
      throw unreadable(key, range, `It has ${from + bytes.length} bytes.`);
    return bytes;
  }

  async delete(keys: readonly string[]): Promise<void> {
    if (this.#keepsDeleted()) for (const key of keys) await this.#copy(key, DELETED + key);
    for (let start = 0; start < keys.length; start += MAX_DELETED_KEYS)
      await this.#bucket.delete(keys.slice(start, start + MAX_DELETED_KEYS));
  }

  async list(prefix: string): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const page of pagesOf(this.#bucket, prefix)) {
      keys.push(...page.map(({ key }) => key));
    }
    return keys;
  }

  async #bytesIn(key: string, { from, to }: Bounds): Promise<Uint8Array | undefined> {
    const range = { offset: from, length: to - from };
    const object = await this.#bucket.get(key, { range });
    if (object !== null) return object.bytes();
    return (await this.#copy(DELETED + key, key)) ? this.#bytesIn(key, { from, to }) : undefined;
  }

  /** Returns false if there is no such object. */
  async #copy(from: string, to: string): Promise<boolean> {
    const object = await this.#bucket.get(from);
    if (object !== null) await this.#bucket.put(to, object.body);
    return object !== null;
  }
}

/** The objects whose keys have the prefix, page by page. */
export async function* pagesOf(
  bucket: R2Bucket,
  prefix: string,
): AsyncGenerator<readonly R2Object[], undefined> {
  for (let page = await bucket.list({ prefix }); ;) {
    yield page.objects;
    if (!page.truncated) return undefined;
    page = await bucket.list({ prefix, cursor: page.cursor });
  }
}

/**
 * Uploads a small object with one `put`, a larger one with a multipart upload, whose parts all have one size
 * except the last.
 */
export class R2Upload implements BlobUpload {
  readonly #bucket: R2Bucket;
  readonly #key: string;
  readonly #options: R2MultipartOptions | undefined;
  readonly #sent: R2UploadedPart[] = [];
  #multipart: R2MultipartUpload | undefined;
  #part = new Uint8Array();
  #heldBytes = 0;
  #isOver = false;

  constructor(bucket: R2Bucket, key: string, options?: R2MultipartOptions) {
    this.#bucket = bucket;
    this.#key = key;
    this.#options = options;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#requireOpen();
    try {
      for (let rest = bytes; rest.length > 0;) rest = rest.subarray(await this.#take(rest));
    } catch (error) {
      await this.abort();
      throw error;
    }
  }

  async complete(): Promise<void> {
    this.#requireOpen();
    this.#isOver = true;
    const last = this.#part.subarray(0, this.#heldBytes);
    try {
      if (this.#multipart === undefined) await this.#bucket.put(this.#key, last, this.#options);
      else {
        await this.#send(last);
        await this.#multipart.complete(this.#sent);
      }
    } catch (error) {
      await this.#discard();
      throw error;
    }
  }

  async abort(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#discard();
  }

  /**
   * Returns the number of bytes taken. A full part is held until another byte arrives, because it may be the
   * last.
   */
  async #take(bytes: Uint8Array): Promise<number> {
    const size = limits.maxChunkedBytes;
    if (this.#heldBytes === size) {
      await this.#send(this.#part);
      this.#heldBytes = 0;
    }
    if (this.#part.length === 0) this.#part = new Uint8Array(size);
    const taken = bytes.subarray(0, size - this.#heldBytes);
    this.#part.set(taken, this.#heldBytes);
    this.#heldBytes += taken.length;
    return taken.length;
  }

  async #send(part: Uint8Array): Promise<void> {
    this.#multipart ??= await this.#bucket.createMultipartUpload(this.#key, this.#options);
    this.#sent.push(await this.#multipart.uploadPart(this.#sent.length + 1, part));
  }

  async #discard(): Promise<void> {
    try {
      await this.#multipart?.abort();
    } catch {
      // R2 has ended the upload, or will.
    }
  }

  #requireOpen(): void {
    if (this.#isOver) throw uploadIsOver(this.#key);
  }
}
