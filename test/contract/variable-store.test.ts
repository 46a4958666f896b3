import { describe } from "vitest";
import { sqliteStore } from "../../packages/adapters/src/agent.ts";
import { sharedStore } from "../../packages/gateway/src/cli/state.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { variableStoreContract } from "./variable-store.ts";
import { contractOnSql } from "./variable-store-on-sql.ts";

describe("MemoryStore", () => variableStoreContract((options) => new MemoryStore(options)));
describe("SqlStore", () => contractOnSql((sql, options) => new SqlStore(sql, options)));
describe("SqlStore with a bucket", () => {
  const bucket = () => ({ blobs: new MemoryBlobs(), prefix: "c/" });
  contractOnSql((sql, options) => new SqlStore(sql, { ...options, bucket: bucket() }));
});
describe.each(Object.entries({ sqliteStore, sharedStore }))("%s", (_, open) => {
  const opened = new Map<object, () => void>();
  variableStoreContract(
    (options) => {
      const store = open(":memory:", options);
      opened.set(store, () => store.close());
      return store;
    },
    { dispose: (store) => opened.get(store)?.() },
  );
});
