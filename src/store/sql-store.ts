import type { Entry } from "./catalog.ts";
import type { Sql } from "./sql.ts";
import { SqlRows } from "./sql-rows.ts";
import { type StoreOptions, Variables } from "./variables.ts";

export interface SqlStoreOptions extends StoreOptions {
  /** Nothing was ever written here. */
  readonly isNew?: boolean;
}

/** Variables in SQLite, which `migrate` has prepared, and in a bucket for what is large. */
export class SqlStore extends Variables {
  constructor(sql: Sql, { isNew = false, ...options }: SqlStoreOptions = {}) {
    super(isNew ? new NewRows(sql) : new SqlRows(sql), options);
  }
}

/** Whoever asks what is in a table that was just made need not wait for SQLite. */
class NewRows extends SqlRows {
  #wasAsked = false;

  /** The store asks before it writes, and again after a transaction that was rolled back. */
  override entries(): readonly Entry[] {
    if (this.#wasAsked) return super.entries();
    this.#wasAsked = true;
    return [];
  }
}
