import { ByrefError, messageOf } from "../../errors.ts";

/** A value that SQLite accepts and returns. */
export type SqlValue = string | number | null | ArrayBuffer;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * The SQLite database of a conversation. Each call runs one statement. Do not await in `transaction`: it is
 * one atomic commit, rolled back if `work` throws.
 */
export interface Sql {
  run(statement: string, ...bindings: readonly SqlValue[]): void;
  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[];
  transaction<Result>(work: () => NotAPromise<Result>): Result;
}

type NotAPromise<Result> = Result extends PromiseLike<unknown> ? never : Result;

/**
 * Converts SQLite's error for a full database to `storage_full`; nothing was written then. Returns other
 * errors unchanged.
 */
export function sqlError(error: unknown): unknown {
  if (!/SQLITE_FULL|database or disk is full/u.test(messageOf(error))) return error;
  const message = "There is no space left; delete variables or conversations and try again.";
  return new ByrefError("storage_full", message);
}

/** Returns the first row, if any. */
export function firstRow(
  sql: Sql,
  statement: string,
  ...bindings: readonly SqlValue[]
): SqlRow | undefined {
  return sql.all(statement, ...bindings)[0];
}

/** Returns the only number of the first row; 0 if there is none. */
export function numberOf(sql: Sql, statement: string, ...bindings: readonly SqlValue[]): number {
  const [number] = Object.values(firstRow(sql, statement, ...bindings) ?? {});
  return typeof number === "number" ? number : 0;
}

/** Writes a row with these columns. It replaces the one with the same key. */
export function replaceRow(
  sql: Sql,
  table: string,
  columns: Readonly<Record<string, SqlValue>>,
): void {
  const names = Object.keys(columns);
  const statement = `INSERT OR REPLACE INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  sql.run(statement, ...Object.values(columns));
}

/** Reads a text of the table `meta`. */
export function readMeta(sql: Sql, key: string): string | undefined {
  return optionalTextIn(firstRow(sql, `SELECT value FROM meta WHERE key = ?`, key) ?? {}, "value");
}

export function writeMeta(sql: Sql, key: string, value: string): void {
  sql.run(
    `INSERT INTO meta (key, value) VALUES (?, ?)
     ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    key,
    value,
  );
}

/** A table that is created when something is first written to it, because most conversations never need it. */
export class LateTable {
  readonly #sql: Sql;
  readonly #name: string;
  readonly #columns: string;
  #exists: boolean | undefined;

  /** `columns`: the rest of the statement that creates it. `isNew`: it does not exist yet. */
  constructor(sql: Sql, name: string, columns: string, isNew = false) {
    this.#sql = sql;
    this.#name = name;
    this.#columns = columns;
    if (isNew) this.#exists = false;
  }

  /** Reads rows. `rest`: the statement after the name of the table. */
  all(columns: string, rest = "", ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    this.#exists ??= hasTable(this.#sql, this.#name);
    if (!this.#exists) return [];
    return this.#sql.all(`SELECT ${columns} FROM ${this.#name} ${rest}`, ...bindings);
  }

  /** Writes a row with these columns. It replaces the one with the same key. */
  put(row: Readonly<Record<string, SqlValue>>): void {
    this.create();
    replaceRow(this.#sql, this.#name, row);
  }

  /** Removes the rows with these values. */
  remove(key: Readonly<Record<string, SqlValue>>): void {
    this.#exists ??= hasTable(this.#sql, this.#name);
    if (!this.#exists) return;
    const where = Object.keys(key).map((column) => `${column} = ?`);
    const statement = `DELETE FROM ${this.#name} WHERE ${where.join(" AND ")}`;
    this.#sql.run(statement, ...Object.values(key));
  }

  create(): void {
    if (this.#exists === true) return;
    this.#sql.run(`CREATE TABLE IF NOT EXISTS ${this.#name} ${this.#columns}`);
    this.#exists = true;
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#exists = undefined;
  }
}

export function hasTable(sql: Sql, name: string): boolean {
  return firstRow(sql, `SELECT 1 AS found FROM sqlite_master WHERE name = ?`, name) !== undefined;
}

/** Reads a text column. */
export function textIn(row: SqlRow, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : "";
}

export function optionalTextIn(row: SqlRow, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}

/** Reads a number column. */
export function numberIn(row: SqlRow, column: string): number {
  const value = row[column];
  return typeof value === "number" ? value : 0;
}
