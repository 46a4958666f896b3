import * as limits from "../../limits.ts";
import { requireAtMost } from "../../errors.ts";
import type { Syntax } from "../../reference/reference.ts";
import { notAllowed, queryProblem } from "./query-problem.ts";
import { SelectGroup } from "./select-group.ts";
import { type Token, tokensOf } from "./sql-tokens.ts";
import type { AliasTarget, ParameterUse, Statement, TableUse, UnnamedTable } from "./statement.ts";

/**
 * Reads a SQL statement. Throws `bad_query`, `query_not_allowed` for anything but one SELECT, WITH … SELECT or
 * VALUES statement, and `limit_exceeded` above `maxStatementChars`. Cost: linear.
 */
export function readStatement(sql: string, syntaxes: readonly Syntax[]): Statement {
  const advice = "Save long lists as a variable, and use it as a table.";
  requireAtMost(["maxStatementChars", limits.maxStatementChars], sql.length, advice);
  const tokens = withoutSemicolons(sql, tokensOf(sql, syntaxes));
  return new StatementReader(sql, tokens).read();
}

function withoutSemicolons(sql: string, tokens: readonly Token[]): readonly Token[] {
  const isEnd = ({ kind, value }: Token) => kind === "sign" && value === ";";
  const own = tokens.slice(0, tokens.findLastIndex((token) => !isEnd(token)) + 1);
  const [first] = own;
  if (first === undefined) throw queryProblem("There is no statement.", { sql });
  const second = own.find(isEnd);
  if (second === undefined) return own;
  throw notAllowed("There is more than one statement.", { sql, at: second.end });
}

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
/** Functions that do more than compute, or fill the memory. */
const FORBIDDEN_FUNCTIONS = new Set(
  "LOAD_EXTENSION READFILE WRITEFILE EDIT FTS3_TOKENIZER ZEROBLOB RANDOMBLOB".split(" "),
);

/** How aliases of tables without one begin. */
const UNNAMED = "$unnamed ";

interface FoundTable {
  readonly token: Token;
  readonly group: SelectGroup;
  readonly alias: { readonly name: string; readonly isWritten: boolean } | undefined;
}

/** Reads the tokens once, from left to right, with the parentheses that are open. */
class StatementReader {
  readonly #sql: string;
  readonly #tokens: readonly Token[];
  readonly #root = new SelectGroup();
  readonly #found: FoundTable[] = [];
  readonly #parameters: ParameterUse[] = [];
  readonly #unnamed: UnnamedTable[] = [];
  readonly #aliases = new Map<string, AliasTarget[]>();
  #group = this.#root;
  #usesAllColumns = false;
  #recursionSteps = 1;

  constructor(sql: string, tokens: readonly Token[]) {
    this.#sql = sql;
    this.#tokens = tokens;
  }

