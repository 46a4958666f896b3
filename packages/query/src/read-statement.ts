import * as limits from "../../../src/limits.ts";
import { requireAtMost } from "../../../src/errors.ts";
import { nearest } from "../../../src/internal.ts";
import type { Syntax } from "../../../src/references.ts";
import { notAllowed, queryProblem } from "./query-problem.ts";
import { requireAllowed } from "./allowed-functions.ts";
import { aliasAt, isComparison, ownAliasOf } from "./table-names.ts";
import { type AliasTarget, SelectGroup, type TableUse } from "./select-group.ts";
import { argumentsAt, isLongNumber, isSign, statementTokensOf, type Token } from "./sql-tokens.ts";
import {
  AFTER_FROM,
  AGGREGATES,
  COMPOUND,
  STATEMENTS,
  TABLE_FUNCTIONS,
} from "./statement-words.ts";
import type { ParameterUse, Statement } from "./statement.ts";

/**
 * Reads a SQL statement. Throws `bad_query`, also for a misspelled SELECT, `query_not_allowed` for anything but one
 * SELECT, WITH … SELECT or VALUES statement, and `limit_exceeded` above `maxStatementChars`. Cost: linear.
 */
export function readStatement(sql: string, syntaxes: readonly Syntax[]): Statement {
  const advice = "Save long lists as a variable, and use it as a table.";
  requireAtMost(["maxStatementChars", limits.maxStatementChars], sql.length, advice);
  const tokens = statementTokensOf(sql, syntaxes);
  return new StatementReader(sql, tokens).read();
}

interface FoundTable {
  readonly token: Token;
  readonly group: SelectGroup;
  readonly alias: { readonly name: string; readonly isWritten: boolean } | undefined;
}

/** The formats of strftime for the parts of a date. */
const DATE_PARTS: Readonly<Record<string, string>> = {
  YEAR: "%Y",
  MONTH: "%m",
  DAY: "%d",
  HOUR: "%H",
  MINUTE: "%M",
  SECOND: "%S",
  DOW: "%w",
  DOY: "%j",
  WEEK: "%W",
  EPOCH: "%s",
};

