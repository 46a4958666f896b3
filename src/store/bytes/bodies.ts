import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Blobs, BlobUpload } from "./blobs.ts";
import type { Chunks, Rows } from "../rows/rows.ts";
import { type Body, Content, isStored, type Stored, type StoredBody, storedOf } from "./content.ts";

/** A bound bucket, and the prefix of every key of this conversation. */
export interface Bucket {
  readonly blobs: Blobs;
  readonly prefix: string;
}

/**
 * Stores the bytes of values that do not fit into their rows: in chunk rows, or in the bucket. Each body
 * has a unique id and never changes; a variable's row refers to it. Bodies without a row are recorded as
 * garbage in the same SQLite (`Rows`), so that a crash leaves bytes to sweep but never a partial
 * value.
 */
export class Bodies {
  readonly #rows: Rows;
  readonly #bucket: Bucket | undefined;
  readonly #newId: () => string;
  /** Ids of garbage bodies that are being written or about to be committed. */
  readonly #kept = new Set<string>();
  /** Ids of garbage bodies that are being deleted, or may be after a failure. They cannot be saved. */
  readonly #swept = new Set<string>();
  /** The bodies that are being read, which may become garbage meanwhile: one for each reader. */
  readonly #readers = new Set<Pick<StoredBody, "id">>();

  constructor(rows: Rows, bucket: Bucket | undefined, newId: () => string) {
    this.#rows = rows;
    this.#bucket = bucket;
    this.#newId = newId;
  }

  /**
   * Bytes of a stream that are held in memory before the stream is written to the bucket or, without one,
   * to chunk rows.
   */
  get maxHeldBytes(): number {
    return this.#bucket === undefined ? limits.maxRecordBytes : limits.maxChunkedBytes;
  }

