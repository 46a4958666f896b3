import { ByrefError, messageOf } from "../../errors.ts";

/** What SQLite takes and gives. */
export type SqlValue = string | number | null | ArrayBuffer;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * The SQLite that a conversation lives in. One statement a call. In `transaction` nothing may be
 * awaited: it is one atomic commit, rolled back if `work` throws.
 */
export interface Sql {
  run(statement: string, ...bindings: readonly SqlValue[]): void;
  all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[];
  transaction<Result>(work: () => NotAPromise<Result>): Result;
}

type NotAPromise<Result> = Result extends PromiseLike<unknown> ? never : Result;

/** What SQLite throws, with `storage_full` for what has no room; nothing of it was written then. */
export function sqlError(error: unknown): unknown {
  if (!/SQLITE_FULL|database or disk is full/u.test(messageOf(error))) return error;
  const message = "There is no room left; delete variables, or conversations, and try again.";
  return new ByrefError("storage_full", message);
}

/** The first row, if there is one. */
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

/** A column that the schema says is text. */
export function textIn(row: SqlRow, column: string): string {
  const value = row[column];
  return typeof value === "string" ? value : "";
}

export function optionalTextIn(row: SqlRow, column: string): string | undefined {
  const value = row[column];
  return typeof value === "string" ? value : undefined;
}

/** A column that the schema says is a number. */
export function numberIn(row: SqlRow, column: string): number {
  const value = row[column];
  return typeof value === "number" ? value : 0;
}

export function optionalNumberIn(row: SqlRow, column: string): number | undefined {
  const value = row[column];
  return typeof value === "number" ? value : undefined;
}
