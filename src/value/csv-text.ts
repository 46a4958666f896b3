import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { isScalar, type Json, type JsonObject } from "./json.ts";

/** Writes a line of a CSV by RFC 4180: quotes where needed, and CR LF at the end. */
export function csvLine(cells: readonly string[]): string {
  // A line that is empty would be skipped by a reader.
  const only = cells.length === 1 && cells[0] === "";
  return only ? '""\r\n' : `${cells.map(csvCell).join(",")}\r\n`;
}

function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Writes records as a CSV with their keys in the first line. `columns`: keys that it has in any case. */
export function csvText(records: readonly Json[], columns: readonly string[] = []): string {
  const written = new RecordColumns(columns);
  for (const record of records) written.add(record);
  const { names } = written;
  const header = names.length === 0 ? "" : csvLine(names);
  return header + records.map((record) => written.line(record)).join("");
}

/** The columns of records in order of appearance. An element that is no object has one column, `value`. */
export class RecordColumns {
  readonly #names: Set<string>;
  #records = 0;

  constructor(names: readonly string[] = []) {
    this.#names = new Set(names);
  }

  get names(): readonly string[] {
    return [...this.#names];
  }

  /** Throws `limit_exceeded` above `maxCsvCells`: each record has a cell for each column. */
  add(record: Json): void {
    for (const name of Object.keys(recordOf(record))) this.#names.add(name);
    const cells = this.#names.size * ++this.#records;
    const advice = "Its records have too many different keys; read it as JSON.";
    requireAtMost(["maxCsvCells", limits.maxCsvCells], cells, advice);
  }

  /** Writes a record. Null is an empty cell, a nested value its JSON. */
  line(record: Json): string {
    const fields = new Map(Object.entries(recordOf(record)));
    return csvLine(Array.from(this.#names, (name) => cellOf(fields.get(name) ?? null)));
  }
}

function recordOf(record: Json): JsonObject {
  const isRecord = !isScalar(record) && !Array.isArray(record);
  return isRecord ? (record as JsonObject) : { value: record };
}

function cellOf(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
