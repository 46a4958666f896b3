import { aroundEach, describe, expect, it, onTestFinished, vi } from "vitest";
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

/** Records the calls of multipart uploads until the test has finished. */
function watchUploads() {
  const calls: string[] = [];
  const begun: R2MultipartUpload[] = [];
  const create = env.BLOBS.createMultipartUpload.bind(env.BLOBS);
  const creating = vi.spyOn(env.BLOBS, "createMultipartUpload");
  onTestFinished(() => creating.mockRestore());
  creating.mockImplementation(async (key, options) => {
    const upload = await create(key, options);
    begun.push(upload);
    return {
      key,
      uploadId: upload.uploadId,
      uploadPart: (number, value) => {
        calls.push(`part ${number} ${value instanceof Uint8Array && value.byteLength}`);
        return upload.uploadPart(number, value);
      },
      abort: () => {
        calls.push("abort");
        return upload.abort();
      },
      complete: (parts) => {
        calls.push(`complete ${parts.length}`);
        return upload.complete(parts);
      },
    };
  });
  return { calls, begun };
}

describe("R2Blobs", () => {
  it.each([
    { size: PART + 1, parts: [PART, 1] },
    { size: 2 * PART, parts: [PART, PART] },
    { size: 2 * PART + 5, parts: [PART, PART, 5] },
  ])("uploads $size bytes in equal parts, except for the last", async ({ size, parts }) => {
    const { calls } = watchUploads();
    const upload = await new R2Blobs(env.BLOBS).upload(`${crypto.randomUUID()}/object`);
    // In pieces of another size.
    const bytes = new Uint8Array(size);
    for (let start = 0; start < size; start += 3_000_001)
      await upload.write(bytes.subarray(start, start + 3_000_001));
    await upload.complete();
    const sent = parts.map((part, index) => `part ${index + 1} ${part}`);
    expect(calls).toEqual([...sent, `complete ${parts.length}`]);
  });

  it("leaves no parts of an aborted upload", async () => {
    const { calls, begun } = watchUploads();
    const upload = await new R2Blobs(env.BLOBS).upload(`${crypto.randomUUID()}/object`);
    await upload.write(new Uint8Array(PART + 1));
    await upload.abort();
    await upload.abort();
    expect(calls).toEqual([`part 1 ${PART}`, "abort"]);
    for (const { key, uploadId } of begun) {
      const again = env.BLOBS.resumeMultipartUpload(key, uploadId);
      await expect(again.uploadPart(1, new Uint8Array(1))).rejects.toThrow(/upload/i);
    }
  });
});
