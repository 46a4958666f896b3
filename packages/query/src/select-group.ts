import type { Path } from "../../../src/references.ts";
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
  /** The reader's position in the definitions of WITH. */
  definition: "none" | "name" | "columns" | "next" = "none";
  definedName = "";
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
    return isOne ? 1 : this.limit;
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
}
