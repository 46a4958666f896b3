import * as limits from "../limits.ts";
import { requireAtMost } from "../errors.ts";

/** `empty`: no cell has had content yet. */
type Kind = "empty" | "number" | "boolean" | "text";

/**
 * The columns of a CSV: their names, and the types of their cells so far. A column is of numbers or booleans
 * if all of its cells are, and null if all are empty. Empty cells are null in such columns, and empty texts
 * in others.
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
  /** Columns that became text after records were written with another type. */
  readonly #outdated = new Set<number>();

  /** `names`: the first row. Throws `limit_exceeded`. */
  constructor(names: readonly string[], { isTyped }: { readonly isTyped: boolean }) {
    const advice = "Save it as text/plain, or send fewer columns.";
    requireAtMost(["maxCsvColumns", limits.maxCsvColumns], names.length, advice);
    this.#keys = distinct(names).map((name) => `${JSON.stringify(name)}:`);
    this.#readChars = charsOf(names);
    this.#repeatedChars = this.#record(() => "null").length;
    this.#kinds = names.map(() => (isTyped ? "empty" : "text"));
  }

  get count(): number {
    return this.#keys.length;
  }

  /** True if written records have to be revised. */
  get isOutdated(): boolean {
    return this.#outdated.size > 0;
  }

  /**
   * Learns the types of rows. Missing cells are empty. Then returns the rows as JSON, one record a line. Throws
   * `limit_exceeded` if the records, which repeat the names, would be far longer than the CSV.
   */
  write(rows: readonly (readonly string[])[]): string {
    for (const row of rows) {
      this.#readChars += charsOf(row);
      for (const [column, cell] of row.entries()) this.#learn(column, cell);
    }
    this.#rows += rows.length;
    const maximum = limits.maxCsvNameChars + MAX_TIMES * this.#readChars;
    requireAtMost(["maxCsvNameChars", maximum], this.#rows * this.#repeatedChars, SHORTER);
    return rows
      .map((row) => this.#record((column) => literalOf(row[column] ?? "", this.#kinds[column])))
      .join("");
  }

  /** Returns a line that `write` returned, without its end, with the types that all rows have shown. */
  revise(line: string): string {
    let at = 1;
    return this.#record((column, key) => {
      const start = at + key.length;
      const end = literalEnd(line, start);
      at = end + 1;
      const literal = line.slice(start, end);
      if (!this.#outdated.has(column) || literal.startsWith('"')) return literal;
      return literal === "null" ? '""' : `"${literal}"`;
    });
  }

  #record(literal: (column: number, key: string) => string): string {
    return `{${this.#keys.map((key, column) => key + literal(column, key)).join(",")}}\n`;
  }

  #learn(column: number, cell: string): void {
    const before = this.#kinds[column];
    if (cell === "" || before === "text") return;
    const kind = kindOf(cell);
    if (kind === before) return;
    const after = before === "empty" ? kind : "text";
    this.#kinds[column] = after;
    if (after === "text" && this.#rows > 0) this.#outdated.add(column);
  }
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

function literalOf(cell: string, kind: Kind = "text"): string {
  if (kind === "text") return JSON.stringify(cell);
  return cell === "" ? "null" : cell;
}

function kindOf(cell: string): Kind {
  if (cell === "true" || cell === "false") return "boolean";
  return isNumber(cell) ? "number" : "text";
}

/** Matches a JSON number without an exponent. `007` and `1,5` are texts. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** Decimal numbers with up to this many digits are parsed without loss. */
const EXACT_DIGITS = 15;
/** The longest text of a number that JavaScript writes. */
const MAX_NUMBER_CHARS = 25;

/** True if the number is exactly the one that is written. Zeros at the end of a fraction do not count. */
function isNumber(cell: string): boolean {
  if (cell.length > MAX_NUMBER_CHARS) return false;
  const number = Number(cell);
  if (String(number) === cell) return Number.isFinite(number);
  if (!NUMBER.test(cell) || Object.is(number, -0)) return false;
  const digits = cell.replace(/[-.]/g, "").replace(/^0+/, "");
  return digits.length <= EXACT_DIGITS;
}

/** Returns where the JSON literal at `start` ends: a string, a number, true, false or null. */
function literalEnd(line: string, start: number): number {
  let at = start;
  if (line[start] !== '"') {
    while (line[at] !== "," && line[at] !== "}") at++;
    return at;
  }
  for (at++; line[at] !== '"'; at++) if (line[at] === "\\") at++;
  return at + 1;
}
