import { compact } from "../../value/json.ts";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { Blobs, BlobUpload } from "./blobs.ts";
import type { Chunks } from "./chunks.ts";
import { type Body, Content, isStored, type StoredBody } from "./content.ts";
import type { Rows } from "../rows/rows.ts";

/** The bucket, if one is bound, and what every key of this conversation starts with. */
export interface Bucket {
  readonly blobs: Blobs;
  readonly prefix: string;
}

/**
 * The bytes of values that do not fit into their rows: in chunk rows, or in the bucket. Each body has an
 * id that is used once, and never changes; a variable's row names it. What no row names is garbage, known
 * as such in the same SQLite (`garbage.ts`), so that a crash leaves something to sweep and never half a
 * value.
 */
export class Bodies {
  readonly #rows: Rows;
  readonly #bucket: Bucket | undefined;
  readonly #newId: () => string;
  /** Bodies in the garbage that somebody writes or is about to commit. */
  readonly #wanted = new Set<string>();
  /** How many read a body; it may come to be garbage meanwhile. */
  readonly #readers = new Map<string, number>();

  constructor(rows: Rows, bucket: Bucket | undefined, newId: () => string) {
    this.#rows = rows;
    this.#bucket = bucket;
    this.#newId = newId;
  }

  /** Bytes of a stream that are held before it goes to chunk rows or, if there is one, to the bucket. */
  get maxHeldBytes(): number {
    return this.#bucket === undefined ? limits.maxChunkBytes : limits.maxChunkedBytes;
  }

  /** Is the content in memory, and should it lie in the bucket? */
  belongsInBucket({ about, body }: Content): boolean {
    if (this.#bucket === undefined || isStored(body)) return false;
    const isBytes = about.type === "bytes";
    return about.bytes > (isBytes ? limits.maxRowBytes : limits.maxChunkedBytes);
  }

  /** The content with its bytes in the bucket; to be claimed or dropped. */
  async toBucket(content: Content): Promise<Content> {
    const body = this.begin("r2");
    try {
      const { blobs, prefix } = this.#requireBucket();
      await blobs.put(prefix + body.id, bytesOf(content.body));
    } catch (error) {
      this.drop(body);
      throw error;
    }
    return new Content({
      about: content.about,
      marks: content.marks,
      body,
      ...compact({ value: content.value }),
    });
  }

  /** A new body, kept until it is dropped. */
  begin(location: StoredBody["location"]): StoredBody {
    const body = { location, id: this.#newId() };
    this.keep(body);
    this.#rows.garbage.add(body);
    return body;
  }

  /** A body of unknown length, as it comes; to be claimed or dropped when it is complete. */
  async write(): Promise<BodyWriter> {
    const body = this.begin(this.#bucket === undefined ? "chunks" : "r2");
    try {
      const sink =
        this.#bucket === undefined
          ? new ChunkSink(this.#rows.chunks, body.id)
          : await this.#bucket.blobs.upload(this.#bucket.prefix + body.id);
      return this.#writerTo(sink, body);
    } catch (error) {
      this.drop(body);
      throw error;
    }
  }

  #writerTo(sink: BlobUpload, body: StoredBody): BodyWriter {
    return {
      write: (bytes) => sink.write(bytes),
      complete: async () => {
        await sink.complete();
        return body;
      },
      abort: async () => {
        await sink.abort();
        this.drop(body);
      },
    };
  }

  /**
   * In the transaction that writes the row which names it: the body is garbage no more. Throws `bad_value`
   * for a body that another row names, or that was swept.
   */
  claim(body: StoredBody): void {
    if (!this.#rows.garbage.has(body.id)) {
      const message = "What arrived as a stream can be saved once, and soon; send it again.";
      throw new ByrefError("bad_value", message);
    }
    this.#rows.garbage.remove(body.id);
  }

  /** Somebody is about to commit it: it is not swept until it is dropped. */
  keep(body: StoredBody): void {
    this.#wanted.add(body.id);
  }

  /** Nobody is about to commit it any more: what is in the garbage then may be swept. Twice is once. */
  drop(body: StoredBody): void {
    this.#wanted.delete(body.id);
  }

  /** In the transaction that writes the row: content from memory as chunk rows. */
  toChunks(bytes: string | Uint8Array): StoredBody {
    const body: StoredBody = { location: "chunks", id: this.#newId() };
    this.#rows.chunks.write(body.id, 0, bytesOf(bytes));
    return body;
  }

  /** In the transaction that removes the row which named it. */
  release(body: Body): void {
    if (!isStored(body)) return;
    if (body.location === "chunks" && !this.#isInUse(body)) this.#rows.chunks.remove(body.id);
    else this.#rows.garbage.add(body);
  }

  /** Keeps the body from being swept until what is returned is called. */
  hold(body: Body): () => void {
    if (!isStored(body)) return () => undefined;
    const { id } = body;
    this.#readers.set(id, (this.#readers.get(id) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.#leave(id);
      isHeld = false;
    };
  }

  /** The bytes from `from` to before `to`, for the caller alone; a row's are there already. */
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

  /** Removes what is not in use; true if nothing is left. */
  async sweep(): Promise<boolean> {
    const bodies = this.#rows.garbage.all().filter((body) => !this.#isInUse(body));
    const inBucket = bodies.filter(({ location }) => location === "r2");
    if (inBucket.length > 0) {
      const { blobs, prefix } = this.#requireBucket();
      await blobs.delete(inBucket.map(({ id }) => prefix + id));
    }
    this.#rows.transaction(() => {
      for (const { location, id } of bodies) {
        if (location === "chunks") this.#rows.chunks.remove(id);
        this.#rows.garbage.remove(id);
      }
    });
    return !this.hasGarbage();
  }

  #isInUse({ id }: StoredBody): boolean {
    return this.#wanted.has(id) || this.#readers.has(id);
  }

  #leave(id: string): void {
    const others = (this.#readers.get(id) ?? 0) - 1;
    if (others > 0) this.#readers.set(id, others);
    else this.#readers.delete(id);
  }

  #requireBucket(): Bucket {
    if (this.#bucket !== undefined) return this.#bucket;
    const message = "A value lies in a bucket that is not bound any more: bind BLOBS again.";
    throw new ByrefError("bad_configuration", message);
  }
}

/** One body in the making. One call at a time. */
export interface BodyWriter {
  /** The bytes may be used again when it resolves. */
  write(bytes: Uint8Array): Promise<void>;
  complete(): Promise<StoredBody>;
  /** What was written is garbage. */
  abort(): Promise<void>;
}

/** Chunk rows as an upload: a row for each `maxChunkBytes`, each committed on its own. */
class ChunkSink implements BlobUpload {
  readonly #chunks: Chunks;
  readonly #id: string;
  readonly #held = new Uint8Array(limits.maxChunkBytes);
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

/** Fewer bytes than there should be would be half a value. */
function whole(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes;
  throw new ByrefError("internal", `A value has ${bytes.length} bytes here instead of ${length}.`);
}
