import { ByrefError, failingAs, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { piecesOf } from "../../value/bytes.ts";
import { CsvColumns, type CsvRows, splitRows } from "../../value/csv-columns.ts";
import { csvLine, RecordColumns } from "../../value/csv-text.ts";
import { MarkList } from "../../value/marks.ts";
import { isUtf8, parseMediaType } from "../../value/media-type.ts";
import { type Metered, PIECE_BYTES } from "../../value/meter.ts";
import { RecordsMeter } from "../../value/records-meter.ts";
import { byteLength } from "../../value/encoding.ts";
import type { CsvDelimiter, RecordsFormat, TableMeter } from "./receive.ts";

/**
 * Reads `text/csv` (RFC 4180) and `text/tab-separated-values` as an array of records, with the cells of the
 * first line as keys. The file is stored as it is. Without this format it is no records, but bytes. Pass it to
 * `createRuntime`.
 */
export const csvRecords: RecordsFormat = {
  mediaType: "text/csv",
  begin(mediaType, options) {
    const type = parseMediaType(mediaType);
    if (type === undefined || !DEFAULTS.has(type.essence)) return undefined;
    const { essence, text } = type;
    if (!isUtf8(type)) {
      const message = `${mediaType} cannot be read: send ${essence} in UTF-8.`;
      throw new ByrefError("unsupported_media_type", message);
    }
    const added = Object.entries(options).map(([name, value]) => `;${name}=${value}`);
    const all = text + added.join("");
    return new CsvMeter(all.length <= limits.maxIdChars ? all : essence + added.join(""));
  },
  read({ mediaType, columns: kinds }, header) {
    const { from, code } = beginningOf(header, readingOf(mediaType).delimiter);
    const [names = []] = splitRows(header, code, { from, most: 1 }).rows;
    const columns = new CsvColumns(names, kinds);
    return (text) => columns.records(splitRows(text, code).rows);
  },
  async *write(records) {
    const encoder = new TextEncoder();
    const columns = new RecordColumns();
    for await (const part of records()) for (const record of part) columns.add(record);
    if (columns.names.length > 0) yield encoder.encode(csvLine(columns.names));
    for await (const part of records()) {
      yield encoder.encode(part.map((record) => columns.line(record)).join(""));
    }
  },
};

const DEFAULTS: ReadonlyMap<string, CsvDelimiter> = new Map([
  ["text/csv", "comma"],
  ["text/tab-separated-values", "tab"],
]);

const CHARACTERS = { comma: ",", semicolon: ";", tab: "\t", pipe: "|" } as const;

/** Text that is parsed at once, unless one row is longer. */
const BATCH_CHARS = PIECE_BYTES / 4;

/**
 * What may be before the first row: a byte order mark, empty lines, and a line `sep=;` with what separates cells, as
 * spreadsheets write it.
 */
const START = /^\uFEFF?[\r\n]*(?:sep=([,;\t|])[\r\n]+)?/;

/** How to read a CSV, as the parameters of its media type say: `text/csv;delimiter=semicolon;types=off`. */
function readingOf(mediaType: string) {
  const { essence = "", parameters } = parseMediaType(mediaType) ?? {};
  const given = parameters?.get("delimiter") ?? "";
  const delimiter = isDelimiter(given) ? given : (DEFAULTS.get(essence) ?? "comma");
  return { delimiter, isTyped: parameters?.get("types") !== "off" };
}

/** Returns where the first row begins, which has the names, and the code of what separates cells. */
function beginningOf(text: string, delimiter: CsvDelimiter) {
  const [{ length }, separator] = START.exec(text) ?? [""];
  const given = delimiter === "auto" ? frequentIn(text.slice(length)) : CHARACTERS[delimiter];
  return { from: length, code: (separator ?? given).charCodeAt(0) };
}

function isDelimiter(text: string): text is CsvDelimiter {
  return text === "auto" || Object.hasOwn(CHARACTERS, text);
}

/** Returns the character that is most frequent in the first line, outside of quotes. */
function frequentIn(text: string): string {
  const start = text.slice(0, BATCH_CHARS);
  const [line = ""] = start.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1);
  return Object.values(CHARACTERS).reduce((best, one) =>
    line.split(one).length > line.split(best).length ? one : best,
  );
}

/**
 * Measures the records of a CSV. Holds one batch of rows. A record is measured with the
 * kinds that its columns have shown so far; if a column turns out to be text later, `again` measures all anew.
 */
