import * as ascii from "./ascii.ts";
import { ByrefError, failingAs, requireAtMost } from "../errors.ts";
import { joinBytes, piecesOf } from "./bytes.ts";
import { parsedJson } from "./json.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import { MarkList } from "./marks.ts";
import { type Meter, type Metered, PIECE_BYTES } from "./meter.ts";
import { ArrayPreview } from "./preview.ts";
import { isBlankLine } from "./records-text.ts";
import { requireFewContainers, requireJson } from "./require-json.ts";
import { ArrayShape } from "./shape.ts";

/**
 * Measures NDJSON. Blank lines, white space around a record and a byte order mark are no part of its
 * records. Throws `bad_json` for a record that is not JSON, `limit_exceeded` for a record of more than
 * `maxJsonBytes` with its blanks as soon as that much has arrived, and the errors of `requireJson`.
 */
export class RecordsMeter implements Meter {
  readonly #utf8 = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  /** The start of an incomplete line. */
  readonly #held = new ByteBuffer();
  readonly #marks = new MarkList();
  readonly #shape = new ArrayShape();
  readonly #preview = new ArrayPreview();
  #lines = 0;
  #count = 0;
  /** Bytes of complete lines. */
  #bytes = 0;
  /** The end of the last record's line. Blank lines belong to the record after them. */
  #end = 0;
  /** Characters of the records, without separators. */
  #chars = 0;

  write(bytes: Uint8Array): void {
    for (const piece of piecesOf(bytes, PIECE_BYTES)) this.#take(piece);
  }

  end(): Metered {
    const bytes = this.#bytes + this.#held.size;
    if (this.#held.size > 0) this.#take(Uint8Array.of(ascii.LF));
    const count = this.#count;
    const chars = this.#chars + Math.max(count - 1, 0) + 2;
    const summary = { shape: this.#shape.shape(), preview: this.#preview.preview(count) };
    const about = { type: "array", count, bytes, chars, ...summary } as const;
    return { about, marks: this.#marks.marks };
  }

  /** Reads complete lines at once and holds the rest. */
  #take(piece: Uint8Array): void {
    const end = piece.lastIndexOf(ascii.LF) + 1;
    if (end > 0) {
      const lines = piece.subarray(0, end);
      this.#requireShort(lines.subarray(0, lines.indexOf(ascii.LF)));
      this.#read(joinBytes([...this.#held.take(), lines]));
    }
    const rest = piece.subarray(end);
    this.#requireShort(rest);
    this.#held.add(rest);
  }

  /** Blanks at the end of a line do not count, as long as they are held. */
  #requireShort(added: Uint8Array): void {
    const chars = added.findLastIndex((byte) => !isBlank(byte)) + 1;
    const advice = "Send smaller records, one on each line.";
    requireAtMost("maxJsonBytes", this.#held.size + chars, advice);
  }

  #read(lines: Uint8Array): void {
    let end = 0;
    for (const line of this.#utf8.decode(lines.subarray(0, -1)).split("\n")) {
      this.#lines++;
      const start = end;
      end = lines.indexOf(ascii.LF, start) + 1;
      // The character may be in the text, or stand for bytes that are no text.
      if (line.includes("\uFFFD")) this.#requireUtf8(lines.subarray(start, end));
      const text = this.#lines === 1 ? line.replace(/^\uFEFF/u, "") : line;
      if (isBlankLine(text)) continue;
      this.#marks.offer(this.#end, this.#count);
      this.#inspect(text);
      this.#end = this.#bytes + end;
    }
    this.#bytes += lines.length;
  }

  #inspect(text: string): void {
    requireFewContainers(text);
    const value = failingAs(
      () => parsedJson(text),
      (reason) => this.#notJson(reason),
    );
    requireJson(value);
    this.#shape.add(value);
    this.#preview.add(value);
    this.#count++;
    // Around JSON there is no other white space.
    this.#chars += text.trim().length;
  }

  #requireUtf8(line: Uint8Array): void {
    const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    failingAs(
      () => strict.decode(line),
      () => this.#notJson("it is not UTF-8"),
    );
  }

  #notJson(reason: string): ByrefError {
    const at = { record: this.#count + 1, line: this.#lines };
    const message = `Record ${at.record} (line ${at.line}) is not JSON: ${reason}`;
    return new ByrefError("bad_json", message, at);
  }
}

/** True for a space, tab or carriage return, which may surround a record. */
function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 13;
}
