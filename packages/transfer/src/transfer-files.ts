import { ByrefError, requireAtMost } from "../../../src/errors.ts";
import { R2Files, type appEnv, type contexts } from "../../../src/internal-edge.ts";
import { toolFiles } from "../../../src/internal-tool.ts";
import { visibilityText } from "../../../src/internal.ts";
import type { TransferOf } from "./transfer-format.ts";

type FileRecord = TransferOf<"file">;

interface ExportedFile {
  readonly record: FileRecord;
  /** Reads the bytes from `from` to before `to`. Rejects with `conflict` if the file has changed. */
  read(from: number, to: number): Promise<Uint8Array>;
}

export type TransferFiles = ReturnType<typeof filesIn>;

/**
 * Exports files from a conversation's folder in the bucket, and imports them into another one. `prefix`: the start of all
 * keys of the conversation.
 */
function filesIn(bucket: R2Bucket, prefix: string) {
  const files = new R2Files(bucket, prefix);
  const keyOf = (path: string) => `${prefix}files/${toolFiles.filePathIn(path)}`;
  return { paths, open, write };

  /** Throws `limit_exceeded`. */
  async function paths(): Promise<readonly string[]> {
    const listed = await files.list("");
    requireFew(listed.length);
    return [...listed].sort();
  }

  /** Undefined for a file that no longer exists, and for a secret one. */
  async function open(path: string): Promise<ExportedFile | undefined> {
    const info = await files.info(path);
    const head = info === undefined ? null : await bucket.head(keyOf(path));
    if (head === null || info === undefined || info.labels.visibility === "secret")
      return undefined;
    const { addition, version } = info;
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
    const read = async (from: number, to: number) => {
      const range = { offset: from, length: to - from };
      const object = await bucket.get(keyOf(path), { range, onlyIf: { etagMatches: version } });
      if (object !== null && "body" in object) return object.bytes();
      throw new ByrefError("conflict", `file:${path} was written in the meantime; try again.`);
    };
    return { record, read };
  }

  /** Writes all of the record's bytes. Rejects with the stream's error. */
  async function write(record: FileRecord, body: ReadableStream<Uint8Array>): Promise<void> {
    const { path, bytes, mediaType, sources, trusted, addition } = record;
    const key = keyOf(path); // Throws, so it comes before the stream is read.
    const { readable, writable } = new FixedLengthStream(bytes);
    const sent = body.pipeTo(writable);
    const put = bucket.put(key, readable, {
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
}

export function requireFew(actual: number): void {
  const advice = "Delete some of the conversation's files.";
  requireAtMost("maxFiles", actual, advice);
}

/** Undefined without a bucket. */
export function transferFilesOf({
  env,
  prefix,
}: contexts.ConversationContext): TransferFiles | undefined {
  const { BLOBS: bucket }: Partial<appEnv.Bindings> = env;
  return bucket === undefined ? undefined : filesIn(bucket, prefix);
}
