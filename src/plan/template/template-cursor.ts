import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { matchName, matchPath } from "../../reference/grammar.ts";
import type { Reference } from "../../reference/reference.ts";
import type { Path } from "../../value/path.ts";
import { isBlank } from "./template-parts.ts";

/** A position in a directive's text. It only moves forward. */
export class TemplateCursor {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** The unread text, shortened for a message. */
  get rest(): string {
    return shortened(this.#text.slice(this.#at));
  }

  /** Skips blanks. Returns true if there were any. */
  skipBlanks(): boolean {
    const start = this.#at;
    while (isBlank(this.#text[this.#at])) this.#at++;
    return this.#at > start;
  }

  isBefore(mark: string): boolean {
    return this.#text.startsWith(mark, this.#at);
  }

  /** Reads the mark if it is next. Returns true if it was. */
  take(mark: string): boolean {
    const isNext = this.isBefore(mark);
    if (isNext) this.#at += mark.length;
    return isNext;
  }

  /** Reads up to the first of these characters, or to the end. */
  takeUntil(characters: string): string {
    const start = this.#at;
    while (!this.isAtEnd && !characters.includes(this.#text[this.#at] ?? "")) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  /** Reads up to an option, which is in parentheses after a blank, or to the end. */
  takeUntilOption(): string {
    const start = this.#at;
    while (!this.isAtEnd && !this.#isAtOption) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  get #isAtOption(): boolean {
    return this.#text[this.#at] === "(" && isBlank(this.#text[this.#at - 1]);
  }

  /** Reads a name and its path. Undefined if there is no name. Throws `bad_path`. */
  takeReference(): Reference | undefined {
    const { end } = matchName(this.#stretch, this.#at);
    if (end < 0) return undefined;
    const name = this.#text.slice(this.#at, end);
    this.#at = end;
    return { name, path: this.takePath() };
  }

  /** Reads the longest path here, which may be empty. Throws `bad_path`. */
  takePath(): Path {
    const { end, path } = matchPath(this.#stretch, this.#at);
    if (end - this.#at > limits.maxHeldChars) {
      const message = `The path is too long: it may have ${limits.maxHeldChars} characters.`;
      throw new ByrefError("bad_path", message);
    }
    this.#at = end;
    return path;
  }

  get #stretch() {
    return { text: this.#text, limit: this.#text.length, ended: true };
  }
}

const MAX_QUOTED_CHARS = 80;

/** Shortens text for a message. */
export function shortened(text: string): string {
  return text.length <= MAX_QUOTED_CHARS ? text : `${text.slice(0, MAX_QUOTED_CHARS)}…`;
}
