import { ByrefError } from "../../../src/errors.ts";
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
import type { AliasFacts, EngineAnswer } from "./query-engine.ts";
import { identifier, isLongNumber, isSign, type Token } from "./sql-tokens.ts";
import {
  type AliasTarget,
  type ParameterUse,
  SelectGroup,
  type Statement,
  type TableUse,
} from "./read-statement.ts";

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
  const { databases, most, first, table: use } = access;
  const statement = databases.reader(sql, access.syntaxes);
  const found = findTables(statement, access);
  const { parameters, texts } = await resolveParameters(statement, access);
  const nameOf = (use: TableUse) => found.get(use)?.alias ?? use.name;
  const factsOf = (target: AliasTarget): AliasFacts =>
    target instanceof SelectGroup
      ? json.compact({ maxRows: target.maxRows })
      : { table: nameOf(target) };
  const query = {
    sql: rewrite(statement, nameOf, texts),
    ...(first && { position: POSITION }),
    parameters,
    aliases: Array.from(
      statement.aliases,
      ([name, targets]) => [name, targets.map(factsOf)] as const,
    ),
    ...statement.facts,
  };
  return async (replacing) => {
    const tables = [...new Set(found.values())].map((table, at) =>
      at === 0 ? { ...table, ...replacing } : table,
    );
    const named = tables.map((table) => ({
      key: table.key,
      name: table.alias,
      shown: `${table.name}${formatPath(table.path)}`,
    }));
    const sources = tables.map((table, at) =>
      sourceOf(table, access, at === 0 ? replacing : undefined),
    );
    const answer = await databases.run({ ...query, tables: named }, sources, most);
    // The variables may have become guarded meanwhile.
    for (const target of tables) use(target);
    if (answer.kind === "refused")
      throw new ByrefError(answer.code, answer.message, answer.details);
    if (answer.kind === "missing") throw new ByrefError("internal", "The query has no answer.");
    if (answer.kind === "done") {
      const { kind: _, ...result } = answer;
      return { ...result, variables: [...new Set(tables.map(({ name }) => name))] };
    }
    const columns = named.map(({ shown }, at) => {
      const own = answer.columns[at] ?? [];
      const hasIndex = own.some((column) => column.toLowerCase() === INDEX);
      return [shown, hasIndex ? own : [...own, INDEX]];
    });
    throw explainedProblem(answer.message, statement, Object.fromEntries(columns));
  };
}

/** A table of a query: a variable or a part of it. */
interface Table extends targets.Target {
  readonly info: VariableInfo;
  readonly key: string;
  readonly alias: string;
  readonly read: sequences.ReadTarget;
}

/** Finds the variables of a statement's tables. Throws for what is none, or must not be read. */
function findTables(
  { sql, tables: uses, tokens }: Statement,
  { store, first, read, table }: QueryAccess,
): ReadonlyMap<TableUse, Table> {
  let mark = "$";
  while (tokens.some(({ value, kind }) => kind !== "reference" && value.includes(mark)))
    mark += "$";
  const found = new Map<string, Table>();
  return new Map(
    uses.map((written, at) => {
      const { name, path, token } = at === 0 ? { ...written, ...first } : written;
      const known = nameOf(name, store);
      if (known === undefined) throw unknownName(name, token, { sql, store });
      const info = table({ name: known, path });
      if (info.type === "bytes") {
        const message = `$${info.name} is bytes (${info.mediaType}), not a table. Pass it to a tool by reference.`;
        throw new ByrefError("not_queryable", message);
      }
      const key = tableKey(info, path);
      const alias = `${mark}${found.size + 1}`;
      const own = found.get(key) ?? { name: info.name, path, info, key, alias, read };
      found.set(key, own);
      return [written, own];
    }),
  );
}

/** SQL does not distinguish capitals: a name finds a variable if only one fits. Throws if it was evicted. */
function nameOf(name: string, store: stores.Variables): string | undefined {
  if (store.glance(name) !== undefined) return name;
  if (store.tombstone(name) !== undefined) targets.existing(store, name);
  const same = store.list().filter((info) => info.name.toLowerCase() === name.toLowerCase());
  return same.length === 1 ? same[0]?.name : undefined;
}

