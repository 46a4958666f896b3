import { expect } from "vitest";
import { migrate } from "../../src/store/rows/migrations.ts";
import { firstRow, numberIn, type SqlRow, type SqlValue } from "../../src/store/rows/sql.ts";
import { NodeSql } from "../support/node-sql.ts";

/** What failing statements and buckets throw. */
export const FULL = new Error("The disk is full.");

/** Fails once, before the statement after the next `statementsLeft`. Counts what it reads and writes. */
export class WatchedSql extends NodeSql {
  statementsLeft = Infinity;
  /** Texts count in UTF-16 units, BLOBs in bytes. */
  unitsRead = 0;
  unitsWritten = 0;
  readonly seen: string[] = [];

  override run(statement: string, ...bindings: readonly SqlValue[]): void {
    this.#watch(statement);
    for (const value of bindings) this.unitsWritten += unitsOf(value);
    super.run(statement, ...bindings);
  }

  override all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    this.#watch(statement);
    // A Durable Object has only one method for reads and writes.
    if (!/^\s*(?:SELECT|WITH)/i.test(statement)) {
      for (const value of bindings) this.unitsWritten += unitsOf(value);
    }
    const rows = super.all(statement, ...bindings);
    for (const row of rows)
      for (const value of Object.values(row)) this.unitsRead += unitsOf(value);
    return rows;
  }

  #watch(statement: string): void {
    this.seen.push(statement);
    if (this.statementsLeft-- > 0) return;
    this.statementsLeft = Infinity;
    throw FULL;
  }
}

function unitsOf(value: SqlValue): number {
  return value instanceof ArrayBuffer ? value.byteLength : String(value).length;
}

const open: NodeSql[] = [];

export function closeAll(): void {
  for (const sql of open.splice(0)) sql.close();
}

export function emptySql(): WatchedSql {
  const sql = new WatchedSql();
  open.push(sql);
  return sql;
}

export function migratedSql(): WatchedSql {
  const sql = emptySql();
  migrate(sql);
  return sql;
}

export function one(sql: NodeSql, expression: string): number {
  return numberIn(firstRow(sql, `SELECT ${expression} AS result`) ?? {}, "result");
}

/** Counts the rows that `work` inserts, updates or deletes. */
export async function rowsWritten(sql: NodeSql, work: () => unknown): Promise<number> {
  const before = one(sql, "total_changes()");
  await work();
  return one(sql, "total_changes()") - before;
}

export async function statementsOf(sql: NodeSql, work: () => unknown): Promise<number> {
  const before = sql.statements;
  await work();
  return sql.statements - before;
}

/** Returns true if the work failed because the disk is full. */
export async function fails(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    expect(error).toBe(FULL);
    return true;
  }
}
