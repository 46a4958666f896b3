import { R2Files, type appEnv, type contexts } from "../../../src/internal-edge.ts";
import { json } from "../../../src/internal.ts";
import type { LineOf, TransferRecord } from "./transfer-format.ts";
import { dataRecords } from "./variable-records.ts";

/** A conversation's files, to be exported, or imported into another one. Undefined without a bucket. */
export function transferFilesOf({ env, prefix }: contexts.ConversationContext) {
  const { BLOBS: bucket }: Partial<appEnv.Bindings> = env;
  if (bucket === undefined) return undefined;
  const files = new R2Files(bucket, prefix);
  return { records, write };

  /** All files but secret ones. Throws `limit_exceeded`, and `conflict` if one has changed meanwhile. */
  async function* records(): AsyncGenerator<TransferRecord> {
    for (const path of await files.list("")) {
      const found = await files.find(path);
      if (found === undefined || found.visibility === "secret") continue;
      const { bytes, mediaType, info, open } = found;
      const { labels, addition } = info;
      yield {
        type: "file",
        path,
        bytes,
        mediaType,
        ...labels,
        sources: [...labels.sources],
        flags: [...(labels.flags ?? [])],
        ...(addition === undefined ? {} : { addition: { ...addition } }),
      };
      yield* dataRecords(bytes, open);
    }
  }

  /** Writes all of the record's bytes. Rejects with the stream's error. */
  async function write(record: LineOf<"file">, body: AsyncIterable<Uint8Array>): Promise<void> {
    const { path, type: _, bytes: __, ...labels } = record;
    const upload = files.upload(path, json.compact(labels));
    try {
      for await (const bytes of body) await upload.write(bytes);
      await upload.complete();
    } catch (error) {
      await upload.abort();
      throw error;
    }
  }
}
