import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { isScalar, type Json, type JsonObject } from "./json.ts";
import { requireWellFormed } from "./well-formed.ts";

/** Writes a line of a CSV by RFC 4180: quotes where needed, and CR LF at the end. */
export function csvLine(cells: readonly string[]): string {
  return lineOf(cells.map(csvCell));
}

function lineOf(written: readonly string[]): string {
  // A line that is empty would be skipped by a reader.
  const only = written.length === 1 && written[0] === "";
  return only ? '""\r\n' : `${written.join(",")}\r\n`;
}

/** A name such as `sep=;` is in quotes: without them, readers take it for what separates cells. */
function csvCell(text: string): string {
  return /[",\r\n]|^sep=/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
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
  /** The names and their columns. */
  readonly #columns = new Map<string, number>();
  #records = 0;
  #fields = 0;

  constructor(names: readonly string[] = []) {
    for (const name of names) this.#add(name);
  }

  get names(): readonly string[] {
    return [...this.#columns.keys()];
  }

  /**
   * Throws `limit_exceeded` if far more cells are empty than not: each record has a cell for each column. Throws
   * `bad_value` for half of a character in a key or text; in a nested value it is an escape.
   */
  add(record: Json): void {
    const fields = Object.entries(recordOf(record));
    for (const [name, value] of fields) {
      const isWhole = name.isWellFormed() && (typeof value !== "string" || value.isWellFormed());
      if (!isWhole) requireWellFormed({ [name]: value }, "CSV", [{ index: this.#records }]);
      this.#add(name);
    }
    this.#fields += fields.length;
    const cells = this.#columns.size * ++this.#records;
    const maximum = limits.maxCsvCells + MAX_TIMES * this.#fields;
    const advice = "Its records have too many different keys; read it as JSON.";
    requireAtMost(["maxCsvCells", maximum], cells, advice);
  }

  #add(name: string): void {
    if (!this.#columns.has(name)) this.#columns.set(name, this.#columns.size);
  }

  /** Writes a record. Null is an empty cell, a nested value its JSON. */
  line(record: Json): string {
    const cells = Array.from({ length: this.#columns.size }, () => "");
    for (const [name, value] of Object.entries(recordOf(record))) {
      const column = this.#columns.get(name);
      if (column !== undefined) cells[column] = csvCell(cellOf(value));
    }
    return lineOf(cells);
  }
}

/** How many times more cells than fields a CSV may have, beside `maxCsvCells`. */
const MAX_TIMES = 50;

function recordOf(record: Json): JsonObject {
  const isRecord = !isScalar(record) && !Array.isArray(record);
  return isRecord ? (record as JsonObject) : { value: record };
}

function cellOf(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
