import { type Bound, ByrefError, requireAtMost } from "../../../src/errors.ts";
import {
  distinctNames,
  encoding,
  json,
  requireWellFormed,
  sequences,
  targets,
  type ValueLabels,
  type VariableStore,
  type stores,
} from "../../../src/internal.ts";
import type {
  EngineAnswer,
  EngineQuery,
  QueryEngine,
  TableChunk,
  TableShape,
} from "./query-engine.ts";
import { readStatement } from "./read-statement.ts";
import * as limits from "../../../src/limits.ts";
import type { Json } from "../../../src/references.ts";
import { CellCounter } from "./column-cells.ts";

/**
 * The databases of a conversation, from the smallest: trusted values that a model may see, all values that a model
 * may see, all that a person may see.
 */
export const AUTHORITIES = ["trusted", "visible", "person"] as const;

export type Authority = (typeof AUTHORITIES)[number];

/** The smallest database that may hold a value. Undefined for a secret, which none may hold. */
export function authorityOf({
  visibility,
  trusted,
  flags = [],
}: ValueLabels): Authority | undefined {
  if (visibility === "secret") return undefined;
  if (visibility === "sealed") return "person";
  return trusted && flags.length === 0 ? "trusted" : "visible";
}

export interface AuthorizedTable extends TableSource {
  readonly authority: Authority;
}

/**
 * Runs statements where everything that they could read is something that their reader may have, whatever they
 * say (decision 0028). One instance for each conversation or store.
 */
export class QueryDatabases {
  /** Reads statements, for messages, references and estimates. Nothing depends on it that must hold. */
  readonly reader: typeof readStatement;
  readonly #open: (authority: Authority) => QueryEngine;
  readonly #opened = new Map<Authority, OpenedDatabase>();

  constructor(open: (authority: Authority) => QueryEngine, reader = readStatement) {
    this.#open = open;
    this.reader = reader;
  }

  /**
   * Runs a query in the smallest database that may hold its tables. Loads what is missing. Throws
   * `variable_sealed` if that is larger than `most`.
   */
  async run(
    query: Omit<EngineQuery, "kept">,
    tables: readonly AuthorizedTable[],
    most: Authority,
  ): Promise<EngineAnswer> {
    const needed = tables.map(({ authority }) => AUTHORITIES.indexOf(authority));
    const authority = AUTHORITIES[Math.max(0, ...needed)] ?? "person";
    if (AUTHORITIES.indexOf(authority) > AUTHORITIES.indexOf(most))
      throw new ByrefError("variable_sealed", "A query cannot read sealed values here.");
    return this.#database(authority).run(query, tables);
  }

  /**
   * Calls `onStale` in the transaction of a change after which a copy may be where it must not be, or is of no use.
   * No statement reads such a copy in any case, because `run` deletes it first.
   */
  watch(store: Pick<VariableStore, "observe">, onStale: () => void): void {
    store.observe(({ kind, info }) => {
      const isGone = kind === "deleted" || kind === "evicted";
      if (isGone || (info.version > 1 && authorityOf(info) !== "trusted")) onStale();
    });
  }