  /** Stores bytes that are in memory in the bucket, if they are many and there is one. Place or drop the body. */
  async toBucket(content: Content): Promise<Content> {
    const { about } = content;
    const most = about.type === "bytes" ? limits.maxRowBytes : limits.maxChunkedBytes;
    if (this.#bucket === undefined || isStored(content.body) || about.bytes <= most) return content;
    const body = this.begin("r2");
    try {
      const { blobs, prefix } = this.#bucket;
      await blobs.put(prefix + body.id, bytesOf(content.body));
    } catch (error) {
      this.drop(body);
      throw error;
    }
    return new Content({ ...content, body });
  }

  /** Begins a new body, protected from the sweep until it is dropped. */
  begin(location: StoredBody["location"]): StoredBody {
    const body = { location, id: this.#newId() };
    this.keep(body);
    this.#rows.garbage.put({ id: body.id }, body);
    return body;
  }

  /** Begins a body of unknown length. Place it when its upload is complete, or drop it. */
  async upload(): Promise<StartedBody> {
    const bucket = this.#bucket;
    const body = this.begin(bucket === undefined ? "chunks" : "r2");
    try {
      const upload =
        bucket === undefined
          ? new ChunkSink(this.#rows.chunks, body.id)
          : await bucket.blobs.upload(bucket.prefix + body.id);
      return { body, upload };
    } catch (error) {
      this.drop(body);
      throw error;
    }
  }

  /** Removes the body from the garbage. Throws `bad_value` if another row refers to it, or if it was swept. */
  #claim(body: StoredBody): void {
    if (this.#swept.has(body.id) || this.#rows.garbage.get({ id: body.id }) === undefined) {
      const message = "A streamed value can be saved once, and soon; send it again.";
      throw new ByrefError("bad_value", message);
    }
    this.#rows.garbage.remove({ id: body.id });
  }

  /** Protects a body that is about to be committed from the sweep until it is dropped. */
  keep(body: StoredBody): void {
    this.#kept.add(body.id);
  }

  /** Ends the protection of `keep`. A body in the garbage may then be swept. Idempotent. */
  drop(body: StoredBody): void {
    this.#kept.delete(body.id);
  }

  /**
   * Returns what a row has of the content: its bytes, if they fit, else they are stored as chunk rows. A body that is
   * stored already is claimed. Call it in the transaction that writes the row.
   */
  place(content: Content): Stored {
    const stored = storedOf(content);
    if (isStored(stored.body)) this.#claim(stored.body);
    if (isStored(stored.body) || stored.bytes <= limits.maxRowBytes) return stored;
    const body: StoredBody = { location: "chunks", id: this.#newId() };
    this.#rows.chunks.write(body.id, 0, bytesOf(stored.body));
    return { ...stored, body };
  }

  /** Releases a body. Call it in the transaction that removes the row that refers to it. */
  release(body: Body): void {
    if (!isStored(body)) return;
    const isFree = body.location === "chunks" && !this.#inUse().has(body.id);
    if (isFree) this.#rows.chunks.remove(body.id);
    else this.#rows.garbage.put({ id: body.id }, body);
  }

  /** Protects the body from the sweep until the returned function is called. */
  hold(body: Body): () => void {
    if (!isStored(body)) return () => undefined;
    const reader = { id: body.id };
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  /**
   * Reads the bytes from `from` up to, but not including, `to`. Bytes of a row are in memory already. The
   * result is the caller's own.
   */
  async read(body: Body, from: number, to: number): Promise<Uint8Array> {
    if (!isStored(body)) return whole(bytesOf(body).slice(from, to), to - from);
    if (body.location === "chunks")
      return whole(this.#rows.chunks.read(body.id, from, to), to - from);
    const { blobs, prefix } = this.#requireBucket();
    return blobs.read(prefix + body.id, from, to);
  }

  hasGarbage(): boolean {
    return this.#rows.garbage.all().length > 0;
  }

  /** Deletes garbage that is not in use. True if none is left. */
  async sweep(): Promise<boolean> {
    const inUse = this.#inUse();
    const bodies = this.#rows.garbage.all().filter(({ id }) => !inUse.has(id));
    const inBucket = bodies.filter(({ location }) => location === "r2");
    if (inBucket.length > 0) {
      const { blobs, prefix } = this.#requireBucket();
      for (const { id } of bodies) this.#swept.add(id);
      await blobs.delete(inBucket.map(({ id }) => prefix + id));
    }
    this.#rows.transaction(() => {
      for (const { location, id } of bodies) {
        if (location === "chunks") this.#rows.chunks.remove(id);
        this.#rows.garbage.remove({ id });
      }
    });
    for (const { id } of bodies) this.#swept.delete(id);
    return !this.hasGarbage();
  }

  #inUse(): ReadonlySet<string> {
    return new Set([...this.#kept, ...Array.from(this.#readers, ({ id }) => id)]);
  }

  #requireBucket(): Bucket {
    if (this.#bucket !== undefined) return this.#bucket;
    const message = "The value is in a bucket that is no longer bound: bind BLOBS again.";
    throw new ByrefError("bad_configuration", message);
  }
}

/** A body whose bytes are being written. */
export interface StartedBody {
  readonly body: StoredBody;
  readonly upload: BlobUpload;
}

/** Writes chunk rows as an upload: one row for each `maxRecordBytes`, each committed on its own. */
class ChunkSink implements BlobUpload {
  readonly #chunks: Chunks;
  readonly #id: string;
  readonly #held = new Uint8Array(limits.maxRecordBytes);
  #heldBytes = 0;
  #written = 0;

  constructor(chunks: Chunks, id: string) {
    this.#chunks = chunks;
    this.#id = id;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let offset = 0; offset < bytes.length;) {
      const piece = bytes.subarray(offset, offset + this.#held.length - this.#heldBytes);
      this.#held.set(piece, this.#heldBytes);
      this.#heldBytes += piece.length;
      offset += piece.length;
      if (this.#heldBytes === this.#held.length) this.#flush();
    }
  }

  async complete(): Promise<void> {
    this.#flush();
  }

  async abort(): Promise<void> {
    this.#heldBytes = 0;
  }

  #flush(): void {
    this.#chunks.write(this.#id, this.#written, this.#held.subarray(0, this.#heldBytes));
    this.#written += this.#heldBytes;
    this.#heldBytes = 0;
  }
}

function bytesOf(body: Body): Uint8Array {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (isStored(body)) throw new ByrefError("internal", "The bytes are not in memory.");
  return body;
}

/** Throws if bytes are missing, because the value would be incomplete. */
function whole(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes;
  throw new ByrefError("internal", `A value has ${bytes.length} bytes here instead of ${length}.`);
}
