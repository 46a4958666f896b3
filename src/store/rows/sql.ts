import { ByrefError, messageOf } from "../../errors.ts";
import type { Key, Table } from "./rows.ts";

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
  protected readonly sql: Sql;
  protected readonly name: string;
  readonly #columns: string;
  #exists: boolean | undefined;

  /** `columns`: the rest of the statement that creates it. `isNew`: it does not exist yet. */
  constructor(sql: Sql, name: string, columns: string, isNew = false) {
    this.sql = sql;
    this.name = name;
    this.#columns = columns;
    if (isNew) this.#exists = false;
  }

  get exists(): boolean {
    this.#exists ??= hasTable(this.sql, this.name);
    return this.#exists;
  }

  create(): void {
    if (this.#exists === true) return;
    this.sql.run(`CREATE TABLE IF NOT EXISTS ${this.name} ${this.#columns}`);
    this.#exists = true;
  }

  /** A rollback may have removed the table. */
  forget(): void {
    this.#exists = undefined;
  }
}

/** How the rows of a table are written and read. */
interface RowFormat<Row, Listed> {
  /** The columns without the key. */
  readonly columnsOf: (row: Row) => Readonly<Record<string, SqlValue>>;
  readonly rowFrom: (row: SqlRow) => Row;
  /** The columns of `all`. */
  readonly listed: string;
  readonly order: string;
  readonly listedFrom: (row: SqlRow) => Listed;
}

/** Rows of one kind in a table of their own. */
export class SqlTable<Row, Listed = Row> extends LateTable implements Table<Row, Listed> {
  readonly #format: RowFormat<Row, Listed>;

  constructor(
    sql: Sql,
    name: string,
    { columns, isNew, ...format }: RowFormat<Row, Listed> & { columns: string; isNew?: boolean },
  ) {
    super(sql, name, columns, isNew);
    this.#format = format;
  }

  all(): readonly Listed[] {
    if (!this.exists) return [];
    const { listed, order, listedFrom } = this.#format;
    return this.sql.all(`SELECT ${listed} FROM ${this.name} ORDER BY ${order}`).map(listedFrom);
  }

  get(key: Key): Row | undefined {
    if (!this.exists) return undefined;
    const statement = `SELECT * FROM ${this.name} WHERE ${conditionOf(key)}`;
    const row = firstRow(this.sql, statement, ...Object.values(key));
    return row && this.#format.rowFrom(row);
  }

  put(key: Key, row: Row): void {
    this.create();
    replaceRow(this.sql, this.name, { ...key, ...this.#format.columnsOf(row) });
  }

  remove(key: Key): void {
    if (!this.exists) return;
    const statement = `DELETE FROM ${this.name} WHERE ${conditionOf(key)}`;
    this.sql.run(statement, ...Object.values(key));
  }
}

function conditionOf(key: Key): string {
  return Object.keys(key)
    .map((column) => `${column} = ?`)
    .join(" AND ");
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
