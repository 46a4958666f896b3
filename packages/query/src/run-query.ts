import { ByrefError, limitExceeded } from "../../../src/errors.ts";
import * as limits from "../../../src/limits.ts";
import { formatPath, type Json, type Path, type Syntax } from "../../../src/references.ts";
import {
  json,
  nearest,
  requireWellFormed,
  type sequences,
  targets,
  type stores,
} from "../../../src/internal.ts";
import { newestVisible } from "../../../src/internal-tool.ts";
import type { VariableInfo } from "../../../src/runtime.ts";
import { queryProblem, type TableColumns } from "./query-problem.ts";
import { INDEX } from "./sql-query-engine.ts";
import {
  AUTHORITIES,
  type Authority,
  authorityOf,
  type AuthorizedTable,
  mayHaveHalf,
  type QueryDatabases,
} from "./query-databases.ts";
import type { AliasFacts, EngineAnswer, EngineQuery } from "./query-engine.ts";
import type { Token } from "./sql-tokens.ts";
import {
  type AliasTarget,
  type ParameterUse,
  SelectGroup,
  type Statement,
  type TableUse,
} from "./read-statement.ts";
import { type Rewritten, rewrite } from "./rewrite-statement.ts";

/** The store and databases of a query, and the variables that it may read. */
export interface QueryAccess {
  readonly store: stores.Variables;
  readonly databases: QueryDatabases;
  /** The largest database in which it may run. */
  readonly most: Authority;
  readonly syntaxes: readonly Syntax[];
  /**
   * Returns the variable of a table. Throws if it must not be one. Called again when its value is read. Records
   * the variable's labels.
   */
  readonly table: (target: targets.Target) => VariableInfo;
  readonly read: sequences.ReadTarget;
  /** Returns the value of a reference, by its source; undefined for an unknown name. */
  readonly parameter: (source: string) => Promise<Json | undefined>;
  /** The content of the statement's first table, whatever its name. It has a column `POSITION`. */
  readonly first?: targets.Target | undefined;
}

/** The column with the position of a row in the first table, if the access defines that table. */
export const POSITION = "$position";

/** A value that is not stored, which replaces that of the first table in one run of a statement. */
interface Replacing {
  /** Identifies the value in the engine. */
  readonly key: string;
  readonly read: sequences.ReadTarget;
  /** False as soon as its table may be deleted. */
  isNeeded(): boolean;
}

export interface QueryResult extends Omit<Extract<EngineAnswer, { kind: "done" }>, "kind"> {
  /** The names of the variables that are tables in it. */
  readonly variables: readonly string[];
}

/**
 * Runs one SQL statement over variables. Throws `bad_query`, `bad_value`, `query_not_allowed`, `query_too_expensive`,
 * `not_queryable`, `limit_exceeded`, and the errors of variables that cannot be read.
 */
export async function runQuery(sql: string, access: QueryAccess): Promise<QueryResult> {
  return (await prepareQuery(sql, access))();
}

/** Reads a statement and resolves its references. Returns the function that runs it. Both throw as `runQuery` does. */
export async function prepareQuery(
  sql: string,
  access: QueryAccess,
): Promise<(replacing?: Replacing) => Promise<QueryResult>> {
  requireWellFormed(sql, "SQL");
  const query = new Query(access.databases.reader(sql, access.syntaxes), access);
  const resolved = await query.resolve();
  return (replacing) => query.run(resolved, replacing);
}

interface Resolved {
  readonly rewritten: Rewritten;
  readonly parameters: readonly string[];
}

/** A table of a query: a variable or a part of it. */
interface Table extends targets.Target {
  readonly info: VariableInfo;
  readonly key: string;
  readonly alias: string;
  readonly read: sequences.ReadTarget;
}

class Query {
  readonly #statement: Statement;
  readonly #access: QueryAccess;
  readonly #tables: ReadonlyMap<TableUse, Table>;

  constructor(statement: Statement, access: QueryAccess) {
    this.#statement = statement;
    this.#access = access;
    this.#tables = this.#findTables();
  }

