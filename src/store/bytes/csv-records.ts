import { CsvError, parse } from "csv-parse/sync";
import { ByrefError, limitExceeded } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { piecesOf } from "../../value/bytes.ts";
import { CsvColumns } from "../../value/csv-columns.ts";
import { csvLine, RecordColumns } from "../../value/csv-text.ts";
import { parseMediaType } from "../../value/media-type.ts";
import { PIECE_BYTES } from "../../value/meter.ts";
import type { CsvDelimiter, ReadingOptions, RecordsConversion, RecordsFormat } from "./receive.ts";

/**
 * Reads `text/csv` (RFC 4180) and `text/tab-separated-values` as an array of records, with the cells of the
 * first line as keys. Without it, they are stored as bytes. Pass it to `createRuntime`.
 */
export const csvRecords: RecordsFormat = {
  mediaType: "text/csv",
  begin(mediaType, options) {
    const { essence = "", parameters } = parseMediaType(mediaType) ?? {};
    const delimiter = DEFAULTS.get(essence);
    if (delimiter === undefined) return undefined;
    if (/^(?:utf-?8|us-ascii)$/i.test(parameters?.get("charset") ?? "utf-8")) {
      return new CsvConversion({ delimiter, ...options });
    }
    const message = `${mediaType} cannot be read: send ${essence} in UTF-8.`;
    throw new ByrefError("unsupported_media_type", message);
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
 * Reads rows as they arrive and holds one batch of them. A record is written with the types that its column
 * has shown so far. If a column turns out to be text later, `revise` corrects what was written before.
 */
class CsvConversion implements RecordsConversion {
  readonly #options: ReadingOptions & { readonly delimiter: CsvDelimiter };
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  #delimiter = "";
  #columns: CsvColumns | undefined;
  #held = "";
  /** Characters of `#held` that were searched for the end of a row. */
  #searched = 0;
  #isQuoted = false;
  /** End of the last complete row in `#held`. */
  #end = 0;
  /** The number of the line that `#held` begins with. */
  #line = 1;

  constructor(options: ReadingOptions & { readonly delimiter: CsvDelimiter }) {
    this.#options = options;
  }

  get isOutdated(): boolean {
    return this.#columns?.isOutdated === true;
  }

  async *convert(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
    const encoder = new TextEncoder();
    for await (const bytes of stream) {
      for (const piece of piecesOf(bytes, PIECE_BYTES)) {
        const records = this.#take(this.#decode(piece));
        if (records !== "") yield encoder.encode(records);
      }
    }
    this.#held += this.#decode();
    this.#search();
    // The text after the last complete row is read alone: if a quote is open, its line is the first.
    yield encoder.encode(this.#read(this.#end));
    yield encoder.encode(this.#read(this.#held.length));
    return undefined;
  }

  async *revise(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, undefined> {
    const encoder = new TextEncoder();
    const utf8 = new TextDecoder();
    let held = "";
    for await (const bytes of stream) {
      const lines = (held + utf8.decode(bytes, { stream: true })).split("\n");
      held = lines.pop() ?? "";
      const revised = lines.map((line) => this.#columns?.revise(line) ?? "");
      yield encoder.encode(revised.join(""));
    }
    return undefined;
  }

  #decode(piece?: Uint8Array): string {
    try {
      return this.#utf8.decode(piece, { stream: piece !== undefined });
    } catch {
      throw malformed(this.#line, "or one after it is not UTF-8; send the CSV in UTF-8");
    }
  }

  /** Returns the records of the rows that are complete, once there are enough. */
  #take(text: string): string {
    this.#held += text;
    this.#search();
    if (this.#end >= BATCH_CHARS) return this.#read(this.#end);
    const maximum = limits.maxJsonBytes;
    const actual = this.#held.length;
    if (this.#end > 0 || actual <= maximum) return "";
    // If a quote is missing, that is the error.
    this.#parse(this.#held, {});
    throw limitExceeded("maxJsonBytes", { maximum, actual, advice: "Send shorter rows." });
  }

  /** Finds the last line break that is not inside of quotes. */
  #search(): void {
    // The last character may be half of a line break.
    const last = this.#held.length - 1;
    for (let at = this.#searched; at < last; at++) {
      const code = this.#held.charCodeAt(at);
      if (code === QUOTE) this.#isQuoted = !this.#isQuoted;
      if (this.#isQuoted || (code !== LINE_FEED && code !== CARRIAGE_RETURN)) continue;
      const isHalf = code === CARRIAGE_RETURN && this.#held.charCodeAt(at + 1) === LINE_FEED;
      if (!isHalf) this.#end = at + 1;
    }
    this.#searched = Math.max(last, 0);
  }

  /** Reads rows from the start of what is held up to `end`. */
  #read(end: number): string {
    const text = this.#held.slice(0, end);
    this.#held = this.#held.slice(end);
    this.#searched -= end;
    this.#end = 0;
    if (text === "") return "";
    if (this.#delimiter === "") this.#delimiter = this.#delimiterIn(text);
    const rows = this.#parse(text, {});
    let first = 0;
    if (this.#columns === undefined) {
      const [names] = rows;
      if (names === undefined) return "";
      this.#columns = new CsvColumns(names, { isTyped: this.#options.types !== "off" });
      first = 1;
    }
    const most = this.#columns.count;
    if (rows.some((row) => row.length > most)) throw this.#tooLong(text, most);
    this.#line += text.match(LINE_BREAK)?.length ?? 0;
    return this.#columns.write(first === 0 ? rows : rows.slice(first));
  }

  #parse(text: string, options: { readonly info?: true }) {
    try {
      return parse(text, {
        ...options,
        delimiter: this.#delimiter,
        record_delimiter: ["\r\n", "\n", "\r"],
        relax_column_count: true,
        skip_empty_lines: true,
      });
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
    const rows = this.#parse(text, { info: true }) as unknown as readonly RowInfo[];
    const { record = [], info } = rows.find((row) => row.record.length > most) ?? {};
    const line = this.#line + (info?.lines ?? 1) - 1;
    const mayHaveOther = most === 1 && this.#options.delimiter === "comma";
    const hint = mayHaveOther ? ". If a comma does not separate them, set ?delimiter=auto" : "";
    return malformed(line, `has ${record.length} cells, and the first line has ${most}${hint}`);
  }

  /** Chooses the character that is most frequent in the first line, outside of quotes. */
  #delimiterIn(text: string): string {
    const { delimiter } = this.#options;
    if (delimiter !== "auto") return CHARACTERS[delimiter];
    const start = text.slice(0, BATCH_CHARS).replace(/"[^"]*"/g, "");
    const [line = ""] = start.replace(/^[\r\n]+/, "").split(/[\r\n]/, 1);
    const [, , ...all] = Object.values(CHARACTERS);
    return [";", ...all].reduce(
      (best, one) => (line.split(one).length > line.split(best).length ? one : best),
      CHARACTERS.comma as string,
    );
  }
}

interface RowInfo {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
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
  return new ByrefError("bad_csv", `Line ${line} ${reason}.`, { line });
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LINE_BREAK = /\r\n|\r|\n/g;
