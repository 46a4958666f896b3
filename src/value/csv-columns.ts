import * as ascii from "./ascii.ts";
import * as limits from "../limits.ts";
import { requireAtMost } from "../errors.ts";
import { distinctNames } from "./distinct-names.ts";
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
    const written = names.map((name, column) => name.trim() || `column_${column + 1}`);
    this.#keys = distinctNames(written).map((name) => `${JSON.stringify(name)}:`);
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

/** Rows of a CSV, up to `end`: that of the text, or of the last row before one that is malformed. */
export interface CsvRows {
  readonly rows: readonly (readonly string[])[];
  /** Where each row begins. */
  readonly starts: readonly number[];
  readonly end: number;
  /** What is wrong with the next row, and where. `isOpen`: more text may mend it. */
  readonly fault?: { readonly at: number; readonly reason: string; readonly isOpen: boolean };
}

/**
 * Splits a CSV (RFC 4180) from `from` on into rows of cells, `most` at most. A line without content is no row. Cost:
 * linear.
 */
export function splitRows(
  text: string,
  delimiter: number,
  { from = 0, most = Infinity } = {},
): CsvRows {
  const rows: string[][] = [];
  const starts: number[] = [];
  let row: string[] = [];
  let start = from;
  let at = from;
  const failing = (reason: string): CsvRows => ({
    rows,
    starts,
    end: start,
    fault: { at, reason, isOpen: reason === UNCLOSED },
  });
  while (at < text.length && rows.length < most) {
    const first = at;
    const isQuoted = text.charCodeAt(at) === ascii.QUOTE;
    if (isQuoted) {
      const closing = closingQuote(text, at);
      if (closing < 0) return failing(UNCLOSED);
      row.push(text.slice(first + 1, closing).replaceAll('""', '"'));
      at = closing + 1;
    }
    while (at < text.length && !endsCell(text.charCodeAt(at), delimiter)) {
      if (isQuoted) return failing("has text after a closing quote");
      if (text.charCodeAt(at) === ascii.QUOTE) return failing(QUOTE_INSIDE);
      at++;
    }
    if (!isQuoted) row.push(text.slice(first, at));
    if (text.charCodeAt(at) === delimiter) {
      at++;
      if (at < text.length) continue;
      row.push("");
    }
    if (row.length > 1 || at > start) {
      rows.push(row);
      starts.push(start);
    }
    row = [];
    at += text.startsWith("\r\n", at) ? 2 : 1;
    start = at;
  }
  return { rows, starts, end: Math.min(at, text.length) };
}

const UNCLOSED = "has a quote that is not closed";
const QUOTE_INSIDE =
  "has a quote in a cell without quotes; write the cell in quotes, and the quote twice";

function endsCell(code: number, delimiter: number): boolean {
  return code === delimiter || code === ascii.LF || code === ascii.CR;
}

/** The place of the quote that closes the one at `start`; -1 if there is none. */
function closingQuote(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && text.charCodeAt(end + 1) === ascii.QUOTE) end = text.indexOf('"', end + 2);
  return end;
}
