import * as ascii from "./ascii.ts";
import { ByrefError, failingAs } from "../errors.ts";
import { copyOf, joinBytes } from "./bytes.ts";
import { type Json, parsedBody } from "./json.ts";
import { type Mark, MarkList } from "./marks.ts";
import type { Meter, Metered } from "./meter.ts";
import { ArrayPreview } from "./preview.ts";
import { requireJson } from "./require-json.ts";
import { ArrayShape } from "./shape.ts";

/**
 * Reads the text of a JSON array as it arrives. Holds its bytes and the elements of one piece, which take several
 * times the memory of their text. Throws `bad_json` and the errors of `requireJson`. Unusable after it threw.
 */
export class ArrayMeter implements Meter {
  readonly #scanner = new ElementScanner();
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #pieces: Uint8Array[] = [];
  readonly #shape = new ArrayShape();
  readonly #preview = new ArrayPreview();
  /** Bytes after the last complete element. */
  readonly #held: Uint8Array[] = [];
  #count = 0;
  /** With the opening bracket, and a comma or closing bracket after each element. */
  #chars = 1;
  /** Arrays and objects. The array itself is one. */
  #containers = 1;

  write(bytes: Uint8Array): void {
    const piece = copyOf(bytes);
    this.#pieces.push(piece);
    const end = this.#scanner.isClosed ? 0 : this.#scanner.scan(piece);
    if (end > 0) this.#take([...this.#held.splice(0), piece.subarray(0, end)]);
    this.#held.push(piece.subarray(end));
  }

  /** Returns the text as it arrived, too. */
  end(): Metered & { readonly body: Uint8Array } {
    // Fails if anything follows the array, or if it was not closed.
    this.#parse(`${this.#scanner.isClosed ? "[]" : "[0,"}${this.#decode(this.#held)}`);
    const count = this.#count;
    const summary = { shape: this.#shape.shape(), preview: this.#preview.preview(count) };
    const body = joinBytes(this.#pieces);
    const sizes = { count, bytes: body.length, chars: Math.max(this.#chars, 2) };
    return { about: { type: "array", ...sizes, ...summary }, marks: this.#scanner.marks, body };
  }

  /** Takes complete elements, up to the comma after the last one, or with the bracket that closes the array. */
  #take(bytes: readonly Uint8Array[]): void {
    const text = this.#decode(bytes);
    const closed = this.#scanner.isClosed ? text : `${text.slice(0, -1)}]`;
    // Elements after the first ones follow a comma, so that there must be one.
    const isFirst = this.#count === 0;
    const parsed = this.#parse(isFirst ? closed : `[0,${closed}`);
    const elements = isFirst ? parsed : parsed.slice(1);
    // Each piece is an array around its elements, and the first one was counted.
    this.#containers = requireJson(elements, 0, this.#containers - 1);
    for (const element of elements) {
      this.#shape.add(element);
      this.#preview.add(element);
    }
    this.#count += elements.length;
    if (elements.length > 0) this.#chars += JSON.stringify(elements).length - 1;
  }

  #decode(bytes: readonly Uint8Array[]): string {
    const decode = () => this.#utf8.decode(joinBytes(bytes));
    return failingAs(decode, () => this.#notJson("it is not UTF-8."));
  }

  #parse(text: string): readonly Json[] {
    const parsed = failingAs(
      () => parsedBody(text),
      (reason) => this.#notJson(reason),
    );
    // The value of a text in brackets is an array.
    return parsed as readonly Json[];
  }

  #notJson(reason: string): ByrefError {
    const message = `The body is not JSON, after ${this.#count} elements: ${reason}`;
    return new ByrefError("bad_json", message);
  }
}

/** Returns marks at elements of a JSON array, whose text is valid. */
export function marksOfElements(bytes: Uint8Array): readonly Mark[] {
  const scanner = new ElementScanner();
  scanner.scan(bytes);
  return scanner.marks;
}

/** Finds the elements of a JSON array in its text as it arrives. Does not validate it. */
class ElementScanner {
  readonly #marks = new MarkList();
  /** Open brackets and braces; undefined before the first one. */
  #depth: number | undefined;
  #isString = false;
  #isEscaped = false;
  #bytes = 0;
  /** Commas between elements. */
  #commas = 0;

  get isClosed(): boolean {
    return this.#depth === 0;
  }

  get marks(): readonly Mark[] {
    return this.#marks.marks;
  }

  /** Returns the end of the last element in the piece, with the comma or bracket after it; 0 if none ends in it. */
  scan(piece: Uint8Array): number {
    let end = 0;
    for (let index = 0; index < piece.length && !this.isClosed; index++) {
      const code = piece[index];
      if (this.#isString) this.#passInString(code);
      else if (code === ascii.QUOTE) this.#isString = true;
      else if (code === ascii.COMMA && this.#depth === 1) {
        end = index + 1;
        this.#commas++;
        this.#marks.offer(this.#bytes + end, this.#commas);
      } else if (code === ascii.OPEN_BRACKET || code === ascii.OPEN_BRACE) {
        if (this.#depth === undefined) this.#marks.offer(this.#bytes + index + 1, 0);
        this.#depth = (this.#depth ?? 0) + 1;
      } else if (code === ascii.CLOSE_BRACKET || code === ascii.CLOSE_BRACE) {
        this.#depth = (this.#depth ?? 0) - 1;
        if (this.isClosed) end = index + 1;
      }
    }
    this.#bytes += piece.length;
    return end;
  }

  #passInString(code: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === ascii.BACKSLASH) this.#isEscaped = true;
    else if (code === ascii.QUOTE) this.#isString = false;
  }
}
