import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { aroundEach } from "vitest";
import { DurableSql } from "../../src/edge/platform/durable-sql.ts";
import { R2Blobs } from "../../src/edge/platform/r2-blobs.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { type StoreContract, variableStoreContract } from "../contract/variable-store.ts";

/** Runs a store's contract over the SQLite of a real Durable Object. */
export function contractInAnObject(
  { hasBucket }: { readonly hasBucket: boolean },
  contract: StoreContract = variableStoreContract,
): void {
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

  contract(
    (options) => {
      if (storage === undefined) throw new Error("A test runs outside of an object.");
      const sql = new DurableSql(storage);
      migrate(sql);
      if (!hasBucket) return new SqlStore(sql, options);
      const bucket = { blobs: new R2Blobs(env.BLOBS), prefix: `${crypto.randomUUID()}/` };
      return new SqlStore(sql, { ...options, bucket });
    },
    { hasBucket },
  );
}
