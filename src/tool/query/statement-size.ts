import * as limits from "../../limits.ts";
import { ByrefError, requireAtMost } from "../../errors.ts";
import { type ElementColumn, elementLeftOf, elementRead } from "./element-columns.ts";
import { argumentsAt } from "./select-columns.ts";
import { isSign, type Token } from "./sql-tokens.ts";

/** The work on texts that a statement does for each row. It is an upper bound. */
export interface TextWork {
  /** Functions that read a text, by how often they do. */
  readonly calls: number;
  /** Those that read an element of `json_each`, and nothing else that is long. */
  readonly elementCalls: number;
  /** Functions that look for one text in another: their work is the product of both. */
  readonly searches: number;
  /** How many times as long as a value a text may become. */
  readonly growth: number;
  /** Characters of the longest text in the statement, with those that formats add. */
  readonly chars: number;
  /** True if a text that is put together from many rows may be read again. */
  readonly joinsRows: boolean;
}

/** Functions that read no text, and keywords before a parenthesis. */
const CHEAP = new Set(
  `COUNT SUM AVG TOTAL MIN MAX ABS ROUND COALESCE IFNULL NULLIF IIF IF SIGN CEIL FLOOR SQRT POW POWER MOD
  ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD FIRST_VALUE LAST_VALUE NTH_VALUE TYPEOF
  DATE TIME DATETIME JULIANDAY UNIXEPOCH TIMEDIFF IN VALUES AS OVER USING ON AND OR NOT EXISTS FILTER SELECT
  DISTINCT ALL BY HAVING WHEN THEN ELSE CASE BETWEEN FROM JOIN WHERE LIMIT OFFSET UNION EXCEPT INTERSECT IS
  MATERIALIZED JSON_EACH JSON_TREE`.split(/\s+/),
);
/** Functions whose result has all of their arguments. */
const JOINING = new Set(
  "CONCAT CONCAT_WS JSON_ARRAY JSON_OBJECT JSON_INSERT JSON_REPLACE JSON_SET JSON_PATCH PRINTF FORMAT JSONB_ARRAY JSONB_OBJECT JSONB_INSERT JSONB_REPLACE JSONB_SET JSONB_PATCH".split(
    " ",
  ),
);
const DOUBLING = new Set("HEX QUOTE JSON_QUOTE JSON STRFTIME".split(" "));
/** Number of texts of 1,024 characters that a function reads in the time of one row. */
const SEARCHES = new Map([
  ["INSTR", 1],
  ["REPLACE", 1],
  ["TRIM", 16],
  ["LTRIM", 16],
  ["RTRIM", 16],
  ["JSON_PATCH", 16],
  ["JSONB_PATCH", 16],
]);
/** Functions with which a statement makes one text of many rows. */
export const ROW_JOINING = new Set(
  "GROUP_CONCAT STRING_AGG JSON_GROUP_ARRAY JSON_GROUP_OBJECT JSONB_GROUP_ARRAY JSONB_GROUP_OBJECT".split(
    " ",
  ),
);

interface Sized {
  readonly size: SelectSize;
  readsElement(table: string | undefined): boolean;
}

/** Calls that read an element, if the column is one. */
interface ColumnCalls {
  readonly column: ElementColumn;
  readonly calls: number;
}

/** Counts of a SELECT, without the SELECTs in it. */
export class SelectSize {
  calls = 0;
  searches = 0;
  growth = 1;
  chars = 0;
  joinsRows = false;
  readonly columnCalls: ColumnCalls[] = [];
  /** The SELECTs in it, and the definitions that it uses, once for each use. */
  readonly uses: Sized[] = [];
  tables = 0;
  /** The steps of the recursion that it is. */
  steps = 0;
  /** `growth` and the names before the last of the SELECTs that UNION joins. */
  #growthBefore = 1;
  #lastNames = new Map<string, number>();
  readonly #names = new Map<string, number>();

