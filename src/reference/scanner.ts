import * as ascii from "../value/ascii.ts";
import * as limits from "../limits.ts";
import { CodeTracker } from "./code-tracker.ts";
import type { Reference, Syntax } from "./reference.ts";

/** Text with the form of a reference, if its name exists. */
export interface ReferencePiece {
  readonly reference: Reference;
  /** The reference as written, without the backslash. */
  readonly source: string;
  /** A backslash precedes it: the reference prints as written. */
  readonly escaped: boolean;
  /** Alone on its line: only spaces before it, a line break or the end of the text after it. */
  readonly alone: boolean;
  /** Directly after a carriage return, which a line feed would only complete. */
  readonly isAfterReturn: boolean;
  /** At the start of the text. */
  readonly first: boolean;
  /** At the end of the text. */
  readonly last: boolean;
  /** The code of the character after it; NaN at the end. */
  readonly next: number;
}

export interface ScannerOptions {
  readonly syntaxes: readonly Syntax[];
  /** Reads references inside Markdown code too. Default: false; code is plain text. */
  readonly inCode?: boolean;
  /**
   * True if any name starts with the prefix. Lets text that cannot become a reference pass at once. Default: always
   * true.
   */
  readonly couldBegin?: (prefix: string) => boolean;
  /** True if a variable has, or had, this name. Lets text that names no variable pass at once. Default: always true. */
  readonly isKnown?: (name: string) => boolean;
}

/**
 * Splits a text that arrives in chunks into plain text and references. The pieces do not depend on where
 * the text is cut. Holds back only text that may become a reference, at most `maxHeldChars`. Cost: linear
 * in the text's length; an opening costs at most `maxHeldChars` steps for each chunk that arrives while it
 * is undecided.
 */
export class Scanner {
  readonly #syntaxes: readonly Syntax[];
  /** Characters that may open a reference, and the backslash. */
  readonly #openings: string;
  readonly #couldBegin: (prefix: string) => boolean;
  readonly #isKnown: (name: string) => boolean;
  readonly #code: CodeTracker | undefined;
  #text = "";
  #position = 0;
  #ended = false;
  /** Character code before `#position`; -1 at the start. */
  #before = -1;
  #onlySpaces = true;
  #first = true;
  /** End offset of the last returned piece, until it is accepted or rejected. */
  #pendingEnd = 0;
  #pendingStart = 0;

  constructor(options: ScannerOptions) {
    this.#syntaxes = options.syntaxes.filter((syntax) => syntax.wholeOnly !== true);
    this.#openings = `\\${this.#syntaxes.map(({ opening }) => opening).join("")}`;
    this.#couldBegin = options.couldBegin ?? (() => true);
    this.#isKnown = options.isKnown ?? (() => true);
    this.#code = options.inCode === true ? undefined : new CodeTracker();
  }

  /** The number of characters held back now. */
  get heldChars(): number {
    return this.#text.length - this.#position;
  }

  feed(chunk: string): void {
    this.#text =
      this.#position === this.#text.length ? chunk : this.#text.slice(this.#position) + chunk;
    this.#position = 0;
    this.#ended = false;
  }

  /** Ends the text for now, so that held text is decided. More text may be fed afterwards. */
  end(): void {
    this.#ended = true;
  }

  /**
   * Returns the next piece: text; a reference, which needs `accept` or `reject` before the next call; or
   * undefined if more text is needed.
   */
  next(): string | ReferencePiece | undefined {
    const start = this.#position;
    const text = this.#text;
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const mayOpen = this.#openings.includes(text.charAt(at));
      const piece = mayOpen ? this.#pieceAt(at, code) : undefined;
      if (piece !== undefined) {
        this.#position = at;
        if (at > start) return text.slice(start, at);
        return piece === "partial" ? undefined : piece;
      }
      this.#pass(code);
    }
    this.#position = text.length;
    if (start === text.length) return undefined;
    return start === 0 ? text : text.slice(start);
  }

  /** Accepts the last piece as a reference and continues after it. */
  accept(): void {
    for (let at = this.#pendingStart; at < this.#pendingEnd; at++) {
      this.#pass(this.#text.charCodeAt(at));
    }
    this.#position = this.#pendingEnd;
  }

  /** Rejects the last piece as plain text. Returns its opening and continues directly after that. */
  reject(): string {
    const isEscaped = this.#text.charCodeAt(this.#pendingStart) === ascii.BACKSLASH;
    const end = this.#pendingStart + (isEscaped ? 2 : 1);
    const opening = this.#text.slice(this.#pendingStart, end);
    for (let at = this.#pendingStart; at < end; at++) this.#pass(this.#text.charCodeAt(at));
    this.#position = end;
    return opening;
  }

  #pass(code: number): void {
    this.#code?.feed(code);
    this.#before = code;
    this.#first = false;
    if (code === ascii.LF || code === ascii.CR) this.#onlySpaces = true;
    else if (code !== ascii.SPACE) this.#onlySpaces = false;
  }

  #pieceAt(at: number, code: number): ReferencePiece | "partial" | undefined {
    const escaped = code === ascii.BACKSLASH;
    const start = escaped ? at + 1 : at;
    if (escaped && start === this.#text.length) {
      return this.#ended || this.#code?.inCode === true ? undefined : "partial";
    }
    const opening = this.#text.charAt(start);
    const syntax = this.#syntaxes.find((candidate) => candidate.opening === opening);
    // A character after a backslash was matched together with it.
    if (syntax === undefined || this.#code?.inCode === true) return undefined;
    if (!escaped && this.#before === ascii.BACKSLASH) return undefined;
    return this.#match(syntax, start, at);
  }

  /** `start`: offset of the opening; `from`: offset of the backslash before it, else the same. */
  #match(syntax: Syntax, start: number, from: number): ReferencePiece | "partial" | undefined {
    const text = this.#text;
    const bound = start + limits.maxHeldChars;
    const isInView = text.length < bound;
    const match = syntax.match({
      text,
      start,
      limit: isInView ? text.length : bound,
      ended: isInView && this.#ended,
      before: this.#before,
      couldBegin: this.#couldBegin,
      isKnown: this.#isKnown,
    });
    if (match.kind === "none") return undefined;
    if (match.kind === "partial") return isInView ? "partial" : undefined;
    // The next character decides whether it is alone on its line and whether it is part of an address or scheme.
    const isAtEnd = match.end === text.length;
    if (isAtEnd && !this.#ended) return "partial";
    this.#pendingStart = from;
    this.#pendingEnd = match.end;
    return {
      reference: match.reference,
      source: text.slice(start, match.end),
      escaped: from < start,
      alone: this.#onlySpaces && (isAtEnd || isLineBreak(text.charCodeAt(match.end))),
      isAfterReturn: this.#before === ascii.CR,
      first: this.#first,
      last: isAtEnd,
      next: text.charCodeAt(match.end),
    };
  }
}

function isLineBreak(code: number): boolean {
  return code === ascii.LF || code === ascii.CR;
}
