import { expect } from "vitest";
import { migrate } from "../../src/store/rows/migrations.ts";
import {
  firstRow,
  numberIn,
  type Sql,
  type SqlRow,
  type SqlValue,
} from "../../src/store/rows/sql.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { NodeSql } from "../support/node-sql.ts";

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
    throw new Error("The disk is full.");
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

/**
 * Returns every table with its columns by name and whether it lacks row ids. Migrations add columns at the
 * end.
 */
export function tablesOf(sql: Sql) {
  const tables = sql.all(`SELECT name, wr FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'`);
  return Object.fromEntries(
    tables
      .map(({ name, wr }) => [String(name), { wr, columns: columnsOf(sql, String(name)) }])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );
}

function columnsOf(sql: Sql, table: string) {
  return sql.all(
    `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY name`,
    table,
  );
}

/** Returns every row of every table, with BLOBs as text. */
export function dumpOf(sql: Sql) {
  const shown = (_: string, value: unknown) =>
    value instanceof ArrayBuffer ? Buffer.from(value).toString() : value;
  return Object.keys(tablesOf(sql)).map((name) => [
    name,
    JSON.stringify(sql.all(`SELECT * FROM ${name}`), shown),
  ]);
}

/** Returns true if the work failed because the disk is full. */
export async function fails(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    expect(error).toMatchObject({ message: "The disk is full." });
    return true;
  }
}

/** Returns everything visible in a store in which these names had variables or tombstones. */
export async function everything(store: VariableStore, names: readonly string[]) {
  const values: string[] = [];
  for (const { name, type } of store.list()) {
    const value = type === "bytes" ? null : await store.read(name);
    values.push(`${inShort(JSON.stringify(value))}, ${inShort(await storedText(store, name))}`);
  }
  const tombstones = names.map((name) => store.tombstone(name));
  const [list, count, bytes] = [store.list(), store.count(), store.bytes()];
  return { list, tombstones, values, count, bytes };
}

async function storedText(store: VariableStore, name: string): Promise<string> {
  const value = store.open(name);
  if (value === undefined) return "nothing";
  const bytes = await value.read(0, value.info.bytes);
  value.close();
  return new TextDecoder().decode(bytes);
}

/** Shortens a large value, but leaves enough to distinguish it from others. */
function inShort(text: string): string {
  return `${text.slice(0, 20)} of ${text.length}`;
}
