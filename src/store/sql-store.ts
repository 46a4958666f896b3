import type { Sql } from "./rows/sql.ts";
import { SqlRows } from "./rows/sql-rows.ts";
import { type StoreOptions, Variables } from "./variables.ts";

export interface SqlStoreOptions extends StoreOptions {
  /** Nothing was ever written here. */
  readonly isNew?: boolean;
}

/** Variables in SQLite, which `migrate` has prepared, and in a bucket for what is large. */
export class SqlStore extends Variables {
  constructor(sql: Sql, { isNew = false, ...options }: SqlStoreOptions = {}) {
    super(new SqlRows(sql, isNew), options);
  }
}
