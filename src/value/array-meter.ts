import { ByrefError, messageOf } from "../errors.ts";
import { ArrayEncoder, type EncodedArray } from "./encode-json.ts";
import type { Json } from "./json.ts";
import { ArrayPreview } from "./preview.ts";
import { requireJson } from "./require-json.ts";
import { ArrayShape } from "./shape.ts";

/** A JSON array that was read in pieces. */
export interface MeteredArray extends EncodedArray {
  readonly count: number;
  readonly shape: string;
  readonly preview: string;
}

/**
 * Reads the text of a JSON array as it arrives, after its opening bracket, and encodes it again. Holds the
 * encoded bytes and the elements of one piece, which take several times the memory of their text. Throws
 * `bad_json` and the errors of `requireJson`. Unusable after it threw.
 */
export class ArrayMeter {
  readonly #encoder = new ArrayEncoder();
  readonly #shape = new ArrayShape();
  readonly #preview = new ArrayPreview();
  /** Text that was not parsed: from a comma on after the first elements, or the text after the array. */
  #held = "";
  /** Open brackets and braces. */
  #depth = 1;
  #isString = false;
  #isEscaped = false;
  /** Arrays and objects. The array itself is one. */
  #containers = 1;

  write(text: string): void {
    let start = 0;
    for (let index = 0; index < text.length && this.#depth > 0; index++) {
      const code = text.charCodeAt(index);
      if (this.#isString) this.#passInString(code);
      else if (code === QUOTE) this.#isString = true;
      else if (code === COMMA && this.#depth === 1) start = index;
      else if (code === OPENING_BRACKET || code === OPENING_BRACE) this.#depth++;
      else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
        this.#depth--;
        if (this.#depth === 0) start = index + 1;
      }
    }
    if (start > 0) this.#take(text.slice(0, start));
    this.#held += text.slice(start);
  }

  /** Call it once. */
  end(): MeteredArray {
    // Fails if anything follows the array, or if it was not closed.
    this.#parse(this.#depth === 0 ? `]${this.#held}` : this.#held);
    const { count } = this.#encoder;
    const summary = { shape: this.#shape.shape(), preview: this.#preview.preview(count) };
    return { count, ...summary, ...this.#encoder.end() };
  }

  #passInString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (code === BACKSLASH) this.#isEscaped = true;
    else if (code === QUOTE) this.#isString = false;
  }

  /** Takes complete elements, up to the comma after them, or with the bracket that closes the array. */
  #take(text: string): void {
    // The number is an element before the first comma.
    const before = this.#encoder.count > 0 ? "0" : "";
    const parsed = this.#parse(before + this.#held + text + (this.#depth === 0 ? "" : "]"));
    this.#held = "";
    const elements = parsed.slice(before.length);
    // Each piece is an array around its elements, and the first one was counted.
    this.#containers = requireJson(elements, 0, this.#containers - 1);
    for (const element of elements) {
      this.#shape.add(element);
      this.#preview.add(element);
    }
    this.#encoder.add(elements);
  }

  #parse(text: string): readonly Json[] {
    try {
      // JSON.parse returns an array of Json for a text in brackets.
      return JSON.parse(`[${text}`) as readonly Json[];
    } catch (error) {
      const message = `The body is not JSON, after ${this.#encoder.count} elements: ${messageOf(error)}`;
      throw new ByrefError("bad_json", message);
    }
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
