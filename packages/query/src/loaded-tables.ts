import * as limits from "../../../src/limits.ts";
import { typedCell } from "./column-cells.ts";
import { CHUNKS, ELEMENTS, ROWS } from "./plan-bound.ts";
import type { TableChunk, TableShape } from "./query-engine.ts";
import { identifier } from "./rewrite-statement.ts";
import type { QueryDatabase } from "./query-database.ts";

/** A table in the database. */
export interface LoadedTable extends TableShape {
  readonly id: number;
  readonly key: string;
  /** True if it is a table of SQLite; else chunks of JSON. */
  readonly isReal: boolean;
}

interface ViewOptions {
  /** The table's name in the statement. */
  readonly name: string;
  /** In lower case; undefined: all. */
  readonly columns: readonly string[] | undefined;
  /** True if the statement reads tables more than once. */
  readonly isRepeated: boolean;
  /** The name of a further column with the position. Default: none. */
  readonly position?: string | undefined;
  /** Returns what to read in place of a column's cell. */
  readonly cellOf?: ((cell: string, at: number) => string) | undefined;
}

/** The name of the column with the position. */
export const INDEX = "index";

/**
 * The tables of an engine. One is loaded as chunks of JSON, a row each, because rows are what is billed. A small
 * one that is used again becomes a table of SQLite, which is read many times faster.
 */
export class LoadedTables {
  readonly #database: QueryDatabase;
  readonly #found = new Map<string, LoadedTable>();
  /** Keys of the tables that are being loaded. */
  readonly #begun = new Map<number, string>();
  readonly #uses = new Map<number, number>();
  /** The number of the next table; undefined before the database is read. */
  #next: number | undefined;

  constructor(database: QueryDatabase) {
    this.#database = database;
  }

  begin(key: string): number {
    const id = this.#prepare();
    this.#next = id + 1;
    this.#begun.set(id, key);
    return id;
  }

  add(id: number, { first, json }: TableChunk): void {
    if (!this.#begun.has(id)) return;
    this.#run(`INSERT INTO chunk (id, seq, json) VALUES (?, ?, ?)`, id, first, json);
  }

  complete(id: number, shape: TableShape): void {
    const key = this.#begun.get(id);
    if (key === undefined) return;
    this.#begun.delete(id);
    const before = this.#found.get(key);
    if (before !== undefined) this.#drop(before);
    this.#write({ ...shape, id, key, isReal: false });
  }

  find(key: string): LoadedTable | undefined {
    this.#prepare();
    return this.#found.get(key);
  }

  /** Writes what is known of a table, before its rows. */
  #write(table: LoadedTable): void {
    const json = JSON.stringify(table);
    this.#run(`INSERT OR REPLACE INTO chunk (id, seq, json) VALUES (?, -1, ?)`, table.id, json);
    this.#found.set(table.key, table);
  }

