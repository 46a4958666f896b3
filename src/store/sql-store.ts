import type { Sql } from "./rows/sql.ts";
import { SqlRows } from "./rows/sql-rows.ts";
import { type StoreOptions, VariableStore } from "./variables.ts";

export interface SqlStoreOptions extends StoreOptions {
  /** True if the database is new and empty. */
  readonly isNew?: boolean;
}

/** Variables in SQLite, with large values in a bucket. Call `migrate` first. */
export class SqlStore extends VariableStore {
  constructor(sql: Sql, { isNew = false, ...options }: SqlStoreOptions = {}) {
    super(new SqlRows(sql, isNew), options);
  }
}
