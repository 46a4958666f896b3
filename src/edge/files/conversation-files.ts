import { ByrefError } from "../../errors.ts";
import type { Visibility } from "../../store/variable.ts";
import { filePathIn } from "../../tool/files.ts";
import { requireRoom, infoOf, metadataOf } from "../platform/r2-files.ts";
import { R2Upload } from "../platform/r2-blobs.ts";
import type { FilePage, FileSummary } from "./file-page.ts";
import type { StoredBytes } from "../variables/serve-value.ts";

/** A file that can be read. A read rejects with `conflict` if the file has changed. */
export interface StoredFile extends FileSummary {
  readonly open: StoredBytes;
}

interface Upload {
  readonly mediaType: string;
  readonly visibility: Visibility;
}

/** A conversation's folder in the bucket, as its endpoints read and write it. Paths throw `bad_path`. */
export class ConversationFiles {
  readonly #bucket: R2Bucket;
  readonly #folder: string;

  /** `prefix`: the start of all keys of the conversation. */
  constructor(bucket: R2Bucket, prefix: string) {
    this.#bucket = bucket;
    this.#folder = `${prefix}files/`;
  }

  /** Lists files in the order of their paths in UTF-8. */
  async page({ after, limit }: { after?: string | undefined; limit: number }): Promise<FilePage> {
    const found = await this.#bucket.list({
      prefix: this.#folder,
      limit,
      include: ["httpMetadata", "customMetadata"],
      ...(after === undefined ? {} : { startAfter: `${this.#folder}${after}` }),
    });
    const files = found.objects.map((object) => this.#summaryOf(object));
    const next = found.truncated ? files.at(-1)?.path : undefined;
    return { files, ...(next === undefined ? {} : { next }) };
  }

  async find(path: string): Promise<StoredFile | undefined> {
    const key = this.#keyOf(path);
    const head = await this.#bucket.head(key);
    if (head === null) return undefined;
    const read = async (from: number, to: number) => {
      if (from === to) return new Uint8Array();
      const range = { offset: from, length: to - from };
      const object = await this.#bucket.get(key, { range, onlyIf: { etagMatches: head.etag } });
      if (object !== null && "body" in object) return object.bytes();
      throw new ByrefError("conflict", `${path} changed while it was read; try again.`);
    };
    const open = { info: { bytes: head.size }, read, close: () => undefined };
    return { ...this.#summaryOf(head), open };
  }

  /** Begins a file of the caller's. It is visible when the upload is complete. */
  upload(path: string, { mediaType, visibility }: Upload): R2Upload {
    return new R2Upload(this.#bucket, this.#keyOf(path), {
      httpMetadata: { contentType: mediaType },
      customMetadata: metadataOf({ visibility, sources: ["caller"] }),
    });
  }

  async delete(path: string): Promise<void> {
    await this.#bucket.delete(this.#keyOf(path));
  }

  /** Throws `limit_exceeded` if a file of this size does not fit beside the others. */
  requireRoom(path: string, bytes: number): Promise<void> {
    return requireRoom(this.#bucket, this.#folder, { key: this.#keyOf(path), bytes });
  }

  #summaryOf(object: R2Object): FileSummary {
    const { key, size, version, uploaded, httpMetadata } = object;
    return {
      path: key.slice(this.#folder.length),
      bytes: size,
      mediaType: httpMetadata?.contentType ?? "application/octet-stream",
      // R2's own etag is the same for the same bytes of another media type.
      etag: `"${version}"`,
      modified: uploaded.toISOString(),
      visibility: infoOf(object).labels.visibility,
    };
  }

  #keyOf(path: string): string {
    return `${this.#folder}${filePathIn(path)}`;
  }
}