  /** Counts a use. Returns the table in the form in which it is read from now on. */
  used(table: LoadedTable): LoadedTable {
    const uses = (this.#uses.get(table.id) ?? 0) + 1;
    this.#uses.set(table.id, uses);
    const isWorth = table.rows <= limits.maxIndexedRows && table.columns.length < MAX_COLUMNS;
    if (table.isReal || uses < 2 || !isWorth) return table;
    return this.#makeReal(table);
  }

  #makeReal(table: LoadedTable): LoadedTable {
    const columns = table.columns.map((_, at) => `c${at}`);
    const selected = columns.map((column, at) => `${chunkCell("e", table, at)} AS ${column}`);
    this.#run(`CREATE TABLE ${realName(table)} AS
      SELECT ${[...selected, "c.seq + e.key AS i"].join(", ")}
      FROM chunk c CROSS JOIN json_each(c.json) e WHERE c.id = ${table.id} AND c.seq >= 0 ORDER BY c.seq, e.key`);
    const real = { ...table, isReal: true };
    this.#write(real);
    return real;
  }

  /** Returns the definition of a table for WITH: its columns under their names. */
  viewOf(
    table: LoadedTable,
    { name, columns, isRepeated, position, cellOf = (cell) => cell }: ViewOptions,
  ): string {
    const { id, isReal, showsIndex } = table;
    const [chunks, elements, rows] = [CHUNKS, ELEMENTS, ROWS].map((prefix) =>
      identifier(prefix + name),
    );
    const isUsed = (column: string) => columns?.includes(column.toLowerCase()) ?? true;
    const selected = table.columns.flatMap((column, at) => {
      const cell = isReal ? `${rows}.c${at}` : chunkCell(elements, table, at);
      return isUsed(column) ? `${cellOf(cell, at)} AS ${identifier(column)}` : [];
    });
    const hasIndex = table.columns.some((column) => column.toLowerCase() === INDEX);
    const at = isReal ? `${rows}.i` : `${chunks}.seq + ${elements}.key`;
    if (!hasIndex && (columns?.includes(INDEX) ?? showsIndex))
      selected.push(`${at} AS ${identifier(INDEX)}`);
    // First, because SQLite renames the second of two columns with one name.
    if (position !== undefined) selected.unshift(`${at} AS ${identifier(position)}`);
    const list = selected.length === 0 ? "1 AS `·`" : selected.join(", ");
    const from = isReal
      ? `${realName(table)} AS ${rows}`
      : `chunk AS ${chunks} CROSS JOIN json_each(${chunks}.json) AS ${elements} WHERE ${chunks}.id = ${id} AND ${chunks}.seq >= 0`;
    const isComputed = isRepeated && !isReal;
    return `${identifier(name)} AS ${isComputed ? "" : "NOT "}MATERIALIZED (SELECT ${list} FROM ${from})`;
  }

  /** Deletes all tables but these. */
  keep(keys: ReadonlySet<string>): void {
    this.#prepare();
    for (const table of this.#found.values()) if (!keys.has(table.key)) this.#drop(table);
    for (const [id, key] of this.#begun) {
      if (keys.has(key)) continue;
      this.#begun.delete(id);
      this.#run(`DELETE FROM chunk WHERE id = ?`, id);
    }
  }

  #drop(table: LoadedTable): void {
    this.#run(`DELETE FROM chunk WHERE id = ?`, table.id);
    if (table.isReal) this.#run(`DROP TABLE ${realName(table)}`);
    this.#found.delete(table.key);
    this.#uses.delete(table.id);
  }

  /** Reads which tables there are. Returns the number of the next one. */
  #prepare(): number {
    if (this.#next !== undefined) return this.#next;
    this.#run(`CREATE TABLE IF NOT EXISTS chunk (id INTEGER, seq INTEGER, json TEXT NOT NULL,
      PRIMARY KEY (id, seq)) WITHOUT ROWID`);
    // Tables whose loading was interrupted.
    this.#run(`DELETE FROM chunk WHERE id NOT IN (SELECT id FROM chunk WHERE seq = -1)`);
    for (const [json] of this.#all(`SELECT json FROM chunk WHERE seq = -1`)) {
      // Written by this class.
      const table = JSON.parse(String(json)) as LoadedTable;
      this.#found.set(table.key, table);
    }
    const [row] = this.#all(`SELECT coalesce(max(id), 0) + 1 FROM chunk`);
    this.#next = Number(row?.[0]);
    return this.#next;
  }

  #run(statement: string, ...bindings: readonly (string | number)[]): void {
    this.#all(statement, ...bindings);
  }

  #all(
    statement: string,
    ...bindings: readonly (string | number)[]
  ): readonly (readonly unknown[])[] {
    return [...this.#database.query(statement, ...bindings).rows];
  }
}

/** SQLite's limit in Durable Objects, the position included. */
const MAX_COLUMNS = 100;

/** The cell of a column in a row of a chunk. */
function chunkCell(elements: string | undefined, { cells = [] }: LoadedTable, at: number): string {
  const cell = `${elements}.value->>${at}`;
  const own = cells[at];
  return own === undefined ? cell : typedCell(cell, own);
}

function realName({ id }: LoadedTable): string {
  return `real_${id}`;
}
