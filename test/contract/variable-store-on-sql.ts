import type { Sql } from "../../src/store/rows/sql.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { migratedSql, type NodeSql } from "../support/node-sql.ts";
import { type StoreOptions, variableStoreContract } from "./variable-store.ts";

/** Runs the contract on a store over SQLite in plain Node, with a new database for each test. */
export function contractOnSql(make: (sql: Sql, options: StoreOptions) => VariableStore): void {
  const opened = new Map<VariableStore, NodeSql>();
  variableStoreContract(
    (options) => {
      const sql = migratedSql();
      const store = make(sql, options);
      opened.set(store, sql);
      return store;
    },
    { dispose: (store) => opened.get(store)?.close() },
  );
}
