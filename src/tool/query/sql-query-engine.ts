import { limitExceeded } from "../../errors.ts";
import * as limits from "../../limits.ts";
import type { QueryDatabase } from "./query-database.ts";
import { offsetOf, sqliteMessage } from "./sqlite-message.ts";
import { PlanEstimate, type PlanLine, type RowChars } from "./plan-estimate.ts";
import { LoadedTables, type LoadedTable, type RowGroups } from "./loaded-tables.ts";
import type {
  EngineAnswer,
  EngineQuery,
  QueryEngine,
  TableChunk,
  TableShape,
  VisitAllowance,
} from "./query-engine.ts";

/** Runs queries in SQLite. */
export class SqlQueryEngine implements QueryEngine {
  readonly #database: QueryDatabase;
  readonly #tables: LoadedTables;
  readonly #checked = new Map<string, number>();

  constructor(database: QueryDatabase) {
    this.#database = database;
    this.#tables = new LoadedTables(database);
  }

  async begin(key: string): Promise<number> {
    return this.#tables.begin(key);
  }

  async add(table: number, chunk: TableChunk): Promise<void> {
    this.#tables.add(table, chunk);
  }

  async complete(table: number, shape: TableShape): Promise<void> {
    this.#tables.complete(table, shape);
  }

  async keep(keys: readonly string[]): Promise<void> {
    this.#tables.keep(new Set(keys));
  }

