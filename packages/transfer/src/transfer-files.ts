import { ByrefError, requireAtMost } from "../../../src/errors.ts";
import { type ConversationContext, R2Files, type appEnv } from "../../../src/internal-edge.ts";
import { toolFiles } from "../../../src/internal-tool.ts";
import { visibilityText } from "../../../src/internal.ts";
import type { TransferOf } from "./transfer-format.ts";

type FileRecord = TransferOf<"file">;

export interface ExportedFile {
  readonly record: FileRecord;
  /** Reads the bytes from `from` to before `to`. Rejects with `conflict` if the file has changed. */
  read(from: number, to: number): Promise<Uint8Array>;
}

/** Exports files from a conversation's folder in the bucket, and imports them into another one. */
export class TransferFiles {
  readonly #bucket: R2Bucket;
  readonly #folder: string;
  readonly #files: R2Files;

  /** `prefix`: the start of all keys of the conversation. */
  constructor(bucket: R2Bucket, prefix: string) {
    this.#bucket = bucket;
    this.#folder = `${prefix}files/`;
    this.#files = new R2Files(bucket, prefix);
  }

  /** Throws `limit_exceeded`. */
  async paths(): Promise<readonly string[]> {
    const paths = await this.#files.list("");
    requireFew(paths.length);
    return [...paths].sort();
  }

  /** Undefined for a file that no longer exists, and for a secret one. */
  async open(path: string): Promise<ExportedFile | undefined> {
    const info = await this.#files.info(path);
    const head = info === undefined ? null : await this.#bucket.head(this.#keyOf(path));
    if (head === null || info === undefined || info.labels.visibility === "secret")
      return undefined;
    const { addition } = info;
    const record: FileRecord = {
      type: "file",
      path,
      bytes: head.size,
      mediaType: head.httpMetadata?.contentType ?? "application/octet-stream",
      ...info.labels,
      sources: [...info.labels.sources],
      flags: [...(info.labels.flags ?? [])],
      ...(addition === undefined ? {} : { addition: { ...addition } }),
    };
    return {
      record,
      read: (from, to) => this.#read(path, info, { offset: from, length: to - from }),
    };
  }

  /** Writes all of the record's bytes. Rejects with the stream's error. */
  async write(record: FileRecord, body: ReadableStream<Uint8Array>): Promise<void> {
    const { path, bytes, mediaType, sources, trusted, addition } = record;
    const key = this.#keyOf(path);
    const { readable, writable } = new FixedLengthStream(bytes);
    const sent = body.pipeTo(writable);
    const put = this.#bucket.put(key, readable, {
      httpMetadata: { contentType: mediaType },
      customMetadata: {
        visibility: visibilityText(record),
        trusted: String(trusted),
        sources: JSON.stringify(sources),
        ...(addition === undefined ? {} : { addition: JSON.stringify(addition) }),
      },
    });
    const [outcome] = await Promise.allSettled([sent, put]);
    if (outcome.status === "rejected") throw outcome.reason;
    await put;
  }

  async #read(path: string, { version }: toolFiles.FileInfo, range: R2Range): Promise<Uint8Array> {
    const options = { range, onlyIf: { etagMatches: version } };
    const object = await this.#bucket.get(this.#keyOf(path), options);
    if (object !== null && "body" in object) return object.bytes();
    throw new ByrefError("conflict", `file:${path} was written in the meantime; try again.`);
  }

  #keyOf(path: string): string {
    return `${this.#folder}${toolFiles.filePathIn(path)}`;
  }
}

export function requireFew(actual: number): void {
  const advice = "Delete some of the conversation's files.";
  requireAtMost("maxFiles", actual, advice);
}

/** Undefined without a bucket. */
export function transferFilesOf({ env, prefix }: ConversationContext): TransferFiles | undefined {
  const { BLOBS: bucket }: Partial<appEnv.Bindings> = env;
  return bucket === undefined ? undefined : new TransferFiles(bucket, prefix);
}