class CsvMeter implements TableMeter {
  readonly mediaType: string;
  readonly #reading: ReturnType<typeof readingOf>;
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #encoder = new TextEncoder();
  /** Measures the records as NDJSON. */
  readonly #records = new RecordsMeter();
  readonly #marks = new MarkList();
  /** The kinds of columns; empty if they are not known. */
  readonly #kinds: string;
  #columns: CsvColumns | undefined;
  /** The code of what separates cells, from the first row on. */
  #delimiter = 0;
  #count = 0;
  #held = "";
  /** Length of `#held` from which on it is read. It doubles while a row is not complete. */
  #due = BATCH_CHARS;
  /** Bytes before `#held`. */
  #bytes = 0;
  /** The number of the line that `#held` begins with. */
  #line = 1;

  constructor(mediaType: string, kinds = "") {
    this.mediaType = mediaType;
    this.#reading = readingOf(mediaType);
    this.#kinds = kinds;
  }

  get columns(): string {
    return this.#columns?.kinds ?? "";
  }

  again(): CsvMeter | undefined {
    return this.#columns?.isOutdated === true
      ? new CsvMeter(this.mediaType, this.columns)
      : undefined;
  }

  write(bytes: Uint8Array): void {
    for (const piece of piecesOf(bytes, BATCH_CHARS)) {
      this.#held += this.#decode(piece);
      if (this.#held.length >= this.#due) this.#readComplete();
    }
  }

  end(): Metered {
    this.#held += this.#decode();
    const found = this.#split();
    this.#requireWell(found.fault);
    this.#take(found);
    const { about } = this.#records.end();
    const bytes = this.#bytes + byteLength(this.#held);
    return { about: { ...about, bytes }, marks: this.#marks.marks };
  }

  #decode(piece?: Uint8Array): string {
    const decode = () => this.#utf8.decode(piece, { stream: piece !== undefined });
    const reason = "or one after it is not UTF-8; send the CSV in UTF-8";
    return failingAs(decode, () => malformed(this.#line, reason));
  }

  #split(): CsvRows {
    if (this.#columns !== undefined) return splitRows(this.#held, this.#delimiter);
    const { from, code } = beginningOf(this.#held, this.#reading.delimiter);
    this.#delimiter = code;
    return splitRows(this.#held, code, { from });
  }

  /** Reads what is held but for the last row, which may go on. */
  #readComplete(): void {
    const found = this.#split();
    const { rows, starts, fault } = found;
    if (fault?.isOpen === false) this.#requireWell(fault);
    const complete = { rows: rows.slice(0, -1), starts, end: starts.at(-1) ?? 0 };
    this.#take(fault === undefined ? complete : found);
    const { length } = this.#held;
    if (length > limits.maxJsonBytes) this.#requireWell(fault && { ...fault, at: 0 });
    requireAtMost("maxJsonBytes", length, "Send shorter rows.");
    this.#due = Math.min(Math.max(2 * length, BATCH_CHARS), limits.maxJsonBytes + 1);
  }

  /** Takes rows: the first one of all has the names. Holds the text after them, or all of it if there are none. */
  #take({ rows, starts, end }: CsvRows): void {
    const [names, ...others] = this.#columns === undefined ? rows : [[], ...rows];
    if (names === undefined) return;
    this.#columns ??= new CsvColumns(
      names,
      this.#reading.isTyped ? this.#kinds : "t".repeat(names.length),
    );
    const columns = this.#columns;
    const first = rows.length - others.length;
    const long = others.findIndex((row) => row.length > columns.count);
    if (long >= 0) throw this.#tooLong(others[long], columns.count, starts[first + long]);
    if (others.length > 0) {
      const before = this.#held.slice(0, starts[first]);
      this.#marks.offer(this.#bytes + byteLength(before), this.#count);
      columns.learn(others);
      this.#count += others.length;
      const lines = columns.records(others).map((record) => `${record}\n`);
      this.#records.write(this.#encoder.encode(lines.join("")));
    }
    const text = this.#held.slice(0, end);
    this.#line = this.#lineAt(end);
    this.#held = this.#held.slice(end);
    this.#bytes += byteLength(text);
  }

  #requireWell(fault: CsvRows["fault"]): void {
    if (fault !== undefined) throw malformed(this.#lineAt(fault.at), fault.reason);
  }

  #tooLong(row: readonly string[] = [], most = 0, start = 0): ByrefError {
    const mayHaveOther = most === 1 && this.#reading.delimiter === "comma";
    const hint = mayHaveOther ? ". If a comma does not separate them, set ?delimiter=auto" : "";
    const reason = `has ${row.length} cells, and the first line has ${most}${hint}`;
    return malformed(this.#lineAt(start), reason);
  }

  #lineAt(place: number): number {
    return this.#line + (this.#held.slice(0, place).match(LINE_BREAK)?.length ?? 0);
  }
}

function malformed(line: number, reason: string): ByrefError {
  return new ByrefError("bad_value", `Line ${line} ${reason}.`, { line });
}

const LINE_BREAK = /\r\n|\r|\n/g;
