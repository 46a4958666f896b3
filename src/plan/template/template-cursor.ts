import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { matchName, matchPath } from "../../reference/grammar.ts";
import type { Reference } from "../../reference/reference.ts";
import type { Path } from "../../value/path.ts";
import { isBlank } from "./template-parts.ts";

/** A place in a directive's text, which only goes forward. */
export class TemplateCursor {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** What has not been read, shortened for a message. */
  get rest(): string {
    return shortened(this.#text.slice(this.#at));
  }

  /** Were there any? */
  skipBlanks(): boolean {
    const start = this.#at;
    while (isBlank(this.#text[this.#at])) this.#at++;
    return this.#at > start;
  }

  isBefore(mark: string): boolean {
    return this.#text.startsWith(mark, this.#at);
  }

  /** Is the mark next? Then it is read. */
  take(mark: string): boolean {
    const isNext = this.isBefore(mark);
    if (isNext) this.#at += mark.length;
    return isNext;
  }

  /** The text in front of the first of these characters, or of the end. */
  takeUntil(characters: string): string {
    const start = this.#at;
    while (!this.isAtEnd && !characters.includes(this.#text[this.#at] ?? "")) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  /** The text in front of an option, which stands in parentheses behind a blank, or of the end. */
  takeUntilOption(): string {
    const start = this.#at;
    while (!this.isAtEnd && !this.#isAtOption) this.#at++;
    return this.#text.slice(start, this.#at);
  }

  get #isAtOption(): boolean {
    return this.#text[this.#at] === "(" && isBlank(this.#text[this.#at - 1]);
  }

  /** A name with the path behind it; undefined if there is no name. Throws `bad_path`. */
  takeReference(): Reference | undefined {
    const { end } = matchName(this.#stretch, this.#at);
    if (end < 0) return undefined;
    const name = this.#text.slice(this.#at, end);
    this.#at = end;
    return { name, path: this.takePath() };
  }

  /** The longest path here, which may be empty. Throws `bad_path`. */
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

/** As it stands in a message. */
export function shortened(text: string): string {
  return text.length <= MAX_QUOTED_CHARS ? text : `${text.slice(0, MAX_QUOTED_CHARS)}…`;
}
