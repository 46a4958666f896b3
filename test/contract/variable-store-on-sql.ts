import type { Sql } from "../../src/store/rows/sql.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { migratedSql, type NodeSql } from "../support/node-sql.ts";
import { type StoreContract, type StoreOptions, variableStoreContract } from "./variable-store.ts";

/** Runs a contract on a store over SQLite in plain Node, with a new database for each test. */
export function contractOnSql(
  make: (sql: Sql, options: StoreOptions) => VariableStore,
  subject: { readonly hasBucket?: boolean } = {},
  contract: StoreContract = variableStoreContract,
): void {
  const opened = new Map<VariableStore, NodeSql>();
  contract(
    (options) => {
      const sql = migratedSql();
      const store = make(sql, options);
      opened.set(store, sql);
      return store;
    },
    { ...subject, dispose: (store) => opened.get(store)?.close() },
  );
}
