import { aroundEach, beforeEach, describe, expect, it } from "vitest";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import { R2Blobs } from "../../src/edge/platform/r2-blobs.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { manyBlobs, blobsContract } from "../contract/blobs.ts";
import { variableStoreContract } from "../contract/variable-store.ts";
import type { QueryEngine } from "../../packages/query/src/query-engine.ts";
import { describeQueryEngine } from "../../packages/query/test/contract.ts";
import { describeTextColumns } from "../../packages/query/test/text-columns.ts";
import { newId } from "../support/edge.ts";
import * as limits from "../../src/limits.ts";

describe("SqlStore in a real object, with a real bucket", () => {
  let storage: DurableObjectStorage | undefined;

  // Each test runs inside an object of its own, because only the object can reach its storage.
  aroundEach(async (run) => {
    const { CONVERSATIONS } = env;
    const stub = CONVERSATIONS.get(CONVERSATIONS.newUniqueId());
    await runInDurableObject(stub, async (_, state) => {
      storage = state.storage;
      await run();
      storage = undefined;
    });
  });

  variableStoreContract((options) => {
    if (storage === undefined) throw new Error("A test runs outside of an object.");
    const sql = new DurableSql(storage);
    migrate(sql);
    const bucket = { blobs: new R2Blobs(env.BLOBS), prefix: `${crypto.randomUUID()}/` };
    return new SqlStore(sql, { ...options, bucket });
  });
});

function tables(): QueryEngine {
  // The type of the namespace is that of the bound class, which the generated types do not include.
  const stub = env.TABLES.get(env.TABLES.idFromName(newId())) as unknown as QueryEngine;
  return {
    run: (query) => stub.run(query),
    add: (key, chunk) => stub.add(key, chunk),
    keep: (keys) => stub.keep(keys),
  };
}

describeQueryEngine("a Tables object", tables);
describeTextColumns("a Tables object", tables);

const PART = limits.maxChunkedBytes;

// Megabytes take longer on a busy machine.
describe("R2Blobs on a real bucket", () => {
  blobsContract(() => new R2Blobs(env.BLOBS));
  manyBlobs(() => new R2Blobs(env.BLOBS));
});

describe("R2Blobs", () => {
  let bucket: WatchedBucket;
  let blobs: R2Blobs;
  let key: string;
  beforeEach(() => {
    bucket = new WatchedBucket(env.BLOBS);
    blobs = new R2Blobs(bucket);
    key = `${crypto.randomUUID()}/object`;
  });

  /** Uploads in pieces of uneven sizes, and completes the upload. */
  async function upload(size: number): Promise<void> {
    const upload = await blobs.upload(key);
    const bytes = new Uint8Array(size);
    for (let start = 0; start < size; start += 3_000_001)
      await upload.write(bytes.subarray(start, start + 3_000_001));
    await upload.complete();
  }

  it.each([
    { size: PART + 1, parts: [PART, 1] },
    { size: 2 * PART, parts: [PART, PART] },
    { size: 2 * PART + 5, parts: [PART, PART, 5] },
  ])("uploads $size bytes in equal parts, except for the last", async ({ size, parts }) => {
    await upload(size);
    const sent = parts.map((part, index) => `part ${index + 1} ${part}`);
    expect(bucket.calls).toEqual(["create", ...sent, `complete ${parts.length}`]);
  });

  it("leaves no parts of an aborted upload", async () => {
    const upload = await blobs.upload(key);
    await upload.write(new Uint8Array(PART + 1));
    await upload.abort();
    await upload.abort();
    expect(bucket.calls).toEqual(["create", `part 1 ${PART}`, "abort"]);
    await expectNoParts();
  });

  /** Expects that R2 has no open upload any more. */
  async function expectNoParts(): Promise<void> {
    for (const { uploadId } of bucket.multiparts) {
      const again = env.BLOBS.resumeMultipartUpload(key, uploadId);
      await expect(again.uploadPart(1, new Uint8Array(1))).rejects.toThrow(/upload/i);
    }
  }
});

/** Forwards calls to a bucket, records them, and fails on request. */
class WatchedBucket implements R2Bucket {
  readonly calls: string[] = [];
  readonly multiparts: R2MultipartUpload[] = [];
  readonly failure = new Error("The bucket fails.");
  /** Calls with these prefixes fail; alternatives are separated by a bar. */
  failing = "nothing";
  /** Keys per page of a list. A real bucket returns 1,000. */
  pageKeys = 1_000;
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  head(key: string) {
    return this.#bucket.head(key);
  }

  get(key: string, options?: R2GetOptions): Promise<never> {
    const { offset = 0, length = 0 } = (options?.range ?? {}) as {
      offset?: number;
      length?: number;
    };
    this.#note(`get ${offset} ${length}`);
    return this.#bucket.get(key, options) as Promise<never>;
  }

  async put(key: string, value: unknown): Promise<R2Object> {
    this.#note(`put ${lengthOf(value)}`);
    return this.#bucket.put(key, value as Uint8Array, {});
  }

  async createMultipartUpload(key: string): Promise<R2MultipartUpload> {
    this.#note("create");
    const multipart = await this.#bucket.createMultipartUpload(key);
    this.multiparts.push(multipart);
    return {
      key,
      uploadId: multipart.uploadId,
      uploadPart: async (number, value) => {
        this.#note(`part ${number} ${lengthOf(value)}`);
        return multipart.uploadPart(number, value);
      },
      abort: async () => {
        this.#note("abort");
        return multipart.abort();
      },
      complete: async (parts) => {
        this.#note(`complete ${parts.length}`);
        return multipart.complete(parts);
      },
    };
  }

  resumeMultipartUpload(key: string, uploadId: string): R2MultipartUpload {
    return this.#bucket.resumeMultipartUpload(key, uploadId);
  }

  async delete(keys: string | string[]): Promise<void> {
    this.#note(`delete ${keys.length}`);
    return this.#bucket.delete(keys);
  }

  list(options?: R2ListOptions): Promise<R2Objects> {
    this.#note("list");
    return this.#bucket.list({ ...options, limit: this.pageKeys });
  }

  #note(call: string): void {
    this.calls.push(call);
    if (this.failing.split("|").some((start) => call.startsWith(start))) throw this.failure;
  }
}

function lengthOf(value: unknown): number {
  return value instanceof Uint8Array ? value.byteLength : Number.NaN;
}
