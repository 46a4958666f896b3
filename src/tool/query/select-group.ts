import type { Path } from "../../value/path.ts";
import { type Expression, groupingAt, type OutputColumn, outputsAt } from "./select-columns.ts";
import { SelectSize } from "./statement-size.ts";
import { isSign, type Token } from "./sql-tokens.ts";

/** A place of a statement that names a variable as a table. */
export interface TableUse {
  readonly name: string;
  readonly path: Path;
  readonly token: Token;
  /** The parentheses that it is in. */
  readonly group: SelectGroup;
  /** Undefined where a table has no alias: behind IN. */
  readonly alias: string | undefined;
  /** True if the statement itself contains the alias. */
  readonly isAliased: boolean;
}

/** `json_each` or `json_tree` as a table. */
export interface TableFunctionUse {
  readonly argument: Expression;
  /** True if it has no further argument. */
  readonly isOnly: boolean;
  /** True for `json_each`, whose values have no characters in common. */
  readonly isEach: boolean;
  readonly group: SelectGroup;
  /** In lower case. */
  readonly alias: string;
}

/** The target of an alias: a variable's table, a statement in parentheses, or a table function. */
export type AliasTarget = TableUse | SelectGroup | TableFunctionUse;

interface NamedOutput extends OutputColumn {
  /** True if `*` before it may return a column of its name, which then keeps the name. */
  readonly mayBeHidden: boolean;
}

/** The columns of a SELECT, at most one row of which has the same values in them. */
export interface Key {
  readonly columns: readonly string[];
  /** It is one only if what the SELECT reads has no columns of these names. */
  readonly absent: readonly string[];
}

