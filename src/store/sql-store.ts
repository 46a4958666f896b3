import type { Sql } from "./sql.ts";
import { SqlRows } from "./sql-rows.ts";
import { type StoreOptions, Variables } from "./variables.ts";

/** Variables in SQLite, which `migrate` has prepared, and in a bucket for what is large. */
export class SqlStore extends Variables {
  constructor(sql: Sql, options: StoreOptions = {}) {
    super(new SqlRows(sql), options);
  }
}