  async run(query: EngineQuery): Promise<EngineAnswer> {
    this.#tables.keep(new Set([...query.tables.map(({ key }) => key), ...query.kept]));
    const found = query.tables.map(({ key }) => this.#tables.find(key));
    const missing = query.tables.filter((_, at) => found[at] === undefined);
    const tables = query.tables.map(({ name, rows = 1 }, at) => {
      const table = found[at];
      const known = missing.length === 0 && table !== undefined ? this.#tables.used(table) : table;
      return [name, known ?? standIn(query, rows)] as const;
    });
    const running = { query, tables: new Map(tables), checked: this.#checked };
    const run = new Run(this.#database, this.#tables, running);
    if (missing.length > 0)
      return run.refusal() ?? { kind: "missing", keys: missing.map(({ key }) => key) };
    const answer = run.answer();
    if (answer.kind !== "expensive" || !tables.some(([, { isReal }]) => isReal)) return answer;
    // SQLite has indexes for what it computes from chunks, and none of these tables.
    const chunks = tables.map(([name, table]) => [name, { ...table, isReal: false }] as const);
    return new Run(this.#database, this.#tables, { ...running, tables: new Map(chunks) }).answer();
  }
}

/** A table that is not loaded, as far as a plan can be made of it. */
function standIn({ names }: EngineQuery, rows: number): LoadedTable {
  return { id: 0, key: "", isReal: false, columns: names, rows, chars: 0, showsIndex: false };
}

interface Running {
  readonly query: EngineQuery;
  /** Tables by their names in the statement. */
  readonly tables: ReadonlyMap<string, LoadedTable>;
  /** Statements that may run, with the rows that they visit. Tables never change, so this is decided once. */
  readonly checked: Map<string, number>;
}

/** Combinations of columns whose values are counted for one statement. Each reads a table once. */
const MAX_MEASURED = 16;
/** A statement that is too expensive for this many rows is refused without reading the others. */
const SAMPLED_ROWS = 10_000;
/** Elements are counted in tables of up to this many characters, once for each column. */
const MAX_COUNTED_CHARS = 16_777_216;
const MAX_CHECKED = 64;
const MAX_CHECKED_CHARS = 16_384;

/** One query. */
class Run {
  readonly #database: QueryDatabase;
  readonly #loaded: LoadedTables;
  readonly #running: Running;
  readonly #views: string;

  constructor(database: QueryDatabase, loaded: LoadedTables, running: Running) {
    this.#database = database;
    this.#loaded = loaded;
    this.#running = running;
    const { tables, query } = running;
    const columns = query.usesAllColumns ? undefined : query.names;
    const options = { columns, isRepeated: query.facts.isJoin };
    const positions = new Map(query.tables.map(({ name, position }) => [name, position]));
    const views = Array.from(tables, ([name, table]) =>
      loaded.viewOf(table, { ...options, name, position: positions.get(name) }),
    );
    this.#views = views.length === 0 ? "" : `WITH ${views.join(",\n")}\n`;
  }

  answer(): EngineAnswer {
    try {
      const visits = this.#check();
      if (typeof visits !== "number") return visits;
      return this.#database.undone(() => this.#read(visits));
    } catch (error) {
      const { message, byte } = sqliteMessage(error);
      const explained =
        byte === undefined ? undefined : offsetOf(`EXPLAIN QUERY PLAN ${this.#whole}`, byte);
      const before = "EXPLAIN QUERY PLAN ".length + this.#opening.length;
      const at = explained === undefined ? undefined : explained - before;
      const columns = Array.from(this.#running.tables.values(), (table) => table.columns);
      return { kind: "failed", message, columns, ...(at === undefined || at < 0 ? {} : { at }) };
    }
  }

  /**
   * Refuses a statement some of whose tables are not loaded, if it would visit too many rows even if every
   * search found one row. Undefined if that is not known.
   */
  refusal(): EngineAnswer | undefined {
    try {
      const estimate = new PlanEstimate(this.#plan, {
        ...this.#sizes,
        columnsOf: () => [],
        sameRows: () => 1,
        groups: () => 1,
      });
      return estimate.visits > this.#allowed.most ? expensive(estimate) : undefined;
    } catch {
      // The plan needs the tables' columns.
      return undefined;
    }
  }

  get #opening(): string {
    return `${this.#views}SELECT * FROM (\n`;
  }

  get #whole(): string {
    return `${this.#opening}${this.#running.query.sql}\n)`;
  }

  get #plan(): readonly PlanLine[] {
    return this.#rows<PlanLine>(`EXPLAIN QUERY PLAN ${this.#whole}`);
  }

  /** Sizes of the tables for the estimate. */
  get #sizes() {
    const { query, tables } = this.#running;
    const sizes = [...tables.values()].map(charsOf);
    const most = (of: (chars: RowChars) => number) => Math.max(0, ...sizes.map(of));
    return {
      facts: query.facts,
      rowsOf: (name: string) => tables.get(name)?.rows,
      columnsOf: (name: string) => tables.get(name)?.columns,
      charsOf: (name: string) => {
        const table = tables.get(name);
        return table && charsOf(table);
      },
      chars: {
        average: most(({ average }) => average),
        largest: most(({ largest }) => largest),
        all: most(({ all }) => all),
      },
    };
  }

  /** Returns the rows that a statement visits, or the refusal of one that is too expensive. */
  #check(): number | EngineAnswer {
    const { checked, query } = this.#running;
    const key = `${query.facts.parameterChars} ${this.#whole}`;
    const known = checked.get(key);
    if (known !== undefined && known <= this.#allowed.uncounted) return known;
    const visits = this.#visits(this.#plan);
    if (typeof visits !== "number") return visits;
    if (checked.size >= MAX_CHECKED) checked.clear();
    if (key.length <= MAX_CHECKED_CHARS) checked.set(key, visits);
    return visits;
  }

  #visits(plan: readonly PlanLine[]): number | EngineAnswer {
    const options = this.#sizes;
    const { most, uncounted } = this.#allowed;
    let estimate = new PlanEstimate(plan, options);
    if (estimate.visits <= uncounted) return estimate.visits;
    if (estimate.searches.length === 0)
      return estimate.visits > most ? expensive(estimate) : estimate.visits;
    // A search visits all rows at worst. The data shows how many it visits, and the first rows give a minimum.
    for (const first of [SAMPLED_ROWS, Infinity]) {
      estimate = new PlanEstimate(plan, { ...options, ...this.#measured(first) });
      if (estimate.visits > most) return expensive(estimate);
    }
    return estimate.visits;
  }

  get #allowed(): VisitAllowance {
    const most = limits.maxQueryVisits;
    return this.#running.query.visits ?? { most, uncounted: most };
  }

