import { ByrefError } from "../../../src/errors.ts";
import { R2Files, type appEnv, type contexts } from "../../../src/internal-edge.ts";
import { toolFiles } from "../../../src/internal-tool.ts";
import { visibilityText } from "../../../src/internal.ts";
import type { LineOf, TransferRecord } from "./transfer-format.ts";
import { dataRecords } from "./variable-records.ts";

/**
 * Exports files from a conversation's folder in the bucket, and imports them into another one. Undefined without a
 * bucket.
 */
export function transferFilesOf({ env, prefix }: contexts.ConversationContext) {
  const { BLOBS: bucket }: Partial<appEnv.Bindings> = env;
  return bucket === undefined ? undefined : filesIn(bucket, prefix);
}

/** `prefix`: the start of all keys of the conversation. */
function filesIn(bucket: R2Bucket, prefix: string) {
  const files = new R2Files(bucket, prefix);
  const keyOf = (path: string) => `${prefix}files/${toolFiles.filePathIn(path)}`;
  return { records, write };

  /** All files but secret ones. Throws `limit_exceeded`, and `conflict` if one has changed meanwhile. */
  async function* records(): AsyncGenerator<TransferRecord> {
    for (const path of await files.list("")) {
      const info = await files.info(path);
      const head = info === undefined ? null : await bucket.head(keyOf(path));
      if (head === null || info === undefined || info.labels.visibility === "secret") continue;
      const { addition, labels, version } = info;
      yield {
        type: "file",
        path,
        bytes: head.size,
        mediaType: head.httpMetadata?.contentType ?? "application/octet-stream",
        ...labels,
        sources: [...labels.sources],
        flags: [...(labels.flags ?? [])],
        ...(addition === undefined ? {} : { addition: { ...addition } }),
      };
      const read = async (from: number, to: number) => {
        const range = { offset: from, length: to - from };
        const object = await bucket.get(keyOf(path), { range, onlyIf: { etagMatches: version } });
        if (object !== null && "body" in object) return object.bytes();
        throw new ByrefError("conflict", `file:${path} was written in the meantime; try again.`);
      };
      yield* dataRecords(head.size, { read });
    }
  }

  /** Writes all of the record's bytes. Rejects with the stream's error. */
  async function write(record: LineOf<"file">, body: ReadableStream<Uint8Array>): Promise<void> {
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
