import { type CellUse, TRUTH } from "./cell-uses.ts";
import { json } from "../../../src/internal.ts";
import type { Json } from "../../../src/references.ts";

/**
 * What is in the cells of a column. `number`: numbers and booleans; `truth`: texts TRUE and FALSE, which SQL has as
 * 1 and 0; `mixed`: texts and numbers; `nested`: also arrays or objects, or nothing.
 */
export interface ColumnCells {
  readonly type: "number" | "truth" | "text" | "mixed" | "nested";
  /** Cells that are numbers, and texts that are: as SQLite reads one, or with separators and symbols. */
  readonly numbers: number;
  readonly formatted: number;
  readonly booleans: number;
  /** Texts that are dates, but not as SQLite reads them. */
  readonly dates: number;
  readonly empty: number;
  /** All cells but nulls. */
  readonly count: number;
  /** The characters of formatted numbers that are no digits, and a minus that is behind. */
  readonly marks: string;
  readonly hasDecimalComma: boolean;
  readonly words: readonly string[];
  /** The first text that SQLite does not read as a number; in other columns, the first text. */
  readonly example?: Cell | undefined;
  readonly emptyRow?: number | undefined;
}

interface Cell {
  readonly row: number;
  readonly text: string;
}

const MAX_WORDS = 4;
/** A longer text is no number. */
const MAX_CHARS = 40;
const PLAIN = /^\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?\s*$/i;
/** Accounts write a negative number in parentheses or with the minus behind, India groups hundreds of thousands. */
const FORMATTED =
  /^(?=[^(]*$|.*\)$)[-\u2212+(]?\s?\p{Sc}?\s?[-\u2212+(]?(?:\d{1,3}(?:([,.' \u2019\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?|\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?|\d+(?:[.,]\d+)?)\s?(?:\p{Sc}|%)?[-)]?$/u;
const DECIMAL_COMMA = /,(?:\d{1,2}|\d{4,})\D*$|\.\d{3},\d/;
const DATE =
  /^(?!\d{4}-\d\d-\d\d(?!\d))(?:\d{1,2}([/.-])\d{1,2}\1\d{4}|\d{4}([/.-])\d{1,2}\2\d{1,2})(?!\d)/;

/** Counts the cells of a column while its rows are read. */
export class CellCounter {
  readonly #counts = { count: 0, values: 0, plain: 0, formatted: 0, empty: 0 };
  #nested = 0;
  #truths = 0;
  #booleans = 0;
  #dates = 0;
  #hasDecimalComma = false;
  readonly #marks = new Set<string>();
  readonly #words = new Set<string>();
  #example: Cell | undefined;
  #first: Cell | undefined;
  #emptyRow: number | undefined;

  add(value: Json, row: number): void {
    if (value === null) return;
    this.#counts.count++;
    if (typeof value === "boolean") this.#booleans++;
    if (typeof value === "string") this.#addText(value, row);
    else if (json.isScalar(value)) this.#counts.values++;
    else this.#nested++;
  }

  #addText(text: string, row: number): void {
    if (text === "") {
      this.#counts.empty++;
      this.#emptyRow ??= row;
      return;
    }
    const isShort = text.length <= MAX_CHARS;
    if (isShort && PLAIN.test(text)) {
      this.#counts.plain++;
      this.#first ??= { row, text };
      return;
    }
    this.#example ??= { row, text: text.slice(0, MAX_CHARS) };
    if (isShort && FORMATTED.test(text.trim())) {
      this.#counts.formatted++;
      this.#hasDecimalComma ||= DECIMAL_COMMA.test(text);
      if (text.trimEnd().endsWith("-")) this.#marks.add("-");
      for (const mark of text.match(/[^\d.+-]/g) ?? []) this.#marks.add(mark);
      return;
    }
    if (TRUTH.test(text)) this.#truths++;
    if (DATE.test(text)) this.#dates++;
    if (this.#words.size < MAX_WORDS)
      this.#words.add(isShort ? text : text.slice(0, MAX_CHARS + 1));
  }

  cells(): ColumnCells {
    const { values, plain, ...counts } = this.#counts;
    return {
      ...counts,
      type: this.#type,
      numbers: values + plain,
      booleans: this.#booleans,
      dates: this.#dates,
      marks: [...this.#marks].join(""),
      hasDecimalComma: this.#hasDecimalComma,
      words: [...this.#words],
      example: this.#example ?? this.#first,
      emptyRow: this.#emptyRow,
    };
  }

  get #type(): ColumnCells["type"] {
    const { count, values, empty } = this.#counts;
    if (this.#nested > 0 || count === 0) return "nested";
    if (values === count) return "number";
    if (this.#truths > 0 && this.#truths + empty === count) return "truth";
    return values > 0 ? "mixed" : "text";
  }
}

/** Returns the value of a column's cell, as its type has it. */
export function typedCell(cell: string, { type }: ColumnCells): string {
  if (type === "number") return `CAST(${cell} AS NUMERIC)`;
  return type === "text" || type === "truth" ? `CAST(${cell} AS TEXT)` : cell;
}

export function truthOf(cell: string): string {
  return `CASE lower(${cell}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END`;
}

/** True if most texts are numbers, so that their order as texts is a surprise. */
export function isMostlyNumbers({ numbers, formatted, empty, count }: ColumnCells): boolean {
  return 2 * (numbers + formatted) >= count - empty && numbers + formatted > 0;
}

/**
 * Returns a cell as the number that a person reads in it; NULL for one without. Texts in `named` stay: a statement
 * that has them knows of them.
 */
export function numberIn(cell: string, cells: ColumnCells, named: readonly string[] = []): string {
  const text = cleaned(cell, cells);
  const values = cells.type === "mixed" ? `WHEN typeof(${cell}) <> 'text' THEN ${cell} ` : "";
  const list = named.map(quoted).join(", ");
  const stays = named.length === 0 ? "" : `WHEN ${cell} IN (${list}) THEN ${cell} `;
  return `CASE ${values}${stays}WHEN CAST(${text} AS NUMERIC) = ${text} THEN CAST(${text} AS NUMERIC) END`;
}

/** Returns a cell, NULL for an empty text. */
export function nullIfEmpty(cell: string, named: readonly string[]): string {
  return named.includes("") ? cell : `CASE ${cell} WHEN '' THEN NULL ELSE ${cell} END`;
}

const MINUSES = "(\u2212";

/** Removes what keeps SQLite from reading formatted numbers. */
function cleaned(cell: string, { marks, hasDecimalComma }: ColumnCells): string {
  let text = cell;
  // The minus that is behind, if there is one, comes first.
  if (marks.includes("-")) text = `substr('-', 1, ${cell} LIKE '%-') || rtrim(${cell}, '-')`;
  for (const mark of marks)
    if (mark !== "," && mark !== "-")
      text = `REPLACE(${text}, ${quoted(mark)}, '${MINUSES.includes(mark) ? "-" : ""}')`;
  if (hasDecimalComma) return `REPLACE(REPLACE(${text}, '.', ''), ',', '.')`;
  return marks.includes(",") ? `REPLACE(${text}, ',', '')` : text;
}

/** An expression for the numbers of a column, short if the words between them are few. */
function cleaningOf(name: string, cells: ColumnCells): string {
  const column = quotedName(name);
  const { words, empty } = cells;
  if (words.length === MAX_WORDS || words.some(({ length }) => length > MAX_CHARS))
    return numberIn(column, cells);
  const others = empty > 0 ? ["", ...words] : words;
  const text = others.reduce((inner, word) => `NULLIF(${inner}, ${quoted(word)})`, column);
  return `CAST(${cleaned(text, cells)} AS REAL)`;
}

/** Says that a result depends on texts that were not read as numbers. */
export function numberNote(name: string, cells: ColumnCells): string {
  const { type, numbers, formatted, count, empty, example } = cells;
  const all = count - numbers;
  const shown =
    example === undefined
      ? ""
      : `, such as ${JSON.stringify(example.text)} in row ${example.row + 1} (index ${example.row})`;
  const is = all === 1 ? "is no number" : "are no numbers";
  const has =
    all === 0
      ? `numbers as texts${shown}`
      : `${type}: ${all} of ${count} cells ${is} for SQL${shown}`;
  const nothing = numbers + formatted === 0 && all > empty;
  const advice = nothing
    ? "It has no numbers: compare it with a text in quotes."
    : `With numbers the result is another: write ${cleaningOf(name, cells)}.`;
  return `${JSON.stringify(name)} is ${has}. ${advice}`;
}

/** Says that a column is compared with texts of booleans, or is used as dates, and that SQL has other ones. */
export function useNotes(
  name: string,
  { booleans, dates, count, type, words }: ColumnCells,
  uses: ReadonlySet<CellUse>,
): readonly string[] {
  const [is, column] = [JSON.stringify(name), quotedName(name)];
  const isTruth = booleans > 0 || (type === "truth" && uses.has("numbers"));
  const isDate = 2 * dates > count && (uses.has("dates") || uses.has("order"));
  const example = JSON.stringify(words.find((word) => DATE.test(word)) ?? words[0]);
  const notes: string[] = [];
  if (isTruth && uses.has("truths")) notes.push(`${is} is 1 or 0 for SQL, not a text.`);
  if (isDate)
    notes.push(
      `${is} has dates such as ${example}: texts for SQL. Write YYYY-MM-DD: of DD/MM/YYYY, substr(${column}, 7, 4) || '-' || substr(${column}, 4, 2) || '-' || substr(${column}, 1, 2).`,
    );
  return notes;
}

/** Says that a result depends on empty texts that are not NULL. */
export function emptyNote(name: string, { empty, emptyRow = 0 }: ColumnCells): string {
  const cells = empty === 1 ? "1 empty text" : `${empty} empty texts`;
  return `${JSON.stringify(name)} has ${cells}, the first in row ${emptyRow + 1} (index ${emptyRow}), which are not NULL: write NULLIF(${quotedName(name)}, '').`;
}

function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** True if one result shows a text where the other one shows the number in it, or NULL for a text without. */
export function isSameResult(as: readonly string[], bs: readonly string[]): boolean {
  return (
    as.length === bs.length &&
    as.every((a, at) => {
      const b = bs[at] ?? "";
      if (a === b) return true;
      const [left, right] = [a, b].map((record) => Object.values(JSON.parse(record) as object));
      return left?.every((one, column) => isSameCell(one, right?.[column])) === true;
    })
  );
}

function isSameCell(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "string") return false;
  const signed = a.replace(/[(\u2212]/, "-").replace(/^(.*)-$/s, "-$1");
  const digits = signed.replaceAll(/[^\d.,eE+-]/g, "");
  const numbers = [digits.replaceAll(",", ""), digits.replaceAll(".", "").replace(",", ".")];
  const isNumber = digits !== "" && (PLAIN.test(a) || FORMATTED.test(a.trim()));
  if (b === null) return !isNumber;
  return typeof b === "number" && isNumber && numbers.some((one) => Number(one) === b);
}