function unknownName(
  name: string,
  { kind, start }: Token,
  { sql, store }: { readonly sql: string; readonly store: stores.Variables },
): ByrefError {
  const names = store.list({ last: limits.maxItems }).map((info) => info.name);
  const said = `There is no ${kind === "reference" ? "variable" : "table"} ${name}.`;
  const similar = nearest(name, names.reverse());
  const newest = similar.length > 0 ? [] : newestVisible(store).map((info) => info.name);
  const others = newest.length === 0 ? "" : ` The newest variables are ${newest.join(", ")}.`;
  return queryProblem(`${said}${others}`, { sql, at: start, near: similar });
}

function sourceOf(
  { info, path, key, read, name }: Table,
  { store }: QueryAccess,
  replacing: Replacing | undefined,
): AuthorizedTable {
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
  return { store, target: { name, path }, read, key, authority, isCurrent };
}

/** Reads the values of a statement's references. Returns the SQL that is in their places, and what SQLite binds. */
async function resolveParameters(
  { sql, parameters: uses }: Statement,
  { store, parameter }: QueryAccess,
) {
  const texts = new Map<ParameterUse, string>();
  const parameters: string[] = [];
  for (const use of uses) {
    const { token } = use;
    const value = await parameter(token.value);
    if (value === undefined) {
      const name = token.reference?.name ?? token.value;
      if (store.tombstone(name) !== undefined) targets.existing(store, name);
      throw unknownName(name, token, { sql, store });
    }
    const { text, bound } = literalOf(value, use.isList);
    if (mayHaveHalf(bound ?? "")) requireWellFormed(value, "SQL", token.reference?.path);
    texts.set(use, text);
    if (bound !== undefined) parameters.push(bound);
  }
  return { texts, parameters };
}

/**
 * Puts the names of tables and the values of references into a statement. Quoted names are quoted such that
 * SQLite does not read an unknown one as a string, and `index`, a keyword, is quoted.
 */
function rewrite(
  { sql, end, tokens, tables, parameters }: Statement,
  nameOf: (use: TableUse) => string,
  texts: ReadonlyMap<ParameterUse, string>,
): string {
  const put = new Map<number, { readonly end: number; readonly text: string }>();
  for (const [at, { kind, start, end, value, word }] of tokens.entries()) {
    if (kind === "name" && (word === "" || word === "INDEX"))
      put.set(start, { end, text: identifier(value) });
    else if (kind === "value" && isLongNumber(value) && !isSign(tokens[at - 1], "-"))
      put.set(start, { end, text: `'${value}'` });
  }
  for (const use of tables) {
    const { token, alias, isAliased } = use;
    const name = identifier(nameOf(use));
    const isShown = alias !== undefined && !isAliased;
    put.set(token.start, {
      end: token.end,
      text: isShown ? `${name} AS ${identifier(alias)}` : name,
    });
  }
  for (const use of parameters)
    put.set(use.start, { end: use.end, text: ` ${texts.get(use) ?? "NULL"} ` });
  let rewritten = "";
  let from = 0;
  for (const [start, piece] of [...put].sort(([a], [b]) => a - b)) {
    rewritten += sql.slice(from, start) + piece.text;
    from = piece.end;
  }
  return rewritten + sql.slice(from, end);
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

/** Returns the SQL of a value. Durable Objects bind every number as a fraction, so numbers are written. */
function literalOf(value: Json, isList: boolean): { text: string; bound?: string } {
  if (isList && json.isJsonArray(value)) {
    return { text: "(SELECT value FROM json_each(?))", bound: JSON.stringify(value) };
  }
  const inList = (text: string) => ({ text: isList ? `(${text})` : text });
  if (value === null) return inList("NULL");
  if (typeof value === "boolean") return inList(value ? "1" : "0");
  if (typeof value === "number") return inList(value < 0 ? `(${value})` : String(value));
  return { ...inList("?"), bound: typeof value === "string" ? value : JSON.stringify(value) };
}

/** Turns SQLite's message into `bad_query`: with the place, similar names, and what to write instead. */
function explainedProblem(message: string, { sql, tokens }: Statement, tables: TableColumns) {
  const name = nameIn(message);
  const [same, another] = tokens.filter(({ value }) => value.toLowerCase() === name?.toLowerCase());
  const isSyntax = message.startsWith("near ");
  // A column that does not exist is wrong in all places, a word only in one.
  const at = isSyntax && another !== undefined ? undefined : same?.start;
  const known = new Set(Object.values(tables).flat());
  const isColumn = message.startsWith("no such column");
  const near = isColumn && name !== undefined ? nearest(name, known) : [];
  const isKeyword = isSyntax && name !== undefined && known.has(name);
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
