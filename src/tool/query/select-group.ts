import type { Token } from "./sql-tokens.ts";

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
  /** Where the reader is in the definitions of WITH. */
  definition: "none" | "name" | "columns" | "body" | "next" = "none";
  definedName = "";
  /** A whole number behind LIMIT. */
  limit: number | undefined;
  /** True if nothing follows the number behind LIMIT. */
  isLimitPlain = false;
  hasAggregate = false;
  hasWindow = false;
  hasCommas = false;
  isCompound = false;
  /** The names behind GROUP BY, in lower case; undefined without it, or if there are other expressions. */
  groupedBy: readonly string[] | undefined;
  isGrouped = false;

  constructor(parent?: SelectGroup, isInFrom = false) {
    this.parent = parent;
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

  /** The most records that it returns, as far as the text tells. */
  get maxRows(): number | undefined {
    const isOne = this.hasAggregate && !this.isGrouped && !this.hasWindow && !this.isCompound;
    return isOne ? 1 : this.limit;
  }

  /** Notes a number behind LIMIT. */
  readLimit(tokens: readonly Token[], at: number): void {
    const [number, following, last] = tokens.slice(at + 1, at + 4);
    if (number?.kind !== "value" || !/^\d+$/.test(number.value)) return;
    const isEnd = following === undefined || following.value === ")";
    // In LIMIT 5, 10 the second number is the limit.
    const counted = following?.value === "," ? last : number;
    const isNumber = counted?.kind === "value" && /^\d+$/.test(counted.value);
    this.limit = isNumber ? Number(counted.value) : undefined;
    this.isLimitPlain = isEnd;
  }

  /** Notes the names behind GROUP BY. */
  readGrouping(tokens: readonly Token[], at: number): void {
    this.isGrouped = true;
    const names: string[] = [];
    for (let next = at + 2; ; next += 2) {
      const [name, following] = tokens.slice(next, next + 2);
      if (name?.kind !== "name" || following?.value === "." || following?.value === "(") return;
      names.push(name.value.toLowerCase());
      if (following?.value === ",") continue;
      const isEnd = following === undefined || following.value === ")";
      if (isEnd || AFTER_GROUPING.has(following.word)) this.groupedBy = names;
      return;
    }
  }
}

const AFTER_GROUPING = new Set(["HAVING", "ORDER", "LIMIT", "WINDOW"]);
