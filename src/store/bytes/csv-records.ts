import * as ascii from "../../value/ascii.ts";
import { CsvError, parse } from "csv-parse/sync";
import { ByrefError, requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { piecesOf } from "../../value/bytes.ts";
import { CsvColumns, splitRows } from "../../value/csv-columns.ts";
import { csvLine, RecordColumns } from "../../value/csv-text.ts";
import { MarkList } from "../../value/marks.ts";
import { isUtf8, parseMediaType } from "../../value/media-type.ts";
import { type Metered, PIECE_BYTES } from "../../value/meter.ts";
import { RecordsMeter } from "../../value/records-meter.ts";
import { byteLength, decodeUtf8 } from "../../value/encoding.ts";
import { compact } from "../../value/json.ts";
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
    const csv = new Csv(mediaType);
    const columns = new CsvColumns(csv.header(header)?.names ?? [], kinds);
    return (rows) => columns.records(csv.split(rows));
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

/** Parses the text of a CSV. How, the parameters of its media type say: `text/csv;delimiter=semicolon;types=off`. */
class Csv {
  /** False if all cells are texts. */
  readonly isTyped: boolean;
  readonly #given: CsvDelimiter;
  #delimiter: string;

  constructor(mediaType: string) {
    const { essence = "", parameters } = parseMediaType(mediaType) ?? {};
    const given = parameters?.get("delimiter") ?? "";
    this.isTyped = parameters?.get("types") !== "off";
    this.#given = isDelimiter(given) ? given : (DEFAULTS.get(essence) ?? "comma");
    this.#delimiter = this.#given === "auto" ? "" : CHARACTERS[this.#given];
  }

  /** True if only commas separate cells, and the file could be meant otherwise. */
  get isPlain(): boolean {
    return this.#given === "comma";
  }

  /** Reads the first row, which has the names, and returns where it ends; undefined for a text without one. */
  header(text: string): { readonly names: readonly string[]; readonly end: number } | undefined {
    const [before = "", separator] = START.exec(text) ?? [];
    if (separator !== undefined) this.#delimiter = separator;
    const rest = text.slice(before.length);
    if (this.#delimiter === "") this.#delimiter = frequentIn(rest);
    const [first] = this.numberedRows(rest, 1);
    if (first === undefined) return undefined;
    const row = new TextEncoder().encode(rest).subarray(0, first.info.bytes);
    return { names: first.record, end: before.length + decodeUtf8(row).length };
  }

  /** Parses rows. Throws `CsvError`. */
  rows(text: string): readonly (readonly string[])[] {
    return parse(text, this.#options);
  }

  /** Splits rows that `rows` has accepted, faster. */
  split(text: string): readonly (readonly string[])[] {
    return splitRows(text, this.#delimiter.charCodeAt(0));
  }

  /** Parses the first rows, with the numbers of their lines, from 1, and the bytes up to their ends. */
  numberedRows(text: string, to?: number): readonly NumberedRow[] {
    const options = { ...this.#options, ...compact({ to }), info: true };
    return parse(text, options) as unknown as readonly NumberedRow[];
  }

  get #options() {
    return {
      delimiter: this.#delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
      skip_empty_lines: true,
    };
  }
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
  readonly #csv: Csv;
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #encoder = new TextEncoder();
  /** Measures the records as NDJSON. */
  readonly #records = new RecordsMeter();
  readonly #marks = new MarkList();
  /** The kinds of columns; empty if they are not known. */
  readonly #kinds: string;
  #columns: CsvColumns | undefined;
  #count = 0;
  #held = "";
  /** Bytes before `#held`. */
  #bytes = 0;
  /** Characters of `#held` that were searched for the end of a row. */
  #searched = 0;
  #isQuoted = false;
  /** End of the last complete row in `#held`. */
  #end = 0;
  /** The number of the line that `#held` begins with. */
  #line = 1;

  constructor(mediaType: string, kinds = "") {
    this.mediaType = mediaType;
    this.#csv = new Csv(mediaType);
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
    for (const piece of piecesOf(bytes, PIECE_BYTES)) {
      this.#held += this.#decode(piece);
      this.#search();
      this.#take();
    }
  }

  end(): Metered {
    this.#held += this.#decode();
    this.#search();
    // The text after the last complete row is read alone: if a quote is open, its line is the first.
    this.#read(this.#end);
    this.#read(this.#held.length);
    const { about } = this.#records.end();
    return { about: { ...about, bytes: this.#bytes }, marks: this.#marks.marks };
  }

  #decode(piece?: Uint8Array): string {
    try {
      return this.#utf8.decode(piece, { stream: piece !== undefined });
    } catch {
      throw malformed(this.#line, "or one after it is not UTF-8; send the CSV in UTF-8");
    }
  }

  /** Reads the rows that are complete, once there are enough. */
  #take(): void {
    if (this.#end >= BATCH_CHARS) return this.#read(this.#end);
    if (this.#end > 0 || this.#held.length <= limits.maxJsonBytes) return;
    // If a quote is missing, that is the error.
    this.#parsed(() => this.#csv.rows(this.#held));
    requireAtMost("maxJsonBytes", this.#held.length, "Send shorter rows.");
  }

  /** Finds the last line break that ends a row: it is not inside of quotes. */
  #search(): void {
    // The last character may be half of a line break.
    const last = this.#held.length - 1;
    for (let at = this.#searched; at < last; at++) {
      const code = this.#held.charCodeAt(at);
      if (code === ascii.QUOTE) this.#isQuoted = !this.#isQuoted;
      if (this.#isQuoted || (code !== ascii.LF && code !== ascii.CR)) continue;
      const isHalf = code === ascii.CR && this.#held.charCodeAt(at + 1) === ascii.LF;
      if (!isHalf) this.#end = at + 1;
    }
    this.#searched = Math.max(last, 0);
  }

  /** Reads what is held up to `end`: the first row, and then the others. */
  #read(end: number): void {
    const columns = this.#columns;
    if (columns === undefined) return this.#readHeader(end);
    const text = this.#held.slice(0, end);
    const rows = this.#parsed(() => this.#csv.rows(text));
    if (rows.some((row) => row.length > columns.count)) throw this.#tooLong(text, columns.count);
    if (rows.length > 0) {
      this.#marks.offer(this.#bytes, this.#count);
      columns.learn(rows);
      this.#count += rows.length;
      const lines = columns.records(rows).map((record) => `${record}\n`);
      this.#records.write(this.#encoder.encode(lines.join("")));
    }
    this.#pass(end);
  }

  #readHeader(end: number): void {
    const header = this.#parsed(() => this.#csv.header(this.#held.slice(0, end)));
    this.#pass(header?.end ?? end);
    if (header === undefined) return;
    const { names } = header;
    const kinds = this.#csv.isTyped ? this.#kinds : "t".repeat(names.length);
    this.#columns = new CsvColumns(names, kinds);
    this.#read(end - header.end);
  }

  #pass(end: number): void {
    const text = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    this.#bytes += byteLength(text);
    this.#line += text.match(LINE_BREAK)?.length ?? 0;
    this.#searched -= end;
    this.#end = 0;
  }

  #parsed<Result>(parseRows: () => Result): Result {
    try {
      return parseRows();
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // A quote that is not closed opens in the row that is not complete, which is the first.
      const isOpen = error.code === "CSV_QUOTE_NOT_CLOSED";
      const line = this.#line + (isOpen ? 0 : Number(error.lines) - 1);
      throw malformed(line, REASONS.get(error.code) ?? "is not CSV");
    }
  }

  /** Parses the rows again, to find the line. */
  #tooLong(text: string, most: number): ByrefError {
    const rows = this.#csv.numberedRows(text);
    const { record = [], info } = rows.find((row) => row.record.length > most) ?? {};
    const line = this.#line + (info?.lines ?? 1) - 1;
    const mayHaveOther = most === 1 && this.#csv.isPlain;
    const hint = mayHaveOther ? ". If a comma does not separate them, set ?delimiter=auto" : "";
    return malformed(line, `has ${record.length} cells, and the first line has ${most}${hint}`);
  }
}

interface NumberedRow {
  readonly record: readonly string[];
  readonly info: { readonly lines: number; readonly bytes: number };
}

const REASONS: ReadonlyMap<unknown, string> = new Map([
  ["CSV_QUOTE_NOT_CLOSED", "has a quote that is not closed"],
  ["CSV_INVALID_CLOSING_QUOTE", "has text after a closing quote"],
  [
    "INVALID_OPENING_QUOTE",
    "has a quote in a cell without quotes; write the cell in quotes, and the quote twice",
  ],
]);

function malformed(line: number, reason: string): ByrefError {
  return new ByrefError("bad_value", `Line ${line} ${reason}.`, { line });
}

const LINE_BREAK = /\r\n|\r|\n/g;
