import type { Json } from "../../../src/value/json.ts";
import { digitsOf, numberWords } from "../words.ts";

/** A row of a table: a record, or any other element. */
export type Row = { readonly index: number; readonly value: Json };

export interface Column {
  readonly name: string;
  readonly isNumeric: boolean;
  /** Digits behind the point of all numbers. */
  readonly digits: number;
  /** Length of the longest loaded cell, in characters. */
  readonly width: number;
}

export interface Sorting {
  readonly column: string;
  readonly isDescending: boolean;
}

/** Column of elements that are not records. */
const VALUE = "value";

export const MAX_COLUMNS = 60;
const LOOKED_AT = 200;

export function isRecord(value: Json | undefined): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function cellOf({ value }: Row, column: string): Json | undefined {
  if (!isRecord(value)) return column === VALUE ? value : undefined;
  return Object.hasOwn(value, column) ? value[column] : undefined;
}

/** Returns the columns of the first rows, in order of appearance. */
export function columnsOf(rows: readonly Row[]): readonly Column[] {
  const looked = rows.slice(0, LOOKED_AT);
  const names = new Set<string>();
  for (const { value } of looked) {
    for (const name of isRecord(value) ? Object.keys(value) : [VALUE]) {
      if (names.size < MAX_COLUMNS) names.add(name);
    }
  }
  return [...names].map((name) => {
    const cells = looked.map((row) => cellOf(row, name)).filter(isFilled);
    const isNumeric = cells.length > 0 && cells.every((cell) => typeof cell === "number");
    const digits = digitsOf(cells.filter((cell) => typeof cell === "number"));
    const chars = cells.map((cell) => textOf(cell, { name, digits }).length);
    return { name, isNumeric, digits, width: Math.max(name.length, ...chars) };
  });
}

function isFilled(cell: Json | undefined): cell is Json {
  return cell !== undefined && cell !== null;
}

/** Formats a cell in one line. */
export function textOf(
  cell: Json | undefined,
  { name, digits }: Pick<Column, "name"> & { readonly digits?: number },
): string {
  if (cell === undefined || cell === null) return "";
  if (typeof cell === "number") return numberWords(cell, name, digits);
  return typeof cell === "object" ? JSON.stringify(cell) : String(cell);
}

/** Sorts rows: numbers before texts, empty cells last. Stable. */
export function sorted(rows: readonly Row[], { column, isDescending }: Sorting): readonly Row[] {
  const keyed = rows.map((row) => ({ row, key: cellOf(row, column) }));
  keyed.sort((a, b) => {
    if (!isFilled(a.key) || !isFilled(b.key))
      return Number(isFilled(b.key)) - Number(isFilled(a.key));
    const order = compare(a.key, b.key);
    return isDescending ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "number") return -1;
  if (typeof b === "number") return 1;
  return collator.compare(rawOf(a), rawOf(b));
}

/** The cell's own characters. */
function rawOf(cell: Json): string {
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}

/** Returns the rows with a cell that contains the text, ignoring case. Numbers match with and without separators. */
export function filtered(rows: readonly Row[], text: string): readonly Row[] {
  const wanted = text.trim().toLowerCase();
  const bare = withoutSeparators(wanted);
  if (wanted === "") return rows;
  return rows.filter(({ value }) => {
    const cells = isRecord(value) ? Object.values(value) : [value];
    return cells.some((cell) =>
      rawOf(cell)
        .toLowerCase()
        .includes(typeof cell === "number" ? bare : wanted),
    );
  });
}

function withoutSeparators(text: string): string {
  return /^[\d.,\s-]+$/.test(text) ? text.replaceAll(/[,\s]/g, "") : text;
}

/** The query that finds the positions of rows as `filtered` and `sorted` do. Undefined if a column hides them. */
export function findingQuery(
  table: string,
  columns: readonly Column[],
  { filter, sorting }: { readonly filter: string; readonly sorting: Sorting | undefined },
): string | undefined {
  if (columns.some(({ name }) => name === "index")) return undefined;
  const wanted = filter.trim().toLowerCase();
  const tests = columns.flatMap(({ name, isNumeric }) => {
    const cell = quoted(name);
    const text = isNumeric ? withoutSeparators(wanted) : wanted;
    const test = `instr(${loweredFor(text, cell)}, '${text.replaceAll("'", "''")}') > 0`;
    // A table of SQL has 1 and 0 for true and false.
    const truths = isNumeric ? [] : ["false", "true"].entries();
    const own = [...truths].filter(([, word]) => word.includes(wanted));
    return [test, ...own.map(([bit]) => `(typeof(${cell}) = 'integer' AND ${cell} = ${bit})`)];
  });
  const where = wanted === "" ? "" : ` WHERE ${tests.join(" OR ")}`;
  const by = sorting === undefined ? "" : quoted(sorting.column);
  const order = `${by} IS NULL, ${by}${sorting?.isDescending === true ? " DESC" : ""}, "index"`;
  return `SELECT "index" AS at FROM ${table}${where}${by === "" ? "" : ` ORDER BY ${order}`} LIMIT 100000`;
}

/** SQLite lowers the letters of ASCII only. The others are lowered as far as the text has them. */
function loweredFor(text: string, cell: string): string {
  const upper = [...new Set(text)].flatMap((letter) => {
    const one = letter > "\u007F" ? letter.toUpperCase() : letter;
    return one.toLowerCase() === letter && one !== letter ? [[one, letter] as const] : [];
  });
  return upper.reduce((sql, [from, to]) => `replace(${sql}, '${from}', '${to}')`, `lower(${cell})`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Browsers limit elements to some 17 million pixels. */
const MAX_HEIGHT = 8_000_000;
const BEYOND = 8;

/**
 * Returns the rows visible at a scroll position, the offset of the first one and the height of the whole list, in
 * pixels.
 */
export function stretchAt(
  scrollTop: number,
  list: { readonly count: number; readonly rowHeight: number; readonly windowHeight: number },
) {
  const { count, rowHeight, windowHeight } = list;
  const full = count * rowHeight;
  const height = Math.min(full, MAX_HEIGHT);
  // A list that is too long for the browser scrolls by several pixels for each one.
  const scale = height > windowHeight ? (full - windowHeight) / (height - windowHeight) : 1;
  const position = Math.max(0, Math.min(scrollTop * scale, full - windowHeight));
  const first = Math.floor(position / rowHeight);
  const from = Math.max(0, first - BEYOND);
  const to = Math.min(count, first + Math.ceil(windowHeight / rowHeight) + BEYOND + 1);
  return { from, to, top: scrollTop - position + from * rowHeight, height };
}
