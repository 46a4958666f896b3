import { LateTable, type Sql, textIn } from "../rows/sql.ts";
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
  readonly #table: LateTable;

  constructor(sql: Sql) {
    const columns = `(id TEXT PRIMARY KEY, location TEXT) WITHOUT ROWID`;
    this.#table = new LateTable(sql, "garbage", columns);
  }

  add({ id, location }: StoredBody): void {
    this.#table.put({ id, location });
  }

  remove(id: string): void {
    this.#table.remove({ id });
  }

  has(id: string): boolean {
    return this.#table.all("1", "WHERE id = ?", id).length > 0;
  }

  all(): readonly StoredBody[] {
    return this.#table.all("id, location").map((row) => ({
      id: textIn(row, "id"),
      location: textIn(row, "location") === "r2" ? "r2" : "chunks",
    }));
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#table.forget();
  }
}
