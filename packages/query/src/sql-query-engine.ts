import { distinctNames } from "../../../src/internal.ts";
import { limitExceeded, maxima, messageOf } from "../../../src/errors.ts";
import { formatPath } from "../../../src/references.ts";
import * as limits from "../../../src/limits.ts";
import { type CellUse, cellUses, type Instruction, markCell, TRUTH } from "./cell-uses.ts";
import {
  type ColumnCells,
  emptyNote,
  isMostlyNumbers,
  isSameResult,
  nullIfEmpty,
  numberIn,
  numberNote,
  truthOf,
  typedCell,
  useNotes,
} from "./column-cells.ts";
import {
  type EngineAnswer,
  type EngineQuery,
  type QueryDatabase,
  type QueryEngine,
  type Refused,
  refusalOf,
  type TableChunk,
  type TableShape,
  tooExpensive,
} from "./query-engine.ts";
import { CHUNKS, ELEMENTS, planBound, type PlanLine, ROWS } from "./plan-bound.ts";
import { identifier } from "./sql-tokens.ts";

/**
 * Runs queries in SQLite. A table is loaded as chunks of JSON, a row each, because rows are what is billed. A small one
 * that is used again becomes a table of SQLite, which is read many times faster.
 */
export class SqlQueryEngine implements QueryEngine {
  readonly #database: QueryDatabase;
  readonly #found = new Map<string, LoadedTable>();
  /** The numbers of the tables that are being loaded, by key. */
  readonly #begun = new Map<string, number>();
  readonly #uses = new Map<number, number>();
  /** The number of the next table; undefined before the database is read. */
  #next: number | undefined;

  constructor(database: QueryDatabase) {
    this.#database = database;
  }

