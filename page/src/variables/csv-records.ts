import type { Json } from "../../../src/value/json.ts";
import { csvRows } from "./csv-rows.ts";

type Cell = string | number | null;
export type CsvRecord = Readonly<Record<string, Cell>>;

/**
 * The rows of a CSV below its first, by the names in that. A column is of numbers if every cell that is
 * filled is one; its empty cells are null. Throws what is broken, with its line.
 */
export function csvRecords(text: string): readonly CsvRecord[] {
  const [head = [], ...rows] = csvRows(text);
  const width = rows.reduce((most, row) => Math.max(most, row.length), head.length);
  const names = columnNames(head, width);
  const areNumbers = names.map((_, column) => isNumeric(rows, column));
  return rows.map((row) =>
    Object.fromEntries(
      names.map((name, column) => [name, cellOf(row[column] ?? "", areNumbers[column] === true)]),
    ),
  );
}

/** One record a line, which is what the server takes up to 95 MiB. */
export function recordLines(records: readonly Readonly<Record<string, Json>>[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}

/** Each is there once: what has no name, or one that is taken, gets a number. */
function columnNames(head: readonly string[], width: number): readonly string[] {
  const taken = new Set<string>();
  return Array.from({ length: width }, (_, column) => {
    const base = head[column]?.trim() || `column_${column + 1}`;
    let name = base;
    for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
    taken.add(name);
    return name;
  });
}

function isNumeric(rows: readonly (readonly string[])[], column: number): boolean {
  let isAny = false;
  for (const row of rows) {
    const cell = (row[column] ?? "").trim();
    if (cell === "") continue;
    if (!NUMBER.test(cell) || significant(cell) > MAX_DIGITS) return false;
    isAny = true;
  }
  return isAny;
}

/** As JSON has it: `007` and `1,5` are texts. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A longer one would come back as another number. */
const MAX_DIGITS = 15;

function significant(cell: string): number {
  const [digits = ""] = cell.toLowerCase().split("e");
  return digits.replace(/[-.]/g, "").replace(/^0+/, "").length;
}

function cellOf(cell: string, isNumber: boolean): Cell {
  if (!isNumber) return cell;
  const written = cell.trim();
  return written === "" ? null : Number(written);
}