  async run({ rewritten, parameters }: Resolved, replacing?: Replacing): Promise<QueryResult> {
    const [first, ...others] = this.#distinctTables;
    const tables = first === undefined ? [] : [{ ...first, ...replacing }, ...others];
    const query = {
      sql: rewritten.sql,
      tables: tables.map(({ key, alias: name }) => ({ key, name })),
      ...(this.#access.first && { position: POSITION }),
      parameters,
      aliases: this.#aliases,
      ...this.#statement.facts,
    };
    const { databases, most } = this.#access;
    const sources = tables.map((table, at) =>
      this.#sourceOf(table, at === 0 ? replacing : undefined),
    );
    const answer = await databases.run(query, sources, most);
    // The variables may have become guarded meanwhile.
    for (const target of tables) this.#access.table(target);
    if (answer.kind !== "done") throw this.#problem(answer, { rewritten, tables });
    const { kind: _, ...result } = answer;
    return { ...result, variables: [...new Set(tables.map(({ name }) => name))] };
  }

  get #aliases(): EngineQuery["aliases"] {
    const factsOf = (target: AliasTarget): AliasFacts =>
      target instanceof SelectGroup
        ? json.compact({ maxRows: target.maxRows, isGrouped: target.isGrouped })
        : { table: this.#aliasOf(target) };
    return Array.from(this.#statement.aliases, ([name, all]) => [name, all.map(factsOf)]);
  }

  #aliasOf(use: TableUse): string {
    return this.#tables.get(use)?.alias ?? use.name;
  }

  get #distinctTables(): readonly Table[] {
    return [...new Map([...this.#tables.values()].map((table) => [table.key, table])).values()];
  }

  #sourceOf(table: Table, replacing: Replacing | undefined): AuthorizedTable {
    const { store } = this.#access;
    const { info, path, key, read } = table;
    const own = authorityOf(info);
    if (own === undefined)
      throw new ByrefError("variable_secret", `$${info.name} is secret: it is no table.`);
    // A value that a call has composed may have parts of untrusted ones.
    const authority = replacing !== undefined && own === "trusted" ? "visible" : own;
    const isCurrent = () => {
      const now = store.info(info.name);
      const needed = now && authorityOf(now);
      if (now === undefined || needed === undefined) return false;
      if (AUTHORITIES.indexOf(needed) > AUTHORITIES.indexOf(authority)) return false;
      return replacing?.isNeeded() ?? tableKey(now, path) === key;
    };
    return { store, target: table, read, key, authority, isCurrent };
  }

  #findTables(): ReadonlyMap<TableUse, Table> {
    const { tables: uses, tokens } = this.#statement;
    let mark = "$";
    while (tokens.some(({ value, kind }) => kind !== "reference" && value.includes(mark)))
      mark += "$";
    const found = new Map<string, Table>();
    const { first, read } = this.#access;
    return new Map(
      uses.map((written, at) => {
        const use = at === 0 ? { ...written, ...first } : written;
        const { path } = use;
        const info = this.#variableOf(use);
        const key = tableKey(info, path);
        const table = found.get(key) ?? {
          name: info.name,
          path,
          info,
          key,
          alias: `${mark}${found.size + 1}`,
          read,
        };
        found.set(key, table);
        return [written, table];
      }),
    );
  }

  #variableOf({ name, path, token }: TableUse): VariableInfo {
    const known = this.#nameOf(name);
    if (known === undefined) throw this.#unknown(name, token);
    const info = this.#access.table({ name: known, path });
    if (info.type !== "bytes") return info;
    throw new ByrefError(
      "not_queryable",
      `$${info.name} is bytes (${info.mediaType}), not a table. Pass it to a tool by reference.`,
    );
  }

  #unknown(name: string, { kind, start }: Token): ByrefError {
    const { store } = this.#access;
    const names = store.list({ last: limits.maxItems }).map((info) => info.name);
    const said = `There is no ${kind === "reference" ? "variable" : "table"} ${name}.`;
    const similar = nearest(name, names.reverse());
    const newest = similar.length > 0 ? [] : newestVisible(store).map((info) => info.name);
    const others = newest.length === 0 ? "" : ` The newest variables are ${newest.join(", ")}.`;
    return queryProblem(`${said}${others}`, { sql: this.#statement.sql, at: start, near: similar });
  }

  /** SQL does not distinguish capitals: a name finds a variable if only one fits. Throws if it was evicted. */
  #nameOf(name: string): string | undefined {
    const { store } = this.#access;
    if (store.glance(name) !== undefined) return name;
    if (store.tombstone(name) !== undefined) targets.existing(store, name);
    const same = store.list().filter((info) => info.name.toLowerCase() === name.toLowerCase());
    return same.length === 1 ? same[0]?.name : undefined;
  }