/**
 * A statement, or what is between two parentheses in it. The reader of statements notes in it what estimates
 * and the rules about recursion need to know.
 */
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
  /** The reader's position in the definitions of WITH. */
  definition: "none" | "name" | "columns" | "body" | "next" = "none";
  definedName = "";
  definedColumns: readonly string[] = [];
  /** A whole number behind LIMIT. */
  limit: number | undefined;
  /** True if nothing follows the number behind LIMIT. */
  isLimitPlain = false;
  hasAggregate = false;
  hasWindow = false;
  hasCommas = false;
  isCompound = false;
  isGrouped = false;
  isDistinct = false;
  /** The sources in FROM. */
  readonly sources: AliasTarget[] = [];
  /** Names of its columns that it gives itself, as in WITH a(b) AS (…). */
  names: readonly string[] = [];
  /** True if it is what WITH defines. */
  isDefinition = false;
  readonly depth: number;
  readonly size = new SelectSize();
  /** True up to FROM: where the columns of the result are. */
  isInOutputs = false;
  #outputs: readonly OutputColumn[] = [];
  #grouping: readonly Expression[] = [];

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
    // If columns of an outer statement are known, the aggregate may belong to that one.
    return isOne && this.#isClosed ? 1 : this.limit;
  }

  /** True if it is read once for each use, and each row of what it reads is read once then. */
  get readsOnce(): boolean {
    return this.sources.length === 0 || (this.sources.length === 1 && this.#isClosed);
  }

  /** True if it sees no columns of a statement around it. */
  get #isClosed(): boolean {
    if (this.parent === undefined) return true;
    const isOpen = this.isSelect && !this.isTable && !this.isDefinition;
    return !isOpen && this.parent.#isClosed;
  }

  /** True if a column of this table is one of the only `json_each` that it reads. */
  readsElement(table: string | undefined): boolean {
    const [use, ...others] = this.sources.filter((source) => "argument" in source);
    if (use === undefined || others.length > 0 || this.isCompound) return false;
    return use.isEach && (table === undefined || table === use.alias);
  }

  /** The source, if it is a single table and each of its rows becomes at most one. */
  get source(): AliasTarget | undefined {
    const [source, ...others] = this.sources;
    const isOne = source !== undefined && others.length === 0;
    return isOne && !this.isCompound && this.#isClosed ? source : undefined;
  }

  /** True if it returns all columns of its source, too. */
  get isStarred(): boolean {
    return this.#outputs.some(({ text }) => STAR.test(text));
  }

  /** Its columns by name, and the column of its source that each is. */
  get columns(): ReadonlyMap<string, string | undefined> {
    const columns = new Map<string, string | undefined>();
    for (const { name, column, mayBeHidden } of this.#named) {
      if (name === undefined) continue;
      // SQLite gives the second of two columns with one name another.
      const isOther = mayBeHidden || columns.has(name);
      columns.set(name, isOther ? undefined : column?.name);
    }
    return columns;
  }

  /** The columns of its source by which it groups; undefined if it does not, or by other expressions. */
  get groupedColumns(): readonly string[] | undefined {
    const grouping = this.isDistinct ? this.#outputs : this.#grouping;
    const names = grouping.flatMap(({ column }) => column?.name ?? []);
    const isPlain = names.length > 0 && names.length === grouping.length;
    return isPlain && (this.isDistinct || this.isGrouped) ? names : undefined;
  }

  get keys(): readonly Key[] {
    if (!this.#isClosed) return [];
    const named = this.#named;
    const all = named.flatMap(({ name }) => name ?? []);
    const isAll = all.length > 0 && all.length === named.length;
    const keys: Key[] = [];
    if (this.isDistinct && isAll && !this.isStarred) this.#addKey(keys, all);
    if (this.isCompound) return keys;
    if (this.isGrouped) {
      const names = this.#grouping.map(
        (one) => this.#nameOf(one) ?? this.#aliased(one.column)?.name,
      );
      this.#addKey(keys, names, this.#aliases);
    }
    for (const { name, partitions } of named) {
      const isRank = partitions?.every(({ ordinal }) => ordinal === undefined) === true;
      if (!isRank) continue;
      this.#addKey(keys, [...partitions.map((one) => this.#nameOf(one)), name]);
    }
    return keys;
  }

  /** The outputs with the names that the statement gives them. */
  get #named(): readonly NamedOutput[] {
    if (this.names.length > 0 && this.isStarred) return [];
    const star = this.#outputs.findIndex(({ text }) => STAR.test(text));
    return this.#outputs.flatMap((output, at) => {
      if (STAR.test(output.text)) return [];
      const name = this.names.length > 0 ? this.names[at] : output.name;
      return { ...output, name, mayBeHidden: star >= 0 && star < at };
    });
  }

  /** Adds a key of these columns, if all of them have names that no other column has. */
  #addKey(
    keys: Key[],
    columns: readonly (string | undefined)[],
    aliases: readonly string[] = [],
  ): void {
    const named = this.#named;
    const found = columns.map((column) => named.filter(({ name }) => name === column));
    if (columns.includes(undefined) || found.some(({ length }) => length !== 1)) return;
    const names = columns.flatMap((column) => column ?? []);
    const hidden = found
      .flat()
      .flatMap(({ name, mayBeHidden }) => (mayBeHidden ? (name ?? []) : []));
    keys.push({ columns: names, absent: [...hidden, ...aliases] });
  }

  /** The name of the column that has the values of an expression. */
  #nameOf({ ordinal, text, column }: Expression): string | undefined {
    const named = this.#named;
    if (ordinal !== undefined) return this.isStarred ? undefined : named[ordinal - 1]?.name;
    return named.find((output) => output.text === text || this.#isSame(output, column))?.name;
  }

  #aliased(column: OutputColumn["column"]): OutputColumn | undefined {
    if (column === undefined || column.table !== undefined || this.names.length > 0)
      return undefined;
    return this.#outputs.find(({ name }) => name === column.name);
  }

  /** The aliases behind GROUP BY. SQLite prefers a column of that name. */
  get #aliases(): readonly string[] {
    const isSame = ({ text, column }: Expression) =>
      this.#outputs.some((output) => output.text === text || this.#isSame(output, column));
    return this.#grouping.flatMap((one) =>
      one.column !== undefined && !isSame(one) ? one.column.name : [],
    );
  }

  #isSame({ column: other }: OutputColumn, column: OutputColumn["column"]): boolean {
    const isOneTable = column?.table === undefined || other?.table === undefined;
    return column !== undefined && other?.name === column.name && isOneTable;
  }

  /** Notes what it returns. */
  readOutputs(tokens: readonly Token[], at: number): void {
    const following = tokens[at + 1]?.word;
    this.isInOutputs = true;
    if (this.#outputs.length > 0) return;
    this.isDistinct = following === "DISTINCT";
    this.#outputs = outputsAt(
      tokens,
      following === "DISTINCT" || following === "ALL" ? at + 2 : at + 1,
    );
  }

  /** Notes a number behind LIMIT. */
  readLimit(tokens: readonly Token[], at: number): void {
    const [number, sign, second, behind] = tokens.slice(at + 1, at + 5);
    // In LIMIT 5, 10 the second number is the limit.
    const isPair = isSign(sign, ",");
    const counted = isPair ? second : number;
    const end = isPair ? behind : sign;
    const isEnd = end === undefined || isSign(end, ")");
    const isNumber = counted?.kind === "value" && /^\d+$/.test(counted.value);
    const isWhole = isEnd || (!isPair && end.word === "OFFSET");
    this.limit = isNumber && isWhole ? Number(counted.value) : undefined;
    this.isLimitPlain = isEnd && !isPair;
  }

  /** Notes the expressions behind GROUP BY. */
  readGrouping(tokens: readonly Token[], at: number): void {
    this.isGrouped = true;
    this.#grouping = groupingAt(tokens, at + 2);
  }
}

/** The texts of `*` and `table.*`. */
const STAR = /\["sign","\*"\]\]$/;
