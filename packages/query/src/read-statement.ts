import * as limits from "../../../src/limits.ts";
import { requireAtMost } from "../../../src/errors.ts";
import { nearest } from "../../../src/internal.ts";
import type { Path, Syntax } from "../../../src/references.ts";
import { GROUPS } from "./plan-bound.ts";
import type { StatementFacts } from "./query-engine.ts";
import { notAllowed, queryProblem } from "./query-problem.ts";
import { isLongNumber, isSign, statementTokensOf, type Token } from "./sql-tokens.ts";

/**
 * Reads a SQL statement. Throws `bad_query`, also for a misspelled SELECT, `query_not_allowed` for anything but one
 * SELECT, WITH … SELECT or VALUES statement, and `limit_exceeded` above `maxStatementChars`. Cost: linear.
 */
export function readStatement(sql: string, syntaxes: readonly Syntax[]): Statement {
  const advice = "Save long lists as a variable, and use it as a table.";
  requireAtMost("maxStatementChars", sql.length, advice);
  const tokens = statementTokensOf(sql, syntaxes);
  return new StatementReader(sql, tokens).read();
}

/** Reads the tokens once, from left to right, with the parentheses that are open. */
class StatementReader {
  readonly #sql: string;
  readonly #tokens: readonly Token[];
  readonly #root = new SelectGroup();
  readonly #found: { readonly use: TableUse; readonly group: SelectGroup }[] = [];
  readonly #parameters: ParameterUse[] = [];
  readonly #aliases = new Map<string, AliasTarget[]>();
  #group = this.#root;
  #usesAllColumns = false;
  #recursionSteps = 1;
  #tableCount = 0;

  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql;
    this.#tokens = tokens;
  }

  read(): Statement {
    const [first] = this.#tokens;
    if (first !== undefined && !STATEMENTS.has(first.word)) {
      const near = nearest(first.word, STATEMENTS);
      const said = `This begins with ${first.value}.`;
      if (near.length === 0) throw this.#notAllowed(said, first.start);
      throw queryProblem(said, { sql: this.#sql, at: first.start, near });
    }
    this.#root.isSelect = true;
    for (const [at, token] of this.#tokens.entries()) this.#next(token, at);
    if (this.#group !== this.#root) throw this.#problem("A parenthesis is not closed.");
    const tables = this.#resolve();
    const texts = this.#tokens
      .filter(({ kind, value }) => kind === "text" || (kind === "value" && isLongNumber(value)))
      .map(({ value }) => value);
    const names = this.#tokens.filter(({ kind }) => kind === "name" || kind === "text");
    return {
      sql: this.#sql,
      end: this.#tokens.at(-1)?.end ?? 0,
      tokens: this.#tokens,
      tables,
      parameters: this.#parameters,
      aliases: this.#aliases,
      facts: {
        names: [...new Set(names.map(({ value }) => value.toLowerCase()))],
        texts,
        usesAllColumns: this.#usesAllColumns,
        recursionSteps: this.#recursionSteps,
        isJoin: this.#tableCount > 1,
      },
    };
  }

  #next(token: Token, at: number): void {
    const { kind, value, word } = token;
    if (kind === "sign" && value === "(") return this.#open(at);
    if (kind === "sign" && value === ")") return this.#close(token, at);
    const group = this.#group;
    if (group.expectsTable && (kind === "name" || kind === "text" || kind === "reference")) {
      return this.#table(token, at);
    }
    if (kind === "reference") return this.#parameter(token, at);
    if (kind === "sign") return this.#sign(value, at);
    // Behind AS, any word is a name.
    if (word !== "" && this.#tokens[at - 1]?.word !== "AS") this.#word(word, at);
    // SQLite also calls functions whose names are in quotes.
    if (kind === "name" && this.#isSign(at + 1, "(")) this.#function(value.toUpperCase(), at);
  }

  #word(word: string, at: number): void {
    const group = this.#group;
    const select = group.select;
    const previous = this.#tokens[at - 1]?.word;
    if (WRITES.has(word))
      throw this.#notAllowed(`${word} is not allowed.`, this.#tokens[at]?.start);
    const isComparison =
      previous === "DISTINCT" && ["IS", "NOT"].includes(this.#tokens[at - 2]?.word ?? "");
    if (word === "FROM" && !isComparison) {
      if (!group.isSelect) throw this.#problem("FROM belongs to SELECT.", this.#tokens[at]?.start);
      group.isInFrom = true;
      group.expectsTable = true;
    } else if (word === "JOIN" && group.isInFrom) group.expectsTable = true;
    else if (AFTER_FROM.has(word)) group.isInFrom = false;
    if (COMPOUND.has(word)) select.isCompound = true;
    if (word === "NATURAL") this.#usesAllColumns = true;
    if (word === "OVER") select.hasWindow = true;
    if (word === "LIMIT") group.readLimit(this.#tokens, at);
    if (word === "DISTINCT" || word === "GROUP") select.isGrouped = true;
    const following = this.#tokens[at + 1];
    if (word === "IN" && following?.kind === "name" && previous !== "AS") {
      this.#usesAllColumns = true;
      group.expectsTable = true;
    }
  }

  #isSign(at: number, sign: string): boolean {
    return isSign(this.#tokens[at], sign);
  }

  #function(word: string, at: number): void {
    const { value = word, start } = this.#tokens[at] ?? {};
    if (FORBIDDEN_FUNCTIONS.has(word)) throw this.#notAllowed(`${value} is not allowed.`, start);
    if (MISSING.test(word)) throw this.#problem(`no such function: ${value}.`, start);
    if (AGGREGATES.has(word)) this.#group.select.hasAggregate = true;
  }

  #sign(value: string, at: number): void {
    if (value === "," && this.#group.isInFrom) this.#group.expectsTable = true;
    if (value !== "*") return;
    const previous = this.#tokens[at - 1];
    const isColumn =
      ["SELECT", "DISTINCT", "ALL"].includes(previous?.word ?? "") ||
      (previous?.kind === "sign" && (previous.value === "," || previous.value === "."));
    this.#usesAllColumns ||= isColumn;
  }

  #open(at: number): void {
    const outer = this.#group;
    const following = this.#tokens[at + 1]?.word ?? "";
    const isSelect = STATEMENTS.has(following);
    const isInTables = outer.expectsTable;
    const isJoin = isInTables && !isSelect;
    outer.expectsTable = false;
    this.#group = new SelectGroup(outer, isJoin);
    requireAtMost("maxStatementTables", this.#group.depth, "Define parts of it with WITH.");
    this.#group.isSelect = isSelect;
    this.#group.isTable = isSelect && isInTables;
    const defined = isSelect ? definedAt(this.#tokens, at) : undefined;
    if (defined === undefined) return;
    outer.definitions.set(defined.toLowerCase(), this.#group);
    this.#addAlias(defined, this.#group);
  }

  #close(token: Token, at: number): void {
    const closed = this.#group;
    if (closed.parent === undefined)
      throw this.#problem("This parenthesis is not open.", token.start);
    this.#group = closed.parent;
    if (closed.isTable) this.#addAlias(aliasAt(this.#tokens, at + 1) ?? "", closed);
  }

  #table(token: Token, at: number): void {
    const group = this.#group;
    group.expectsTable = false;
    const isIn = this.#tokens[at - 1]?.word === "IN";
    requireAtMost("maxStatementTables", ++this.#tableCount, "Query fewer tables at once.");
    if (this.#isSign(at + 1, "(")) {
      if (TABLE_FUNCTIONS.has(token.word)) return;
      const said = `${token.value} is not a table function; there are json_each and json_tree.`;
      throw this.#notAllowed(said, token.start);
    }
    const written = isIn ? undefined : aliasAt(this.#tokens, at + 1);
    const alias = isIn ? undefined : (written ?? ownAliasOf(token));
    const { name, path } = token.reference ?? { name: token.value, path: [] };
    this.#found.push({
      group,
      use: { name, path, token, alias, isAliased: written !== undefined },
    });
  }

  #addAlias(alias: string, target: AliasTarget): void {
    // Plans name aliases without quotes.
    if (/[\s\0()=?]/.test(alias)) throw this.#problem(`${alias} is not an alias: write one word.`);
    const key = alias.toLowerCase();
    this.#aliases.set(key, [...(this.#aliases.get(key) ?? []), target]);
  }

  #parameter(token: Token, at: number): void {
    const before = this.#tokens[at - 1];
    const isBare = before?.word === "IN";
    const after = this.#tokens[at + 1];
    const isAlone =
      before?.value === "(" && this.#tokens[at - 2]?.word === "IN" && after?.value === ")";
    const { start } = isAlone ? before : token;
    const { end } = isAlone ? after : token;
    this.#parameters.push({ token, start, end, isList: isBare || isAlone });
  }

  /** Separates the tables that WITH defines from variables, and checks recursion. */
  #resolve(): readonly TableUse[] {
    return this.#found.flatMap(({ use, group }) => {
      const { token, name, alias } = use;
      const definition = token.kind === "reference" ? undefined : group.definitionOf(name);
      if (alias !== undefined) this.#addAlias(alias, definition ?? use);
      if (definition === undefined) return use;
      if (group.isWithin(definition)) this.#requireLimit(token, definition);
      return [];
    });
  }

  #requireLimit(token: Token, definition: SelectGroup): void {
    const { limit, isLimitPlain } = definition;
    const maximum = limits.maxQueryRecords;
    if (limit !== undefined && isLimitPlain && limit <= maximum) {
      this.#recursionSteps = Math.max(this.#recursionSteps, limit);
      return;
    }
    const said = `A recursive WITH ends with LIMIT and a number up to ${maximum}, before its closing parenthesis.`;
    throw this.#notAllowed(said, token.start);
  }

  #problem(said: string, at?: number) {
    return queryProblem(said, { sql: this.#sql, at });
  }

  #notAllowed(said: string, at: number | undefined) {
    return notAllowed(said, { sql: this.#sql, at });
  }
}

/** Words that are in no statement that only reads, and no names without quotes. */
const WRITES = new Set(["DELETE", "INTO", "UPDATE"]);
const STATEMENTS = new Set(["SELECT", "WITH", "VALUES"]);
/** Words that end the list of tables. */
const AFTER_FROM = new Set(
  "WHERE GROUP ORDER LIMIT HAVING WINDOW UNION INTERSECT EXCEPT SELECT VALUES".split(" "),
);
/** Words that may follow a table and are no alias of it. */
const AFTER_TABLE = new Set([
  ...AFTER_FROM,
  ..."JOIN LEFT RIGHT FULL INNER CROSS NATURAL OUTER ON USING INDEXED NOT".split(" "),
]);
const COMPOUND = new Set(["UNION", "INTERSECT", "EXCEPT"]);
const AGGREGATES = new Set(
  "COUNT SUM AVG TOTAL MIN MAX GROUP_CONCAT STRING_AGG JSON_GROUP_ARRAY JSON_GROUP_OBJECT".split(
    " ",
  ),
);
/** Functions that return tables. SQLite has others, which show the database itself. */
const TABLE_FUNCTIONS = new Set(["JSON_EACH", "JSON_TREE"]);

/** The name that WITH gives to the statement in the parenthesis at this token: `a AS (`, `a(x) AS MATERIALIZED (`. */
function definedAt(tokens: readonly Token[], opening: number): string | undefined {
  let at = opening - 1;
  while (tokens[at]?.word === "MATERIALIZED" || tokens[at]?.word === "NOT") at--;
  if (tokens[at--]?.word !== "AS") return undefined;
  if (isSign(tokens[at], ")"))
    at = tokens.findLastIndex((one, index) => index < at && isSign(one, "(")) - 1;
  const { kind, value } = tokens[at] ?? {};
  return kind === "name" || kind === "text" ? value : undefined;
}

function aliasAt(tokens: readonly Token[], at: number): string | undefined {
  const token = tokens[at];
  const isMarked = token?.word === "AS";
  const alias = isMarked ? tokens[at + 1] : token;
  if (alias?.kind !== "name" && alias?.kind !== "text") return undefined;
  return isMarked || !AFTER_TABLE.has(alias.word) ? alias.value : undefined;
}

/** The alias of a table that has none: its name; for a part of a variable, the last key. */
function ownAliasOf({ value, reference }: Token): string {
  if (reference === undefined) return value;
  const key = reference.path.findLast((segment) => "key" in segment);
  return key === undefined || /[\s\0()=?]/.test(key.key) ? reference.name : key.key;
}

/** Functions that do more than compute, fill the memory, or return something else each time. */
const FORBIDDEN_FUNCTIONS = new Set(
  `LOAD_EXTENSION READFILE WRITEFILE EDIT FTS3_TOKENIZER ZEROBLOB RANDOMBLOB RANDOM CHANGES TOTAL_CHANGES
  LAST_INSERT_ROWID SQLITE_COMPILEOPTION_GET SQLITE_COMPILEOPTION_USED SQLITE_VERSION SQLITE_SOURCE_ID`.split(
    /\s+/,
  ),
);
/** Functions that SQLite has in Node, and not in Durable Objects. */
const MISSING = /^(?:MEDIAN|PERCENTILE(?:_CONT|_DISC)?)$/;

export interface ParameterUse {
  readonly token: Token;
  /** The tokens that its value replaces: with the parentheses behind IN. */
  readonly start: number;
  readonly end: number;
  /** True behind IN: an array is a list of values there. */
  readonly isList: boolean;
}

export interface Statement {
  readonly sql: string;
  /** The statement without what follows its last token, such as semicolons. */
  readonly end: number;
  readonly tokens: readonly Token[];
  readonly tables: readonly TableUse[];
  readonly parameters: readonly ParameterUse[];
  /**
   * Targets by alias in lower case; "" for statements in FROM without one. An alias may have several targets in
   * different parts of a statement.
   */
  readonly aliases: ReadonlyMap<string, readonly AliasTarget[]>;
  readonly facts: StatementFacts;
}

/** A place of a statement that names a variable as a table. */
export interface TableUse {
  readonly name: string;
  readonly path: Path;
  readonly token: Token;
  /** Undefined where a table has no alias: behind IN. */
  readonly alias: string | undefined;
  /** True if the statement itself contains the alias. */
  readonly isAliased: boolean;
}

/** The target of an alias: a variable's table, or a statement in parentheses. */
export type AliasTarget = TableUse | SelectGroup;

/** A statement, or what is between two parentheses in it, as far as the reader of statements has read it. */
export class SelectGroup {
  readonly parent: SelectGroup | undefined;
  /** True in the part of FROM that lists tables, also between parentheses there. */
  isInFrom: boolean;
  /** True where the next token is a table. */
  expectsTable: boolean;
  /** True if it begins with SELECT, WITH or VALUES, or is a statement. */
  isSelect = false;
  /** True if its records are a table of the statement around it. */
  isTable = false;
  /** The tables that its WITH defines, by name in lower case. */
  readonly definitions = new Map<string, SelectGroup>();
  /** A whole number behind LIMIT. */
  limit: number | undefined;
  /** True if nothing follows the number behind LIMIT. */
  isLimitPlain = false;
  hasAggregate = false;
  hasWindow = false;
  isCompound = false;
  isGrouped = false;
  readonly depth: number;

  constructor(parent?: SelectGroup, isInFrom = false) {
    this.parent = parent;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.isInFrom = isInFrom;
    this.expectsTable = isInFrom;
  }

  /** The nearest enclosing statement, or this one. */
  get select(): SelectGroup {
    return this.isSelect || this.parent === undefined ? this : this.parent.select;
  }

  /** The definition of a name that is visible here; undefined for the name of a variable. */
  definitionOf(name: string): SelectGroup | undefined {
    return this.definitions.get(name.toLowerCase()) ?? this.parent?.definitionOf(name);
  }

  isWithin(other: SelectGroup): boolean {
    return this === other || this.parent?.isWithin(other) === true;
  }

  /** The maximum number of records that it returns, as far as the text shows. */
  get maxRows(): number | undefined {
    const isOne = this.hasAggregate && !this.isGrouped && !this.hasWindow && !this.isCompound;
    return isOne ? 1 : (this.limit ?? (this.isGrouped ? GROUPS : undefined));
  }

  /** Reads a number behind LIMIT. Of LIMIT 5, 10 nothing is known. */
  readLimit(tokens: readonly Token[], at: number): void {
    const [number, behind] = tokens.slice(at + 1, at + 3);
    const isNumber = number?.kind === "value" && /^\d+$/.test(number.value);
    this.isLimitPlain = behind === undefined || isSign(behind, ")");
    const isWhole = this.isLimitPlain || behind?.word === "OFFSET";
    this.limit = isNumber && isWhole ? Number(number.value) : undefined;
  }
}
