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

export function optionalNumberIn(row: SqlRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === "number" ? value : undefined;
}