  read(): Statement {
    const [first] = this.#tokens;
    if (first !== undefined && !STATEMENTS.has(first.word)) {
      throw notAllowed(`This begins with ${first.value}.`, { sql: this.#sql, at: first.start });
    }
    this.#root.isSelect = true;
    for (const [at, token] of this.#tokens.entries()) this.#next(token, at);
    if (this.#group !== this.#root) throw this.#problem("A parenthesis is not closed.");
    const tables = this.#resolve();
    const names = this.#tokens.filter(({ kind }) => kind === "name" || kind === "text");
    return {
      sql: this.#sql,
      end: this.#tokens.at(-1)?.end ?? 0,
      tokens: this.#tokens,
      tables,
      parameters: this.#parameters,
      unnamed: this.#unnamed,
      aliases: this.#aliases,
      names: new Set(names.map(({ value }) => value.toLowerCase())),
      usesAllColumns: this.#usesAllColumns,
      recursionSteps: this.#recursionSteps,
    };
  }

  #next(token: Token, at: number): void {
    const { kind, value, word } = token;
    if (kind === "sign" && value === "(") return this.#open(at);
    if (kind === "sign" && value === ")") return this.#close(token, at);
    const group = this.#group;
    if (group.definition !== "none" && this.#define(token)) return;
    if (group.expectsTable && (kind === "name" || kind === "text" || kind === "reference")) {
      return this.#table(token, at);
    }
    if (kind === "reference") return this.#parameter(token, at);
    if (kind === "sign") return this.#sign(value, at);
    if (word !== "") this.#word(word, at);
  }

  #word(word: string, at: number): void {
    const group = this.#group;
    const select = group.select;
    const previous = this.#tokens[at - 1]?.word;
    if (word === "FROM" && !this.#isComparison(at)) {
      group.isInFrom = true;
      group.expectsTable = true;
    } else if (word === "JOIN" && group.isInFrom) group.expectsTable = true;
    else if (word === "WITH" && this.#isFirst(at)) group.definition = "name";
    else if (AFTER_FROM.has(word)) group.isInFrom = false;
    if (COMPOUND.has(word)) select.isCompound = true;
    if (word === "NATURAL") this.#usesAllColumns = true;
    if (word === "OVER") select.hasWindow = true;
    if (word === "LIMIT") group.readLimit(this.#tokens, at);
    if (word === "GROUP" && this.#tokens[at + 1]?.word === "BY")
      group.readGrouping(this.#tokens, at);
    const following = this.#tokens[at + 1];
    if (word === "IN" && following?.kind === "name" && previous !== "AS") {
      this.#usesAllColumns = true;
      group.expectsTable = true;
    }
    if (following?.value === "(" && following.kind === "sign") this.#function(word, at);
  }

  #function(word: string, at: number): void {
    if (FORBIDDEN_FUNCTIONS.has(word)) {
      const token = this.#tokens[at];
      throw notAllowed(`${token?.value} is not allowed.`, { sql: this.#sql, at: token?.start });
    }
    const isScalar = (word === "MIN" || word === "MAX") && this.#hasSeveralArguments(at + 1);
    if (AGGREGATES.has(word) && !isScalar) this.#group.select.hasAggregate = true;
  }

  #hasSeveralArguments(opening: number): boolean {
    let depth = 0;
    for (const { kind, value } of this.#tokens.slice(opening)) {
      if (kind !== "sign") continue;
      if (value === "(") depth++;
      if (value === ")" && --depth === 0) return false;
      if (value === "," && depth === 1) return true;
    }
    return false;
  }

  /** True for IS DISTINCT FROM. */
  #isComparison(at: number): boolean {
    const [before, last] = this.#tokens.slice(Math.max(at - 2, 0), at);
    return last?.word === "DISTINCT" && (before?.word === "IS" || before?.word === "NOT");
  }

  #isFirst(at: number): boolean {
    return at === 0 || this.#tokens[at - 1]?.value === "(";
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
    this.#group.isSelect = isSelect;
    this.#group.isTable = isSelect && isInTables;
    if (outer.definition !== "columns") return;
    if (!isSelect) return this.#requireColumns(at);
    outer.definitions.set(outer.definedName.toLowerCase(), this.#group);
    this.#addAlias(outer.definedName, this.#group);
    outer.definition = "next";
  }

  /** Throws if the parenthesis in WITH is not a list of columns. */
  #requireColumns(at: number): void {
    const before = this.#tokens[at - 1];
    if (before?.word !== "AS" && before?.word !== "MATERIALIZED") return;
    const said = `WITH ${this.#group.parent?.definedName} AS is followed by a SELECT in parentheses.`;
    throw notAllowed(said, { sql: this.#sql, at: before.end });
  }

  #close(token: Token, at: number): void {
    const closed = this.#group;
    if (closed.parent === undefined) {
      const place = { sql: this.#sql, at: token.start };
      throw queryProblem("This parenthesis is not open.", place);
    }
    this.#group = closed.parent;
    if (!closed.isTable) return;
    const written = this.#aliasAt(at + 1);
    const alias = written ?? `${UNNAMED}${this.#unnamed.length + 1}`;
    if (written === undefined) this.#unnamed.push({ end: token.end, alias });
    this.#addAlias(alias, closed);
  }

  /** Reads a token of WITH outside of parentheses. False behind its definitions. */
  #define({ kind, word, value, start }: Token): boolean {
    const group = this.#group;
    if (group.definition === "name") {
      if (word === "RECURSIVE") return true;
      if (kind !== "name" && kind !== "text") throw this.#problem("WITH names a table.", start);
      group.definedName = value;
      group.definition = "columns";
      return true;
    }
    if (group.definition === "columns") {
      if (["AS", "NOT", "MATERIALIZED"].includes(word)) return true;
      throw this.#problem("WITH is written as WITH name AS (SELECT …).", start);
    }
    if (kind === "sign" && value === ",") {
      group.definition = "name";
      return true;
    }
    group.definition = "none";
    if (word === "SELECT" || word === "VALUES") return false;
    throw notAllowed(`Behind WITH there is ${value}.`, { sql: this.#sql, at: start });
  }

  #table(token: Token, at: number): void {
    const group = this.#group;
    group.expectsTable = false;
    const isIn = this.#tokens[at - 1]?.word === "IN";
    const following = this.#tokens[at + 1];
    if (following?.kind === "sign" && following.value === ".") {
      throw this.#problem("There are no schemas: write only the table's name.", following.start);
    }
    if (following?.kind === "sign" && following.value === "(")
      return this.#tableFunction(token, at);
    const written = isIn ? undefined : this.#aliasAt(at + 1);
    const alias = { name: written ?? ownAliasOf(token), isWritten: written !== undefined };
    this.#found.push({ token, group, alias: isIn ? undefined : alias });
  }

  #tableFunction(token: Token, at: number): void {
    if (!TABLE_FUNCTIONS.has(token.word)) {
      const said = `${token.value} is no table function; there are json_each and json_tree.`;
      throw notAllowed(said, { sql: this.#sql, at: token.start });
    }
    let depth = 0;
    const closing = this.#tokens.findIndex(({ kind, value }, index) => {
      if (index <= at || kind !== "sign") return false;
      if (value === "(") depth++;
      return value === ")" && --depth === 0;
    });
    this.#addAlias(this.#aliasAt(closing + 1) ?? token.value, "function");
  }

  /** The alias that a table has at this token. */
  #aliasAt(at: number): string | undefined {
    const token = this.#tokens[at];
    const isMarked = token?.word === "AS";
    const alias = isMarked ? this.#tokens[at + 1] : token;
    if (alias?.kind !== "name" && alias?.kind !== "text") return undefined;
    return isMarked || !AFTER_TABLE.has(alias.word) ? alias.value : undefined;
  }

  #addAlias(alias: string, target: AliasTarget): void {
    const key = alias.toLowerCase();
    this.#aliases.set(key, [...(this.#aliases.get(key) ?? []), target]);
  }

  #parameter(token: Token, at: number): void {
    const before = this.#tokens[at - 1];
    const isBare = before?.word === "IN";
    const isAlone =
      before?.value === "(" &&
      this.#tokens[at - 2]?.word === "IN" &&
      this.#tokens[at + 1]?.value === ")";
    const { start } = isAlone ? before : token;
    const end = isAlone ? (this.#tokens[at + 1]?.end ?? token.end) : token.end;
    this.#parameters.push({ token, start, end, isList: isBare || isAlone });
  }

  /** Separates the tables that WITH defines from variables, and checks recursion. */
  #resolve(): readonly TableUse[] {
    const tables: TableUse[] = [];
    for (const { token, group, alias } of this.#found) {
      const definition = token.kind === "reference" ? undefined : group.definitionOf(token.value);
      if (definition !== undefined) {
        if (alias !== undefined) this.#addAlias(alias.name, definition);
        if (group.isWithin(definition)) this.#requireLimit(token, definition);
        continue;
      }
      const { name, path } = token.reference ?? { name: token.value, path: [] };
      const use = {
        name,
        path,
        token,
        group,
        alias: alias?.name,
        isAliased: alias?.isWritten === true,
      };
      tables.push(use);
      if (alias !== undefined) this.#addAlias(alias.name, use);
    }
    return tables;
  }

  #requireLimit(token: Token, { limit, isLimitPlain }: SelectGroup): void {
    const maximum = limits.maxRecursionSteps;
    if (limit !== undefined && isLimitPlain && limit <= maximum) {
      this.#recursionSteps = Math.max(this.#recursionSteps, limit);
      return;
    }
    const said = `A recursive WITH ends with LIMIT and a number up to ${maximum}, before its closing parenthesis.`;
    throw notAllowed(said, { sql: this.#sql, at: token.start });
  }

  #problem(said: string, at?: number) {
    return queryProblem(said, { sql: this.#sql, at });
  }
}

/** The alias of a table without one: its name; for a part of a variable, the last key. */
function ownAliasOf({ value, reference }: Token): string {
  if (reference === undefined) return value;
  const key = reference.path.findLast((segment) => "key" in segment);
  return key?.key ?? reference.name;
}