  async resolve(): Promise<Resolved> {
    const texts = new Map<ParameterUse, string>();
    const parameters: string[] = [];
    for (const use of this.#statement.parameters) {
      const { token } = use;
      const value = await this.#access.parameter(token.value);
      if (value === undefined) {
        const name = token.reference?.name ?? token.value;
        if (this.#access.store.tombstone(name) !== undefined)
          targets.existing(this.#access.store, name);
        throw this.#unknown(name, token);
      }
      const { text, bound } = literalOf(value, use.isList);
      if (mayHaveHalf(bound ?? "")) requireWellFormed(value, "SQL", token.reference?.path);
      texts.set(use, text);
      if (bound !== undefined) parameters.push(bound);
    }
    const rewritten = rewrite(this.#statement, {
      nameOf: (use) => this.#aliasOf(use),
      textOf: (use) => texts.get(use) ?? "NULL",
    });
    return { rewritten, parameters };
  }

  #problem(
    answer: Exclude<EngineAnswer, { kind: "done" }>,
    { rewritten, tables }: { readonly rewritten: Rewritten; readonly tables: readonly Table[] },
  ): ByrefError {
    if (answer.kind === "expensive") return this.#tooExpensive(answer);
    if (answer.kind === "omitted") return tooManyColumns(answer, tables);
    if (answer.kind !== "failed") return new ByrefError("internal", "The query has no answer.");
    const columns = Object.fromEntries(
      tables.map(({ name, path }, at) => [
        `${name}${formatPath(path)}`,
        withIndex(answer.columns[at] ?? []),
      ]),
    );
    const at = answer.at === undefined ? undefined : rewritten.writtenOffset(answer.at);
    return explainedProblem(answer.message, this.#statement, columns, at);
  }

  #tooExpensive({ estimate, scans }: Extract<EngineAnswer, { kind: "expensive" }>): ByrefError {
    const names = new Map(this.#distinctTables.map((table) => [table.alias, table]));
    const shown = scans.map(({ table, rows }) => {
      const { name, path } = names.get(table) ?? { name: table, path: [] };
      return { table: `${name}${formatPath(path)}`, rows: Math.round(rows) };
    });
    const maximum = limits.maxQueryVisits;
    const listed = shown.map(({ table, rows }) => `${table}: ${rows}`).join(", ");
    const advice = "Join on an equality, and filter or aggregate before joining.";
    if (estimate === undefined) {
      const message = `The statement ran longer than it may, and was ended. ${advice}`;
      return new ByrefError("query_too_expensive", message, { maximum, scans: shown });
    }
    const message = `The statement would visit about ${estimate} rows, and may visit ${maximum} (rows for each reading: ${listed}). ${advice}`;
    return new ByrefError("query_too_expensive", message, { estimate, maximum, scans: shown });
  }
}

function tooManyColumns(
  { table, columns, first }: Extract<EngineAnswer, { kind: "omitted" }>,
  tables: readonly Table[],
): ByrefError {
  const { name, path } = tables[table] ?? { name: "", path: [] };
  const maximum = limits.maxQueryColumns;
  const part = formatPath([...path, { each: true }, { key: first[0] ?? "" }]);
  const rest = columns - maximum - first.length;
  const advice = `The last ones are no columns here: ${first.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}. Name the columns that you need, or query one of these as FROM $${name}${part}.`;
  return limitExceeded("maxQueryColumns", { maximum, actual: columns, advice });
}

/**
 * Identifies a value in an engine: the variable, its version, the path. Runs of plans may have variables of one
 * name, which differ in their calls.
 */
function tableKey(info: VariableInfo, path: Path): string {
  const { name, version, createdAt, updatedAt, toolCallId = "" } = info;
  const call = encodeURIComponent(toolCallId.toWellFormed());
  return [name, version, createdAt, updatedAt, call, formatPath(path)].join(" ");
}

function withIndex(columns: readonly string[]): readonly string[] {
  return columns.some((column) => column.toLowerCase() === INDEX) ? columns : [...columns, INDEX];
}

/** Returns the SQL of a value. Durable Objects bind every number as a fraction, so numbers are written. */
function literalOf(value: Json, isList: boolean): { text: string; bound?: string } {
  if (isList && json.isJsonArray(value)) {
    return { text: "(SELECT value FROM json_each(?))", bound: JSON.stringify(value) };
  }
  const literal = scalarOf(value);
  return isList ? { ...literal, text: `(${literal.text})` } : literal;
}

function scalarOf(value: Json): { text: string; bound?: string } {
  if (value === null) return { text: "NULL" };
  if (typeof value === "boolean") return { text: value ? "1" : "0" };
  if (typeof value === "number") return { text: value < 0 ? `(${value})` : String(value) };
  return { text: "?", bound: typeof value === "string" ? value : JSON.stringify(value) };
}

/** Turns SQLite's message into `bad_query`: with the place, similar names, and what to write instead. */
function explainedProblem(
  message: string,
  { sql, tokens }: Statement,
  tables: TableColumns,
  position: number | undefined,
): ByrefError {
  const name = nameIn(message);
  const same = tokens.find(({ value }) => value.toLowerCase() === name?.toLowerCase());
  const at = position ?? same?.start;
  const known = new Set(Object.values(tables).flat());
  const isColumn = message.startsWith("no such column");
  const near = isColumn && name !== undefined ? nearest(name, known) : [];
  const isKeyword = message.startsWith("near ") && name !== undefined && known.has(name);
  const hint = isKeyword ? ` As a column it is written "${name}".` : "";
  return queryProblem(`${message}.${hint}`, { sql, at, tables, near });
}

/** The name in a message of SQLite: `no such column: o.totl`, `near "FORM": syntax error`. */
function nameIn(message: string): string | undefined {
  const [, near] = /^near "([^]*)": syntax error$/.exec(message) ?? [];
  if (near !== undefined) return near;
  const [, named] =
    /(?:no such (?:column|function|table): |ambiguous column name: |arguments to function |misuse of (?:aggregate|window function): ?)"?([^\s"()]+)/.exec(
      message,
    ) ?? [];
  return named?.split(".").at(-1);
}