  async run(query: EngineQuery): Promise<EngineAnswer> {
    await this.keep([...query.tables.map(({ key }) => key), ...query.kept]);
    const missing = query.tables.filter(({ key }) => !this.#found.has(key));
    if (missing.length > 0) return { kind: "missing", keys: missing.map(({ key }) => key) };
    const tables = query.tables.flatMap(({ name, key }) => {
      const table = this.#found.get(key);
      return table === undefined ? [] : [[name, this.#used(table)] as const];
    });
    const answer = new Run(this.#database, query, new Map(tables)).answer();
    if (answer.kind !== "refused" || answer.code !== "query_too_expensive") return answer;
    // SQLite has indexes for what it computes from chunks, and none of these tables.
    const chunks = tables.map(([name, table]) => [name, { ...table, isReal: false }] as const);
    return new Run(this.#database, query, new Map(chunks)).answer();
  }

  async add(key: string, { first, json, shape }: TableChunk): Promise<void> {
    const next = this.#prepare();
    if (first === 0) {
      this.#forget(key);
      this.#begun.set(key, next);
      this.#next = next + 1;
    }
    const id = this.#begun.get(key);
    if (id === undefined) return;
    this.#run(`INSERT INTO chunk (id, seq, json) VALUES (?, ?, ?)`, id, first, json);
    if (shape === undefined) return;
    this.#begun.delete(key);
    const before = this.#found.get(key);
    if (before !== undefined) this.#drop(before);
    this.#write({ ...shape, id, key, isReal: false });
  }

  /** Writes what is known of a table, before its rows. */
  #write(table: LoadedTable): void {
    const json = JSON.stringify(table);
    this.#run(`INSERT OR REPLACE INTO chunk (id, seq, json) VALUES (?, -1, ?)`, table.id, json);
    this.#found.set(table.key, table);
  }

  /** Counts a use. Returns the table in the form in which it is read from now on. */
  #used(table: LoadedTable): LoadedTable {
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

  async keep(keys: readonly string[]): Promise<void> {
    this.#prepare();
    for (const table of this.#found.values()) if (!keys.includes(table.key)) this.#drop(table);
    for (const key of this.#begun.keys()) if (!keys.includes(key)) this.#forget(key);
  }

  /** Deletes what is loaded of a table so far. */
  #forget(key: string): void {
    const id = this.#begun.get(key);
    if (id !== undefined) this.#run(`DELETE FROM chunk WHERE id = ?`, id);
    this.#begun.delete(key);
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

/** A column that a statement uses. `id`: unique in the statement. */
interface UsedColumn {
  readonly id: string;
  readonly name: string;
  readonly cells: ColumnCells;
}

/** What to read in place of the cells of columns, by their ids. */
type Readings = ReadonlyMap<string, (cell: string) => string>;

/** A column that a statement may take for what it is not. */
interface Suspect {
  readonly id: string;
  /** What is meant, perhaps. */
  readonly read: (cell: string) => string;
  readonly note: string;
}

/** Columns that are tried one by one to find on which of them a result depends. */
const MAX_SUSPECTS = 8;
/** Each element of an array takes at least this many characters. */
const CHARS_OF_ELEMENT = 2;

class Run {
  readonly #database: QueryDatabase;
  readonly #query: EngineQuery;
  /** Tables by their names in the statement. */
  readonly #tables: ReadonlyMap<string, LoadedTable>;
  readonly #columns: readonly UsedColumn[];
  readonly #uses: ReadonlyMap<string, ReadonlySet<CellUse>>;
  readonly #readings: Readings;
  readonly #views: string;

  /** `readings`: of a run whose result is compared with another one's. */
  constructor(
    database: QueryDatabase,
    query: EngineQuery,
    tables: ReadonlyMap<string, LoadedTable>,
    readings?: Readings,
  ) {
    this.#database = database;
    this.#query = query;
    this.#tables = tables;
    this.#columns = Array.from(tables, ([table, { columns, cells = [] }]) =>
      columns.flatMap((name, at) => {
        const own = cells[at];
        const isUsed = query.usesAllColumns || query.names.includes(name.toLowerCase());
        return isUsed && own !== undefined ? [{ id: idOf(table, at), name, cells: own }] : [];
      }),
    ).flat();
    const truths = new Map(
      this.#columns.flatMap(({ id, cells }) => (cells.type === "truth" ? [[id, truthOf]] : [])),
    );
    this.#uses = readings === undefined ? this.#usesWith(truths) : new Map();
    // TRUE and FALSE are 1 and 0, unless the statement compares them with texts.
    const isText = (id: string) => this.#uses.get(id)?.has("truths") === true;
    this.#readings = readings ?? new Map([...truths].filter(([id]) => !isText(id)));
    this.#views = this.#viewsWith(this.#readings, query.isJoin);
  }

  /** Returns the uses of the columns with texts or booleans. */
  #usesWith(truths: Readings): ReadonlyMap<string, ReadonlySet<CellUse>> {
    const namesTruth = this.#texts.some((text) => TRUTH.test(text));
    const marked = this.#columns.filter(({ cells: { type, booleans } }) => {
      const isTruth = namesTruth && (type === "truth" || booleans > 0);
      return type === "text" || type === "mixed" || isTruth;
    });
    if (marked.length === 0) return new Map();
    const readings = new Map(truths);
    const cleanable = new Set<string>();
    for (const { id, cells } of marked) {
      if (!cells.hasDecimalComma) cleanable.add(id);
      readings.set(id, (cell) =>
        cells.type === "number" ? markCell(cell, id) : typedCell(markCell(cell, id), cells),
      );
    }
    const views = this.#viewsWith(readings, false);
    try {
      const explained = `EXPLAIN ${views}SELECT * FROM (\n${this.#query.sql}\n)`;
      return cellUses(this.#rows<Instruction>(explained), (id) => cleanable.has(id));
    } catch {
      // The statement is wrong, or exceeds a limit with its marks.
      return new Map();
    }
  }

  /** The definitions of the tables. `isRepeated`: the statement reads more than one, or one more than once. */
  #viewsWith(readings: Readings, isRepeated: boolean): string {
    const views = Array.from(this.#tables, ([name, table]) => {
      const isComputed = isRepeated && !table.isReal;
      return `${identifier(name)} AS ${isComputed ? "" : "NOT "}MATERIALIZED (${this.#selectOf(name, table, readings)})`;
    });
    return views.length === 0 ? "" : `WITH ${views.join(",\n")}\n`;
  }

  /** Reads the columns of a table that the statement may use, under their names. */
  #selectOf(table: string, loaded: LoadedTable, readings: Readings): string {
    const { usesAllColumns, names, tables, position } = this.#query;
    const { id, isReal, showsIndex, columns } = loaded;
    const [chunks, elements, rows] = [CHUNKS, ELEMENTS, ROWS].map((prefix) =>
      identifier(prefix + table),
    );
    const selected = columns.flatMap((column, at) => {
      if (!usesAllColumns && !names.includes(column.toLowerCase())) return [];
      const cell = isReal ? `${rows}.c${at}` : chunkCell(elements, loaded, at);
      return `${readings.get(idOf(table, at))?.(cell) ?? cell} AS ${identifier(column)}`;
    });
    const hasIndex = columns.some((column) => column.toLowerCase() === INDEX);
    const at = isReal ? `${rows}.i` : `${chunks}.seq + ${elements}.key`;
    if (!hasIndex && (usesAllColumns ? showsIndex : names.includes(INDEX)))
      selected.push(`${at} AS ${identifier(INDEX)}`);
    // First, because SQLite renames the second of two columns with one name.
    if (position !== undefined && table === tables[0]?.name)
      selected.unshift(`${at} AS ${identifier(position)}`);
    const list = selected.length === 0 ? "1 AS `·`" : selected.join(", ");
    return isReal
      ? `SELECT ${list} FROM ${realName(loaded)} AS ${rows}`
      : `SELECT ${list} FROM chunk AS ${chunks} CROSS JOIN json_each(${chunks}.json) AS ${elements} WHERE ${chunks}.id = ${id} AND ${chunks}.seq >= 0`;
  }

  /** The texts in the statement, and those that references have. */
  get #texts(): readonly string[] {
    return [...this.#query.texts, ...this.#query.parameters];
  }

  answer(): EngineAnswer {
    try {
      if (this.#query.usesAllColumns && this.#omitted !== undefined) return this.#omitted;
      const refusal = this.#refusal();
      if (refusal !== undefined) return refusal;
      const read = this.#database.undone(() => this.#read());
      if ("kind" in read) return read;
      const { columns, records, notes } = read;
      return {
        kind: "done",
        records: `[${records.join(",")}]`,
        count: records.length,
        columns,
        notes: [...notes, ...this.#notes(records)],
      };
    } catch (error) {
      // Durable Objects say `message at offset 7: SQLITE_ERROR`.
      const message = messageOf(error).replace(/(?: at offset \d+)?(?:: SQLITE_[A-Z_]+)?$/, "");
      if (message.startsWith("no such column") && this.#omitted !== undefined) return this.#omitted;
      const columns = Array.from(this.#tables.values(), (table) => table.columns);
      return { kind: "failed", message, columns };
    }
  }

  /** The answer to a statement that may use columns that are not loaded. */
  get #omitted(): EngineAnswer | undefined {
    for (const [name, { columns, omitted }] of this.#tables) {
      if (omitted === undefined) continue;
      const { count, first } = omitted;
      const part = formatPath([{ each: true }, { key: first[0] ?? "" }]);
      const rest = count > first.length ? ` and ${count - first.length} more` : "";
      const advice = `The last ones are no columns here: ${first.join(", ")}${rest}. Name the columns that you need, or query one of these as FROM $${shownName(this.#query, name)}${part}.`;
      const [maximum, actual] = [limits.maxQueryColumns, columns.length + count];
      return refusalOf(limitExceeded("maxQueryColumns", { maximum, actual, advice }));
    }
    return undefined;
  }

  /** Says which columns the statement takes for what they are not. */
  #notes(records: readonly string[]): readonly string[] {
    const said = this.#columns.flatMap(({ id, name, cells }) =>
      useNotes(name, cells, this.#uses.get(id) ?? new Set()),
    );
    const { usesAllColumns, names } = this.#query;
    const renamed = [...this.#tables.values()].flatMap((table) => table.renamed ?? []);
    for (const [key, column] of renamed) {
      if (!usesAllColumns && !names.includes(key.toLowerCase())) continue;
      const is = `${identifier(column)} has the values of the key ${identifier(key)}`;
      said.push(`${is}, whose name SQL takes for another.`);
    }
    return [...said, ...this.#numberNotes(records)];
  }

  /** Runs the statement again with numbers in place of texts. Says on which columns its result depends. */
  #numberNotes(records: readonly string[]): readonly string[] {
    const suspects = this.#suspects;
    const depends = (some: readonly Suspect[]) => {
      const readings = new Map(this.#readings);
      for (const { id, read } of some) readings.set(id, read);
      const other = new Run(this.#database, this.#query, this.#tables, readings);
      if (other.#refusal() !== undefined) return false;
      const read = this.#database.undone(() => other.#read());
      return "records" in read && !isSameResult(records, read.records);
    };
    try {
      if (suspects.length === 0 || !depends(suspects)) return [];
      const few = suspects.slice(0, MAX_SUSPECTS);
      const found = few.length === 1 ? few : few.filter((suspect) => depends([suspect]));
      return (found.length === 0 ? few : found).map(({ note }) => note);
    } catch {
      // A statement that fails with numbers depends on the texts.
      return [];
    }
  }

  /** Columns of texts that the statement takes for numbers, or tests for NULL. */
  get #suspects(): readonly Suspect[] {
    const { names } = this.#query;
    // An empty text is what REPLACE puts in place of others.
    const named = this.#texts.filter((text) => text !== "" || !names.includes("replace"));
    return this.#columns.flatMap(({ id, name, cells }): readonly Suspect[] => {
      const uses = this.#uses.get(id);
      if (uses === undefined || cells.type === "number" || cells.type === "truth") return [];
      if (uses.has("numbers") || (uses.has("order") && isMostlyNumbers(cells))) {
        const read = (cell: string) => numberIn(cell, cells, named);
        return [{ id, read, note: numberNote(name, cells) }];
      }
      if (!uses.has("nulls") || cells.empty === 0) return [];
      return [{ id, read: (cell) => nullIfEmpty(cell, named), note: emptyNote(name, cells) }];
    });
  }

  get #whole(): string {
    return `${this.#views}SELECT * FROM (\n${this.#query.sql}\n)`;
  }

  #refusal(): EngineAnswer | undefined {
    const query = this.#query;
    const lines = this.#rows<PlanLine>(`EXPLAIN QUERY PLAN ${this.#whole}`);
    const shapes = [...this.#tables.values()];
    const averages = shapes.map(({ chars, rows }) => chars / Math.max(rows, 1));
    const largest = shapes.map(({ chars, largestRow = chars }) => largestRow);
    const parameters = query.parameters.map(({ length }) => length);
    const elementsIn = (chars: readonly number[]) =>
      Math.max(2, ...parameters, ...chars) / CHARS_OF_ELEMENT;
    const { visits, scans } = planBound(lines, {
      query,
      rowsOf: (name) => this.#tables.get(name)?.rows,
      elements: elementsIn(averages),
      mostElements: elementsIn(largest),
    });
    const maximum = limits.maxQueryVisits;
    if (visits <= maximum) return undefined;
    const estimate = Math.round(visits);
    const shown = scans.map(({ table, rows }) => ({ table: shownName(query, table), rows }));
    const listed = shown.map(({ table, rows }) => `${table}: ${rows}`).join(", ");
    const said = `The statement would visit about ${estimate} rows, and may visit ${maximum} (rows for each reading: ${listed}).`;
    return tooExpensive(said, { estimate, scans: shown });
  }

  #rows<Row>(statement: string): readonly Row[] {
    const { columns, rows } = this.#database.query(statement, ...this.#query.parameters);
    return Array.from(
      rows,
      // SQLite documents the columns of its explanations.
      (row) =>
        Object.fromEntries(
          columns.map((column, at) => [
            column,
            typeof row[at] === "bigint" ? Number(row[at]) : row[at],
          ]),
        ) as Row,
    );
  }

  /** `exact`: the statement's own names of columns whose whole numbers are read as their digits. */
  #read(own: readonly string[] = [], exact = new Set<number>()): Read {
    const { parameters, sql } = this.#query;
    const digits = own.map((name, at) => (exact.has(at) ? digitsOf(name) : identifier(name)));
    const whole =
      exact.size === 0
        ? this.#whole
        : `${this.#views}SELECT ${digits.join(", ")} FROM (\n${sql}\n)`;
    const { columns: read, rows } = this.#database.query(whole, ...parameters);
    const given = exact.size === 0 ? read : own;
    const columns = distinctColumns(given);
    const rounded = new Set<number>();
    const notes = new Set<string>();
    const keys = columns.map((column) => `${JSON.stringify(column)}:`);
    const records: string[] = [];
    let chars = 2;
    for (const row of rows) {
      if (records.length === limits.maxQueryRecords)
        return tooLarge("maxQueryRecords", records.length + 1);
      for (const [at, value] of row.entries()) {
        // Durable Objects return every number as a double, and may have rounded this one.
        if (Number.isInteger(value) && !Number.isSafeInteger(value)) rounded.add(at);
        if (value === Infinity || value === -Infinity)
          notes.add(`${keys[at]} null is beyond the largest number.`);
      }
      const cells = keys.map(
        (key, at) => key + jsonOf(row[at], exact.has(at) ? undefined : columns[at]),
      );
      for (const cell of cells) if (MOST_WHOLE.test(cell)) notes.add(`${cell} ${MAY_BE_CUT}`);
      const record = `{${cells.join(",")}}`;
      chars += record.length + 1;
      if (chars > limits.maxJsonBytes) return tooLarge("maxJsonBytes", chars);
      records.push(record);
    }
    if (rounded.size > 0 && exact.size === 0) return this.#read(given, rounded);
    return { columns, records, notes: [...notes] };
  }
}

type Read = Readonly<Record<"columns" | "records" | "notes", readonly string[]>> | Refused;

function idOf(table: string, at: number): string {
  return `${table} ${at}`;
}

/** The ends of SQL's whole numbers. */
const MOST_WHOLE = /:(?:9223372036854775807|-9223372036854775808)$/;
const MAY_BE_CUT = "may be cut: CAST(… AS INTEGER) ends at 64 bits. Leave longer numbers as text.";

function tooLarge(limit: "maxQueryRecords" | "maxJsonBytes", actual: number): Refused {
  const advice = "Aggregate, add a LIMIT, or edit fewer records in one call.";
  return refusalOf(limitExceeded(limit, { maximum: maxima[limit], actual, advice }));
}

/** What the author of a statement calls a table. */
function shownName({ tables }: EngineQuery, table: string): string {
  return tables.find(({ name }) => name === table)?.shown ?? table;
}

/** SQLite makes names distinct with a colon and a number. */
function distinctColumns(columns: readonly string[]): readonly string[] {
  const written = columns.map((column, at) => {
    const [, base] = /^([^]*):\d+$/.exec(column) ?? [];
    return base !== undefined && columns.slice(0, at).includes(base) ? base : column;
  });
  return distinctNames(written);
}

/** A whole number as bytes of its digits: nothing else in a result is bytes. */
function digitsOf(column: string): string {
  const name = identifier(column);
  return `CASE typeof(${name}) WHEN 'integer' THEN CAST(CAST(${name} AS TEXT) AS BLOB) ELSE ${name} END`;
}

/** `column`: the name of one that must not be bytes; undefined for one with digits. */
function jsonOf(value: unknown, column: string | undefined): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return String(value);
  if (column === undefined && (value instanceof Uint8Array || value instanceof ArrayBuffer))
    return new TextDecoder().decode(value);
  // Infinity has no JSON.
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  throw new Error(`${column} is bytes; write hex(…) or json(…) around it`);
}

interface LoadedTable extends TableShape {
  readonly id: number;
  readonly key: string;
  /** True if it is a table of SQLite; else chunks of JSON. */
  readonly isReal: boolean;
}

/** The name of the column with the position. */
export const INDEX = "index";

/** SQLite's limit in Durable Objects, the position included. */
const MAX_COLUMNS = 100;

function chunkCell(elements: string | undefined, { cells = [] }: LoadedTable, at: number): string {
  const cell = `${elements}.value->>${at}`;
  const own = cells[at];
  return own === undefined ? cell : typedCell(cell, own);
}

function realName({ id }: LoadedTable): string {
  return `real_${id}`;
}