  /** Counts the first rows of tables that have the same values. */
  #measured(first: number) {
    const known = new Map<string, RowGroups | undefined>();
    const groupsOf = (name: string, columns: readonly string[]) => {
      const table = this.#running.tables.get(name);
      const key = JSON.stringify([name, columns]);
      if (table !== undefined && !known.has(key) && known.size < MAX_MEASURED)
        known.set(key, this.#loaded.groupsOf(table, columns, first));
      return known.get(key);
    };
    const elementsOf = (name: string, column: string) => {
      const table = this.#running.tables.get(name);
      if (table === undefined || table.chars > MAX_COUNTED_CHARS) return undefined;
      return first === Infinity
        ? this.#loaded.elementsOf(table, column)
        : { average: 0, largest: 0 };
    };
    return {
      elements: elementsOf,
      sameRows: (name: string, columns: readonly string[]) => groupsOf(name, columns)?.largest,
      groups: (name: string, columns: readonly string[]) => groupsOf(name, columns)?.count,
    };
  }

  #rows<Row>(statement: string): readonly Row[] {
    const { columns, rows } = this.#database.query(statement, ...this.#running.query.parameters);
    return Array.from(
      rows,
      // SQLite documents the columns of its explanations.
      (row) => Object.fromEntries(columns.map((column, at) => [column, plain(row[at])])) as Row,
    );
  }

  #read(visits: number): EngineAnswer {
    const { parameters } = this.#running.query;
    const { columns: given, rows } = this.#database.query(this.#whole, ...parameters);
    const columns = distinctColumns(given);
    const keys = columns.map((column) => `${JSON.stringify(column)}:`);
    const records: string[] = [];
    let chars = 2;
    for (const row of rows) {
      if (records.length === limits.maxQueryRecords) return tooMany(records.length + 1);
      const record = `{${keys.map((key, at) => key + jsonOf(row[at], columns[at])).join(",")}}`;
      chars += record.length + 1;
      if (chars > limits.maxJsonBytes) {
        return {
          kind: "large",
          limit: "maxJsonBytes",
          maximum: limits.maxJsonBytes,
          actual: chars,
        };
      }
      records.push(record);
    }
    return {
      kind: "done",
      records: `[${records.join(",")}]`,
      count: records.length,
      columns,
      visits,
    };
  }
}

function charsOf({ rows, chars, largestRow = chars }: LoadedTable): RowChars {
  return { average: chars / Math.max(rows, 1), largest: largestRow, all: chars };
}

/** Some databases return whole numbers as bigints. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function expensive({ visits, scans }: PlanEstimate): EngineAnswer {
  return { kind: "expensive", estimate: Math.round(visits), scans };
}

function tooMany(actual: number): EngineAnswer {
  return { kind: "large", limit: "maxQueryRecords", maximum: limits.maxQueryRecords, actual };
}

/** SQLite makes names distinct with a colon and a number. */
function distinctColumns(columns: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  return columns.map((column) => {
    const [, base = column] = /^([^]*):\d+$/.exec(column) ?? [];
    const count = counts.get(base) ?? 0;
    const isRepeated = count > 0 && base !== column;
    const own = isRepeated ? base : column;
    counts.set(own, (counts.get(own) ?? 0) + 1);
    return isRepeated ? `${base}_${count + 1}` : column;
  });
}

function jsonOf(value: unknown, column = ""): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return String(Number(value));
  // Infinity has no JSON.
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "null";
  throw new Error(`${column} is bytes; write hex(…) or json(…) around it`);
}

/** Throws `limit_exceeded` for an answer that is too large. */
export function requireSmall(answer: EngineAnswer): void {
  if (answer.kind !== "large") return;
  const { limit, maximum, actual } = answer;
  throw limitExceeded(limit, { maximum, actual, advice: "Aggregate, or add a LIMIT." });
}
