import { aroundEach, describe, expect, it, vi } from "vitest";
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

// That all parts but the last are equal, as R2 requires, is shown by the contract on a real bucket.
it("R2Blobs leaves no parts of an aborted upload", async () => {
  const begun: R2MultipartUpload[] = [];
  const create = env.BLOBS.createMultipartUpload.bind(env.BLOBS);
  const creating = vi.spyOn(env.BLOBS, "createMultipartUpload");
  creating.mockImplementation(async (...given) => {
    const upload = await create(...given);
    begun.push(upload);
    return upload;
  });
  const upload = await new R2Blobs(env.BLOBS).upload(`${crypto.randomUUID()}/object`);
  await upload.write(new Uint8Array(PART + 1));
  await upload.abort();
  await upload.abort();
  expect(begun).toHaveLength(1);
  for (const { key, uploadId } of begun) {
    const again = env.BLOBS.resumeMultipartUpload(key, uploadId);
    await expect(again.uploadPart(1, new Uint8Array(1))).rejects.toThrow(/upload/i);
  }
});
