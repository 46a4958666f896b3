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

/** The columns of records in order of appearance. An element that is no object has one column, `value`. */
export class RecordColumns {
  readonly #names = new Set<string>();

  get names(): readonly string[] {
    return [...this.#names];
  }

  add(record: Json): void {
    for (const name of Object.keys(recordOf(record))) this.#names.add(name);
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
