import { describe } from "vitest";
import { sqliteStore } from "../../packages/adapters/src/agent.ts";
import { sharedStore } from "../../packages/gateway/src/cli/state.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { migratedSql } from "../support/node-sql.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { type StoreOptions, variableStoreContract } from "./variable-store.ts";

const stores = {
  MemoryStore: (options: StoreOptions) => new MemoryStore(options),
  SqlStore: (options: StoreOptions) => new SqlStore(migratedSql(), options),
  "SqlStore with a bucket": (options: StoreOptions) => {
    const bucket = { blobs: new MemoryBlobs(), prefix: "c/" };
    return new SqlStore(migratedSql(), { ...options, bucket });
  },
  sqliteStore: (options: StoreOptions) => sqliteStore(":memory:", options),
  sharedStore: (options: StoreOptions) => sharedStore(":memory:", options),
};

describe.each(Object.entries(stores))("%s", (_, open) => variableStoreContract(open));