  /** Counts a name in the list of columns, because SQLite replaces it with its expression. */
  addName({ value, word }: Token): void {
    if (word === "AS") return;
    const key = value.toLowerCase();
    for (const names of [this.#names, this.#lastNames]) names.set(key, (names.get(key) ?? 0) + 1);
  }

  /** Begins another one of the SELECTs that UNION joins. */
  beginPart(): void {
    this.#growthBefore = this.growth;
    this.#lastNames = new Map();
  }

  /** How much longer a recursion makes a text that it reads: in each step twice as long, at worst. */
  get growthInSteps(): number {
    const inStep = this.growth / this.#growthBefore;
    if (this.steps === 0 || inStep <= 1) return this.growth;
    const isRepeated = [...this.#lastNames.values()].some((count) => count > 1);
    return this.growth * (isRepeated ? inStep ** this.steps : inStep * this.steps);
  }

  get repetition(): number {
    return Math.max(1, ...this.#names.values());
  }

  /** Counts `->` or `->>`, at each `>` in it. */
  addArrow(tokens: readonly Token[], at: number): void {
    if (isSign(tokens[at - 1], "-") && isSign(tokens[at + 1], ">")) return;
    this.#addReads(elementLeftOf(tokens, at), 1);
  }

  #addReads(column: ElementColumn | undefined, calls: number): void {
    if (column === undefined) this.calls += calls;
    else this.columnCalls.push({ column, calls });
  }

  /** Counts an operator that reads or makes a text. */
  addOperator(word: string): void {
    if (word === "||") this.growth++;
    this.calls += word === "LIKE" || word === "GLOB" ? 4 : 1;
  }

  /** Counts a call of a function, whose opening parenthesis is at this token. */
  addCall(word: string, tokens: readonly Token[], opening: number): void {
    if (ROW_JOINING.has(word)) this.joinsRows = true;
    if (CHEAP.has(word) || ROW_JOINING.has(word)) return;
    const list = argumentsAt(tokens, opening);
    const [read = [], ...others] = list;
    const isOfElement = !SEARCHES.has(word) && others.every((one) => isLiteral(one));
    this.#addReads(isOfElement ? elementRead(read) : undefined, Math.max(1, list.length - 1));
    if (JOINING.has(word)) this.growth += list.length;
    if (DOUBLING.has(word)) this.growth *= word === "STRFTIME" ? 8 : 2;
    if (word === "PRINTF" || word === "FORMAT") this.chars += widthsOf(list[0] ?? []);
    if (word === "JSON_PRETTY") this.growth *= 1 + indentOf(list[1]) * LINES_OF_CHAR;
    const [, needle, replacement] = list.map(textOf);
    const weight = list.length > 1 ? (SEARCHES.get(word) ?? 0) : 0;
    if (needle === undefined) this.searches += weight;
    else this.calls += (needle.length * weight) / SHORT;
    if (word !== "REPLACE") return;
    if (replacement === undefined) this.growth *= limits.maxQueryRowBytes;
    else this.growth *= Math.max(1, replacement.length / Math.max(needle?.length ?? 1, 1));
  }
}

/** Characters of a text that is searched for, in one reading. */
const SHORT = 16;

function isLiteral([token, ...others]: readonly Token[]): boolean {
  return (token?.kind === "text" || token?.kind === "value") && others.length === 0;
}

function textOf([token, ...others]: readonly Token[]): string | undefined {
  return token?.kind === "text" && others.length === 0 ? token.value : undefined;
}

/** Returns the sum of the widths in a format. Throws for one that is not written, or may be very long. */
function widthsOf(argument: readonly Token[]): number {
  const format = textOf(argument);
  const numbers = (format ?? "*").match(/\d+|\*/g) ?? [];
  if (numbers.every((number) => Number(number) <= MAX_WIDTH))
    return numbers.reduce((sum, number) => sum + Number(number), 0);
  throw new ByrefError(
    "query_not_allowed",
    `printf and format need a written format, with widths up to ${MAX_WIDTH}.`,
  );
}

const MAX_WIDTH = 100;
/** Indents that json_pretty adds for each character: each value has two at least, and is in up to 1,000 others. */
const LINES_OF_CHAR = 500;
const DEFAULT_INDENT = 4;
const MAX_INDENT = 16;

/** Returns the length of the indent that json_pretty is given. Throws for one that is not written, or long. */
function indentOf(argument: readonly Token[] | undefined): number {
  const length = argument === undefined ? DEFAULT_INDENT : textOf(argument)?.length;
  if (length !== undefined && length <= MAX_INDENT) return length;
  throw new ByrefError(
    "query_not_allowed",
    `json_pretty needs a written indent of up to ${MAX_INDENT} characters.`,
  );
}

interface Size extends TextWork {
  /** SELECTs and tables, as often as SQLite compiles them. */
  readonly parts: number;
  /** How often the expression behind a column may be repeated. */
  readonly repetition: number;
}

/**
 * Returns the work of a statement on texts. Throws `limit_exceeded` if SQLite would compile too many SELECTs or
 * expressions: a definition is compiled again wherever it is used.
 */
export function textWorkOf(root: Sized, chars: number): TextWork {
  const sizes = new Map<Sized, Size>();
  const sizeOf = (group: Sized): Size => {
    const known = sizes.get(group);
    if (known !== undefined) return known;
    // A recursion counts only the work of one step.
    sizes.set(group, NO_SIZE);
    const { size } = group;
    const isOfElement = ({ column }: ColumnCalls) => group.readsElement(column.table);
    const [ofElements, ofOthers] = [true, false].map((isOne) =>
      size.columnCalls
        .filter((one) => isOfElement(one) === isOne)
        .reduce((all, { calls }) => all + calls, 0),
    ) as [number, number];
    const used = size.uses.map(sizeOf);
    const sum = (count: (one: Size) => number) => used.reduce((all, one) => all + count(one), 0);
    const largest = (count: (one: Size) => number) => Math.max(1, ...used.map(count));
    const made: Size = {
      parts: 1 + size.tables + sum(({ parts }) => parts),
      repetition: size.repetition * largest(({ repetition }) => repetition),
      calls: size.calls + ofOthers + sum(({ calls }) => calls),
      elementCalls: ofElements + sum(({ elementCalls }) => elementCalls),
      searches: size.searches + sum(({ searches }) => searches),
      growth: size.growthInSteps * largest(({ growth }) => growth),
      chars: size.chars + sum((one) => one.chars),
      joinsRows: (size.joinsRows && group !== root) || used.some(({ joinsRows }) => joinsRows),
    };
    sizes.set(group, made);
    return made;
  };
  const { parts, repetition, ...work } = sizeOf(root);
  const advice = "Use each definition fewer times, or save it as a variable first.";
  const actual = Math.max(parts, repetition);
  requireAtMost(["maxStatementParts", limits.maxStatementParts], actual, advice);
  return {
    ...work,
    calls: work.calls * repetition,
    elementCalls: work.elementCalls * repetition,
    searches: work.searches * repetition,
    chars: chars + work.chars,
  };
}

const NO_SIZE: Size = {
  parts: 1,
  repetition: 1,
  calls: 0,
  elementCalls: 0,
  searches: 0,
  growth: 1,
  chars: 0,
  joinsRows: false,
};
