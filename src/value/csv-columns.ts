import * as ascii from "./ascii.ts";
import * as limits from "../limits.ts";
import { requireAtMost } from "../errors.ts";
import { isDouble } from "./exact-number.ts";

/** Of a column: `e`: no cell has had content yet, `n`: numbers, `b`: booleans, `t`: text. */
type Kind = "e" | "n" | "b" | "t";

/**
 * The columns of a CSV: their names, and the kinds of their cells. A column is of numbers or booleans if all of its
 * cells are, and null if all are empty. Empty cells are null in such columns, and empty texts in others.
 */
export class CsvColumns {
  /** The names as keys of a JSON object, with the colon. */
  readonly #keys: readonly string[];
  /** Length of a record whose cells are all empty: what a row repeats. */
  readonly #repeatedChars: number;
  readonly #kinds: Kind[];
  /** Characters of the first line and the rows so far. */
  #readChars: number;
  #rows = 0;
  /** True if rows were written before one of their columns became text. */
  isOutdated = false;

  /** `names`: the first row. `kinds`: a letter for each column, if they are known. Throws `limit_exceeded`. */
  constructor(names: readonly string[], kinds = "") {
    const advice = "Save it as text/plain, or send fewer columns.";
    requireAtMost("maxEntries", names.length, advice);
    this.#keys = distinct(names).map((name) => `${JSON.stringify(name)}:`);
    this.#readChars = charsOf(names);
    this.#repeatedChars = recordOf(this.#keys, () => "null").length;
    this.#kinds = names.map((_, column) => (kinds[column] ?? "e") as Kind);
  }

  get count(): number {
    return this.#keys.length;
  }

  get kinds(): string {
    return this.#kinds.join("");
  }

  /**
   * Learns the kinds of rows. Missing cells are empty. Throws `limit_exceeded` if the records, which repeat the
   * names, would be far longer than the CSV.
   */
  learn(rows: readonly (readonly string[])[]): void {
    for (const row of rows) {
      this.#readChars += charsOf(row);
      for (const [column, cell] of row.entries()) this.#learnCell(column, cell);
    }
    this.#rows += rows.length;
    const maximum = limits.maxCsvNameChars + MAX_TIMES * this.#readChars;
    requireAtMost(["maxCsvNameChars", maximum], this.#rows * this.#repeatedChars, SHORTER);
  }

  /** Returns the rows as records in JSON. */
  records(rows: readonly (readonly string[])[]): readonly string[] {
    const literal = (row: readonly string[], column: number) =>
      literalOf(row[column] ?? "", this.#kinds[column]);
    return rows.map((row) => recordOf(this.#keys, (column) => literal(row, column)));
  }

  #learnCell(column: number, cell: string): void {
    const before = this.#kinds[column];
    if (cell === "" || before === "t") return;
    const kind = kindOf(cell);
    if (kind === before) return;
    const after = before === "e" ? kind : "t";
    this.#kinds[column] = after;
    if (after === "t" && this.#rows > 0) this.isOutdated = true;
  }
}

function recordOf(keys: readonly string[], literal: (column: number) => string): string {
  return `{${keys.map((key, column) => key + literal(column)).join(",")}}`;
}

function charsOf(row: readonly string[]): number {
  return row.reduce((chars, cell) => chars + cell.length + 1, 0);
}

/** How many times longer than the CSV its names may be in all records, beside `maxCsvNameChars`. */
const MAX_TIMES = 100;
const SHORTER =
  "Each record repeats the names of the first line: shorten them, remove empty columns, or save it as text/plain.";

/** Names columns without a name by their position; a name that is taken gets a number. */
function distinct(names: readonly string[]): readonly string[] {
  const written = names.map((name, column) => name.trim() || `column_${column + 1}`);
  const taken = new Set(written);
  const numbers = new Map<string, number>();
  const seen = new Set<string>();
  return written.map((base) => {
    if (!seen.has(base)) {
      seen.add(base);
      return base;
    }
    let number = numbers.get(base) ?? 2;
    while (taken.has(`${base}_${number}`)) number++;
    numbers.set(base, number + 1);
    taken.add(`${base}_${number}`);
    return `${base}_${number}`;
  });
}

function literalOf(cell: string, kind: Kind = "t"): string {
  if (kind === "t") return JSON.stringify(cell);
  return cell === "" ? "null" : cell;
}

function kindOf(cell: string): Kind {
  if (cell === "true" || cell === "false") return "b";
  return isNumber(cell) ? "n" : "t";
}

/** Matches a JSON number without an exponent. `007` and `1,5` are texts. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** The longest text of a number that JavaScript writes. */
const MAX_NUMBER_CHARS = 25;

/** True if the number is exactly the one that is written. Zeros at the end of a fraction do not count. */
function isNumber(cell: string): boolean {
  const isShort = cell.length <= MAX_NUMBER_CHARS && NUMBER.test(cell);
  return isShort && isDouble(cell) && !Object.is(Number(cell), -0);
}

/** Splits the rows of a valid CSV into their cells. */
export function splitRows(text: string, delimiter: number): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const start = at;
    if (text.charCodeAt(at) === ascii.QUOTE) {
      at = closingQuote(text, at) + 1;
      row.push(text.slice(start + 1, at - 1).replaceAll('""', '"'));
    } else {
      while (at < text.length && !endsCell(text.charCodeAt(at), delimiter)) at++;
      row.push(text.slice(start, at));
    }
    const isLast = text.charCodeAt(at) !== delimiter;
    if (!isLast && at + 1 === text.length) row.push("");
    if (!isLast && at + 1 < text.length) continue;
    // A line without content is no row.
    if (row.length > 1 || at > start) rows.push(row);
    row = [];
    if (text.startsWith("\r\n", at)) at++;
  }
  return rows;
}

function endsCell(code: number, delimiter: number): boolean {
  return code === delimiter || code === ascii.LF || code === ascii.CR;
}

function closingQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text.charCodeAt(end + 1) === ascii.QUOTE) end = text.indexOf('"', end + 2);
  return end < 0 ? text.length : end;
}
