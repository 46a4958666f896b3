import { describe } from "vitest";
import { MemoryBlobs } from "../../src/store/memory-blobs.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/migrations.ts";
import type { Sql } from "../../src/store/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { NodeSql } from "../support/node-sql.ts";
import { type StoreOptions, variableStoreContract } from "./variable-store.ts";
import { wokenStore } from "./variable-store-woken.ts";

describe("MemoryStore", () => {
  variableStoreContract((options) => new MemoryStore(options));
});

describe("SqlStore", () => {
  contractOnSql((sql, options) => new SqlStore(sql, options));
});

describe("SqlStore, woken before every call", () => {
  contractOnSql((sql, options) => wokenStore(() => new SqlStore(sql, options)));
});

describe("SqlStore with a bucket", () => {
  const make = (sql: Sql, options: StoreOptions) =>
    new SqlStore(sql, { ...options, bucket: { blobs: new MemoryBlobs(), prefix: "c/" } });
  contractOnSql(make, { hasBucket: true });
});

function contractOnSql(
  make: (sql: Sql, options: StoreOptions) => VariableStore,
  subject: { readonly hasBucket?: boolean } = {},
): void {
  const opened = new Map<VariableStore, NodeSql>();
  variableStoreContract(
    (options) => {
      const sql = new NodeSql();
      migrate(sql);
      const store = make(sql, options);
      opened.set(store, sql);
      return store;
    },
    { ...subject, dispose: (store) => opened.get(store)?.close() },
  );
}
