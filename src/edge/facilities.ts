import type { Bucket } from "../store/bodies.ts";
import type { Files } from "../tool/export-variable.ts";
import type { Facilities } from "../turn/toolbox.ts";
import { R2Blobs } from "./r2-blobs.ts";

/** What a conversation can do without. */
interface Bindings {
  readonly BLOBS?: R2Bucket;
}

/** Where a conversation's large values lie. Without a bucket they stay in SQLite. */
export function bucketOf(env: Cloudflare.Env, prefix: string): Bucket | undefined {
  const { BLOBS: bucket } = env as Bindings;
  return bucket === undefined ? undefined : { blobs: new R2Blobs(bucket), prefix };
}

/** What the bucket offers to the tools of a turn. */
export function facilitiesOf(env: Cloudflare.Env, prefix: string): Facilities {
  const { BLOBS: bucket } = env as Bindings;
  return bucket === undefined ? {} : { files: filesIn(bucket, prefix) };
}

/** A conversation's folder in the bucket; a file carries the guards of what is in it. */
function filesIn(bucket: R2Bucket, prefix: string): Files {
  return {
    async write(path, { mediaType, ...content }, { visibility, sources, trusted }) {
      const body = "text" in content ? new TextEncoder().encode(content.text) : content.bytes;
      await bucket.put(`${prefix}files/${path}`, body, {
        httpMetadata: { contentType: mediaType },
        customMetadata: {
          visibility: visibility ?? "model",
          trusted: String(trusted ?? true),
          sources: JSON.stringify(sources ?? []),
        },
      });
      return { path, bytes: body.byteLength };
    },
  };
}
