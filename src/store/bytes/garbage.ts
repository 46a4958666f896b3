import { firstRow, hasTable, type Sql, textIn } from "../rows/sql.ts";
import type { StoredBody } from "./content.ts";
import { type Undo, UndoableMap } from "../rows/undo.ts";

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
  #hasTable: boolean | undefined;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  add({ id, location }: StoredBody): void {
    if (!this.#exists()) {
      this.#sql.run(`CREATE TABLE garbage (id TEXT PRIMARY KEY, location TEXT) WITHOUT ROWID`);
      this.#hasTable = true;
    }
    this.#sql.run(`INSERT OR REPLACE INTO garbage (id, location) VALUES (?, ?)`, id, location);
  }

  remove(id: string): void {
    if (this.#exists()) this.#sql.run(`DELETE FROM garbage WHERE id = ?`, id);
  }

  has(id: string): boolean {
    if (!this.#exists()) return false;
    return firstRow(this.#sql, `SELECT 1 AS found FROM garbage WHERE id = ?`, id) !== undefined;
  }

  all(): readonly StoredBody[] {
    if (!this.#exists()) return [];
    return this.#sql.all(`SELECT id, location FROM garbage`).map((row) => ({
      id: textIn(row, "id"),
      location: textIn(row, "location") === "r2" ? "r2" : "chunks",
    }));
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#hasTable = undefined;
  }

  #exists(): boolean {
    this.#hasTable ??= hasTable(this.#sql, "garbage");
    return this.#hasTable;
  }
}

export class MemoryGarbage implements Garbage {
  readonly #bodies: Map<string, StoredBody>;

  constructor(undo: Undo) {
    this.#bodies = new UndoableMap(undo);
  }

  add(body: StoredBody): void {
    this.#bodies.set(body.id, body);
  }

  remove(id: string): void {
    this.#bodies.delete(id);
  }

  has(id: string): boolean {
    return this.#bodies.has(id);
  }

  all(): readonly StoredBody[] {
    return [...this.#bodies.values()];
  }
}