/** Reads the tokens once, from left to right, with the parentheses that are open. */
class StatementReader {
  readonly #sql: string;
  readonly #tokens: readonly Token[];
  readonly #root = new SelectGroup();
  readonly #found: FoundTable[] = [];
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
      const place = { sql: this.#sql, at: first.start };
      const near = nearest(first.word, STATEMENTS);
      const said = `This begins with ${first.value}.`;
      throw near.length === 0 ? notAllowed(said, place) : queryProblem(said, { ...place, near });
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
      names: new Set(names.map(({ value }) => value.toLowerCase())),
      texts,
      usesAllColumns: this.#usesAllColumns,
      recursionSteps: this.#recursionSteps,
      isJoin: this.#tableCount > 1,
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
    // Behind AS, any word is a name.
    if (word !== "" && this.#tokens[at - 1]?.word !== "AS") this.#word(word, at);
    // SQLite also calls functions whose names are in quotes.
    if (kind === "name" && this.#isSign(at + 1, "(")) this.#function(value.toUpperCase(), at);
  }

  #word(word: string, at: number): void {
    const group = this.#group;
    const select = group.select;
    const previous = this.#tokens[at - 1]?.word;
    if (word === "FROM" && !isComparison(this.#tokens, at)) {
      if (!group.isSelect) throw this.#problem(this.#fromInCall(at), this.#tokens[at]?.start);
      group.isInFrom = true;
      group.expectsTable = true;
    } else if (word === "JOIN" && group.isInFrom) group.expectsTable = true;
    else if (word === "WITH" && this.#isFirst(at)) group.definition = "name";
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

  /** Says what to write for a FROM that is none of a SELECT: `extract(year FROM day)`. */
  #fromInCall(at: number): string {
    const tokens = this.#tokens;
    const opening = tokens.findLastIndex((token, index) => index < at && isSign(token, "("));
    const name = tokens[opening - 1]?.word ?? "";
    const format = DATE_PARTS[tokens[opening + 1]?.word ?? ""] ?? "%Y";
    const [day = []] = argumentsAt(tokens, at);
    const text = this.#sql.slice(day[0]?.start ?? 0, day.at(-1)?.end ?? 0);
    if (name === "EXTRACT")
      return `SQLite has no extract. Write CAST(strftime('${format}', ${text}) AS INTEGER).`;
    if (name === "SUBSTRING") return "Write substr(x, start, length), without FROM.";
    return name === "TRIM" ? "Write trim(x, characters), without FROM." : "FROM belongs to SELECT.";
  }

  #isSign(at: number, sign: string): boolean {
    return isSign(this.#tokens[at], sign);
  }

  #function(word: string, at: number): void {
    requireAllowed(word, at, { sql: this.#sql, tokens: this.#tokens });
    const { select } = this.#group;
    const isScalar =
      (word === "MIN" || word === "MAX") && argumentsAt(this.#tokens, at + 1).length > 1;
    if (AGGREGATES.has(word) && !isScalar) select.hasAggregate = true;
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
    const maximum = limits.maxStatementTables;
    const advice = "Define parts of it with WITH.";
    requireAtMost(["maxStatementTables", maximum], this.#group.depth, advice);
    this.#group.isSelect = isSelect;
    this.#group.isTable = isSelect && isInTables;
    if (outer.definition !== "columns") return;
    if (!isSelect) return this.#requireColumns(at);
    outer.definitions.set(outer.definedName.toLowerCase(), this.#group);
    this.#addAlias(outer.definedName, this.#group);
    outer.definition = "next";
  }

  /** Throws if the parenthesis in WITH is no list of columns. */
  #requireColumns(at: number): void {
    const before = this.#tokens[at - 1];
    if (before?.word !== "AS" && before?.word !== "MATERIALIZED") return;
    const name = this.#group.parent?.definedName;
    const said = `WITH ${name} AS is followed by a SELECT in parentheses.`;
    throw notAllowed(said, { sql: this.#sql, at: before.end });
  }

  #close(token: Token, at: number): void {
    const closed = this.#group;
    if (closed.parent === undefined) {
      const place = { sql: this.#sql, at: token.start };
      throw queryProblem("This parenthesis is not open.", place);
    }
    this.#group = closed.parent;
    if (closed.isTable) this.#addAlias(aliasAt(this.#tokens, at + 1) ?? "", closed);
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
    throw notAllowed(`WITH is followed by ${value}.`, { sql: this.#sql, at: start });
  }

  #table(token: Token, at: number): void {
    const group = this.#group;
    group.expectsTable = false;
    const isIn = this.#tokens[at - 1]?.word === "IN";
    const following = this.#tokens[at + 1];
    if (following?.kind === "sign" && following.value === "(") return this.#tableFunction(token);
    const written = isIn ? undefined : aliasAt(this.#tokens, at + 1);
    const alias = { name: written ?? ownAliasOf(token), isWritten: written !== undefined };
    this.#found.push({ token, group, alias: isIn ? undefined : alias });
    this.#countTable();
  }

  #tableFunction(token: Token): void {
    if (!TABLE_FUNCTIONS.has(token.word)) {
      const said = `${token.value} is not a table function; there are json_each and json_tree.`;
      throw notAllowed(said, { sql: this.#sql, at: token.start });
    }
    this.#countTable();
  }

  #countTable(): void {
    const maximum = limits.maxStatementTables;
    requireAtMost(
      ["maxStatementTables", maximum],
      ++this.#tableCount,
      "Query fewer tables at once.",
    );
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

  #requireLimit(token: Token, definition: SelectGroup): void {
    const { limit, isLimitPlain } = definition;
    const maximum = limits.maxQueryRecords;
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
