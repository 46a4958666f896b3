import { describe } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/migrations.ts";
import type { Sql } from "../../src/store/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Changes, ListOptions, VariableStore, Write } from "../../src/store/variable-store.ts";
import { NodeSql } from "../support/node-sql.ts";
import { type StoreOptions, variableStoreContract } from "./variable-store.ts";

describe("MemoryStore", () => {
  variableStoreContract((options) => new MemoryStore(options));
});

describe("SqlStore", () => {
  contractOnSql((sql, options) => new SqlStore(sql, options));
});

describe("SqlStore, woken before every call", () => {
  contractOnSql((sql, options) => new WokenStore(() => new SqlStore(sql, options)));
});

function contractOnSql(make: (sql: Sql, options: StoreOptions) => VariableStore): void {
  const opened = new Map<VariableStore, NodeSql>();
  variableStoreContract(
    (options) => {
      const sql = new NodeSql();
      migrate(sql);
      const store = make(sql, options);
      opened.set(store, sql);
      return store;
    },
    (store) => opened.get(store)?.close(),
  );
}

/** Keeps nothing in memory from one call to the next, as an object that hibernates between them. */
class WokenStore implements VariableStore {
  readonly #wake: () => VariableStore;

  constructor(wake: () => VariableStore) {
    this.#wake = wake;
  }

  save(write: Write) {
    return this.#wake().save(write);
  }
  update(name: string, changes: Changes) {
    return this.#wake().update(name, changes);
  }
  read(name: string) {
    return this.#wake().read(name);
  }
  info(name: string) {
    return this.#wake().info(name);
  }
  tombstone(name: string) {
    return this.#wake().tombstone(name);
  }
  list(options?: ListOptions) {
    return this.#wake().list(options);
  }
  count() {
    return this.#wake().count();
  }
  couldBegin(prefix: string) {
    return this.#wake().couldBegin(prefix);
  }
  delete(name: string) {
    return this.#wake().delete(name);
  }
  reset(keepLast: number) {
    return this.#wake().reset(keepLast);
  }
  evictExpired(nowMs: number, limit: number) {
    return this.#wake().evictExpired(nowMs, limit);
  }
  nextDueMs() {
    return this.#wake().nextDueMs();
  }
}
