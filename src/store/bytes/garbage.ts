import { firstRow, LateTable, replaceRow, type Sql, textIn } from "../rows/sql.ts";
import type { StoredBody } from "./content.ts";

/**
 * Bodies without a variable. An id is listed here from before its first byte is stored until the row that
 * refers to it is committed, and from the transaction that removes that row until the bytes are deleted.
 * After a crash, the bodies listed here have to be swept.
 */
export interface Garbage {
  add(body: StoredBody): void;
  remove(id: string): void;
  has(id: string): boolean;
  all(): readonly StoredBody[];
}

export class SqlGarbage implements Garbage {
  readonly #sql: Sql;
  readonly #table: LateTable;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#table = new LateTable(
      sql,
      "garbage",
      `(id TEXT PRIMARY KEY, location TEXT) WITHOUT ROWID`,
    );
  }

  add({ id, location }: StoredBody): void {
    this.#table.create();
    replaceRow(this.#sql, "garbage", { id, location });
  }

  remove(id: string): void {
    if (this.#table.exists) this.#sql.run(`DELETE FROM garbage WHERE id = ?`, id);
  }

  has(id: string): boolean {
    if (!this.#table.exists) return false;
    return firstRow(this.#sql, `SELECT 1 AS found FROM garbage WHERE id = ?`, id) !== undefined;
  }

  all(): readonly StoredBody[] {
    if (!this.#table.exists) return [];
    return this.#sql.all(`SELECT id, location FROM garbage`).map((row) => ({
      id: textIn(row, "id"),
      location: textIn(row, "location") === "r2" ? "r2" : "chunks",
    }));
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#table.forget();
  }
}