  /** Deletes all copies. Default: in the databases that this instance has used. */
  async clear(authorities: Iterable<Authority> = this.#opened.keys()): Promise<void> {
    await Promise.all(Array.from(authorities, (one) => this.#database(one).clear()));
  }

  #database(authority: Authority): OpenedDatabase {
    const opened =
      this.#opened.get(authority) ??
      new OpenedDatabase(this.#open(authority), authority === "trusted");
    this.#opened.set(authority, opened);
    return opened;
  }
}

/** Tables are loaded and may be lost before the query runs; then again. */
const MAX_ATTEMPTS = 3;

/** One of the databases, in which one query runs at a time. */
class OpenedDatabase {
  readonly #engine: QueryEngine;
  /** True if tables stay when a query does not name them: they add nothing to the labels of its result. */
  readonly #keepsOthers: boolean;
  /** The tables that may be in it, by key. */
  #kept: ReadonlyMap<string, TableSource> = new Map();
  #last: Promise<unknown> = Promise.resolve();

  constructor(engine: QueryEngine, keepsOthers: boolean) {
    this.#engine = engine;
    this.#keepsOthers = keepsOthers;
  }

  run(query: Omit<EngineQuery, "kept">, tables: readonly TableSource[]): Promise<EngineAnswer> {
    const answer = this.#last.then(() => this.#answer(query, tables));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async clear(): Promise<void> {
    this.#kept = new Map();
    await this.#engine.keep([]);
  }

  async #answer(
    query: Omit<EngineQuery, "kept">,
    tables: readonly TableSource[],
  ): Promise<EngineAnswer> {
    const own = tables.map((table) => [table.key, table] as const);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const others = [...this.#kept].filter(
        ([key, table]) =>
          this.#keepsOthers && table.isCurrent() && !tables.some((one) => one.key === key),
      );
      this.#kept = new Map([...others, ...own]);
      const answer = await this.#engine.run({ ...query, kept: others.map(([key]) => key) });
      if (answer.kind === "missing") {
        const missing = tables.filter(({ key }) => answer.keys.includes(key));
        for (const table of missing) await loadTable(this.#engine, table);
      } else if (others.every(([, table]) => table.isCurrent())) return answer;
    }
    throw new ByrefError("conflict", "The tables of the query are not kept; try again.");
  }
}

interface TableSource {
  readonly store: stores.Variables;
  readonly target: targets.Target;
  readonly read: sequences.ReadTarget;
  /** Identifies the value in the engine. */
  readonly key: string;
  /** True as long as the variable has this value, and its labels allow it in the engine's database. */
  isCurrent(): boolean;
}

/**
 * Loads a value into the engine as a table: records with a column for each key; other elements of an array as `value`;
 * an object as `key` and `value`; a text as `line` and `text`. Throws the errors of reading, `limit_exceeded` for a row
 * of more than `maxQueryRowBytes`, and `conflict` once the source is not current: nothing is written after that.
 */
async function loadTable(engine: QueryEngine, source: TableSource): Promise<void> {
  const { store, target, read } = source;
  const part = await sequences.partAt(store, target, read);
  const write = (rows: Values, options?: TableOptions) => writeTable(engine, source, rows, options);
  if (!("sequence" in part)) {
    const { value } = part;
    const isObject = !json.isScalar(value);
    const rows = isObject
      ? Object.entries(value).map(([key, inner]) => ({ key, value: inner }))
      : [{ value }];
    await write(rows, { columns: isObject ? ["key", "value"] : ["value"] });
    return;
  }
  const { sequence } = part;
  if (sequence.type === "string") {
    await write(linesOf(sequence), { columns: ["line", "text"] });
    return;
  }
  const depth = target.path.filter((segment) => "each" in segment).length;
  const elements = async () => {
    if (depth === 0) return elementsOf(sequence);
    const all = await sequence.slice(0, sequence.count);
    return flattened(json.isJsonArray(all) ? all : [], depth);
  };
  if (await write(await elements())) return;
  // An element that is not an object.
  await write(asValues(await elements()), { columns: ["value"], showsIndex: true });
}

type Values = AsyncIterable<Json> | Iterable<Json>;

async function* elementsOf(sequence: sequences.Sequence): AsyncGenerator<Json> {
  for await (const { value } of sequences.childrenOf({ sequence })) yield value;
}

/** The elements of all arrays that a path with `depth` times `[*]` finds, and in arrays that end it. */
function flattened(values: readonly Json[], depth: number): readonly Json[] {
  if (!values.every(json.isJsonArray)) return values;
  const inner = values.flat();
  return depth === 0 ? inner : flattened(inner, depth - 1);
}

async function* asValues(values: Values): AsyncGenerator<Json> {
  for await (const value of values) yield { value };
}

/** Characters of a text that are read at once. */
const TEXT_CHARS = 262_144;

async function* linesOf(text: sequences.Sequence): AsyncGenerator<Json> {
  let line = 0;
  let rest = "";
  for (let from = 0; from < text.count; from += TEXT_CHARS) {
    const read = await text.slice(from, Math.min(from + TEXT_CHARS, text.count));
    const lines = `${rest}${String(read)}`.split("\n");
    rest = lines.pop() ?? "";
    for (const one of lines) yield { line: ++line, text: one.replace(/\r$/, "") };
  }
  if (rest !== "") yield { line: ++line, text: rest };
}

interface TableOptions {
  /** The columns that the table has in any case. */
  readonly columns?: readonly string[];
  readonly showsIndex?: boolean;
}

/** The most names of columns in a message. */
const MAX_NAMED = 10;
const ROW_BYTES: Bound = "maxQueryRowBytes";

/** Writes records as the table of a source. Returns false if one is not an object: the table is then not completed. */
async function writeTable(
  engine: QueryEngine,
  { key, target, isCurrent }: TableSource,
  records: Values,
  { columns: given = [], showsIndex = false }: TableOptions = {},
): Promise<boolean> {
  const columns = new Map(given.map((column, at) => [column, at]));
  const counters: CellCounter[] = [];
  const omitted = new Set<string>();
  let [rows, chars, largestRow, waitingBytes] = [0, 0, 0, 0];
  let waiting: string[] = [];
  for await (const record of records) {
    if (!json.isJsonObject(record)) return false;
    const row = rowOf(record);
    if (mayHaveHalf(row)) refuseHalf(record);
    const bytes = encoding.byteLength(row) + 1;
    requireAtMost(ROW_BYTES, bytes, "Query a part of it, such as $name[*].key.");
    largestRow = Math.max(largestRow, bytes);
    if (waitingBytes + bytes > limits.maxQueryChunkBytes) await engine.add(key, nextChunk());
    waiting.push(row);
    waitingBytes += bytes;
  }
  // An array without elements may be one of anything.
  if (waiting.length === 0 && rows === 0 && columns.size === 0) return false;
  await engine.add(key, { ...nextChunk(), shape: shape() });
  return true;

  function nextChunk(): TableChunk {
    if (!isCurrent()) {
      // What was read may be another value by now, or one that this database must not have.
      const message = `${targets.referenceTo(target)} has changed while the query read it. Try again.`;
      throw new ByrefError("conflict", message);
    }
    const chunk = { first: rows, json: `[${waiting.join(",")}]` };
    rows += waiting.length;
    chars += chunk.json.length;
    waiting = [];
    waitingBytes = 0;
    return chunk;
  }

  function shape(): TableShape {
    const first = [...omitted].slice(0, MAX_NAMED);
    const keys = [...columns.keys()];
    // A statement cannot contain NUL.
    const written = keys.map((one) => one.replaceAll("\0", "\ufffd"));
    const names = distinctNames(written, sqlName, RESERVED);
    const renamed = keys.flatMap((one, at) => {
      const column = names[at] ?? one;
      return column.length > one.length ? [[one, column] as const] : [];
    });
    return {
      columns: names,
      ...(renamed.length > 0 && { renamed }),
      cells: Array.from(columns, (_, at) => (counters[at] ?? new CellCounter()).cells()),
      ...(first.length === 0 ? {} : { omitted: { count: omitted.size, first } }),
      rows,
      chars,
      largestRow,
      showsIndex,
    };
  }

  /** SQLite would read three other characters. */
  function refuseHalf(record: json.JsonObject): void {
    requireWellFormed(record, "a table", [...target.path, { index: rows + waiting.length }]);
  }

  function rowOf(record: json.JsonObject): string {
    const row: Json[] = Array.from({ length: columns.size }, () => null);
    for (const [name, value] of Object.entries(record)) {
      let at = columns.get(name);
      if (at === undefined) {
        if (columns.size >= limits.maxQueryColumns) {
          omitted.add(name);
          continue;
        }
        if (!name.isWellFormed()) refuseHalf(record);
        at = columns.size;
        columns.set(name, at);
      }
      const cell = cellOf(value);
      row[at] = cell;
      (counters[at] ??= new CellCounter()).add(cell, rows + waiting.length);
    }
    return JSON.stringify(row);
  }
}

/** Returns a number that a double does not give back with its digits if it has 64 bits, else as a text. */
function cellOf(value: Json): Json {
  if (typeof value !== "object" || value === null || !("rawJSON" in value)) return value;
  const digits = JSON.stringify(value);
  // An object with such a key.
  if (digits.startsWith("{")) return value;
  const isWhole = /^-?\d+$/.test(digits);
  return isWhole && BigInt.asIntN(64, BigInt(digits)) === BigInt(digits) ? value : digits;
}

/** A name as SQL compares it: it ignores the case of ASCII letters. */
function sqlName(name: string): string {
  return name.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());
}

/** Names that SQLite takes for values: it would give the columns others. */
const RESERVED = ["true", "false"];

/** True for a text with half of a character, and for JSON with the escape of one. */
export function mayHaveHalf(text: string): boolean {
  return !text.isWellFormed() || ESCAPED_HALF.test(text);
}

/** As `JSON.stringify` writes one. */
const ESCAPED_HALF = /(?<!\\)(?:\\\\)*\\ud[89a-f]/u;
