import * as limits from "../limits.ts";
import { CodeTracker } from "./code-tracker.ts";
import type { Reference, Syntax } from "./reference.ts";

const LF = 10;
const CR = 13;
const SPACE = 32;
const AT = 64;
const BACKSLASH = 92;
const ASCII = 128;

/** A stretch of text that reads as a reference, should its name exist. */
export interface ReferencePiece {
  readonly reference: Reference;
  /** As written, without the backslash. */
  readonly source: string;
  /** A backslash stands in front: it prints the reference as written. */
  readonly escaped: boolean;
  /** Alone on its line: only spaces before it, a line break or the end behind it. */
  readonly alone: boolean;
  /** Nothing stands before it. */
  readonly first: boolean;
  /** Nothing stands behind it. */
  readonly last: boolean;
  /** An `@` follows directly: the reference would be part of an address. */
  readonly beforeAt: boolean;
}

export interface ScannerOptions {
  readonly syntaxes: readonly Syntax[];
  /** Read references inside Markdown code too. Default: code is text. */
  readonly inCode?: boolean;
  /** Does any name of the conversation start so? Default: it may. */
  readonly couldBegin?: (prefix: string) => boolean;
  /** Does, or did, a variable have this name? Default: it may. */
  readonly isKnown?: (name: string) => boolean;
}

/**
 * Cuts a text that arrives in chunks into plain text and references. The pieces are the same however
 * the text is cut. It holds back only what may still become a reference, `maxHeldChars` at most. Cost: linear in the text's length; an opening costs at most
 * `maxHeldChars` steps for each chunk that arrives while it is open.
 */
export class Scanner {
  readonly #syntaxes: readonly Syntax[];
  /** 1 for each character code that may open a reference; one cell stands for all above ASCII. */
  readonly #openings = new Uint8Array(ASCII + 1);
  readonly #couldBegin: (prefix: string) => boolean;
  readonly #isKnown: (name: string) => boolean;
  readonly #code: CodeTracker | undefined;
  #text = "";
  #position = 0;
  #ended = false;
  /** Character code in front of `#position`; -1 at the start. */
  #before = -1;
  #onlySpaces = true;
  #first = true;
  /** Offset behind the piece that was handed out and is neither accepted nor rejected. */
  #pendingEnd = 0;
  #pendingStart = 0;

  constructor(options: ScannerOptions) {
    this.#syntaxes = options.syntaxes.filter((syntax) => syntax.wholeOnly !== true);
    for (const { opening } of this.#syntaxes) {
      this.#openings[Math.min(opening.charCodeAt(0), ASCII)] = 1;
    }
    this.#couldBegin = options.couldBegin ?? (() => true);
    this.#isKnown = options.isKnown ?? (() => true);
    this.#code = options.inCode === true ? undefined : new CodeTracker();
  }

  /** Characters that are held back now. */
  get heldChars(): number {
    return this.#text.length - this.#position;
  }

  feed(chunk: string): void {
    this.#text =
      this.#position === this.#text.length ? chunk : this.#text.slice(this.#position) + chunk;
    this.#position = 0;
    this.#ended = false;
  }

  /** Nothing follows for now: what is held is decided. More may be fed afterwards. */
  end(): void {
    this.#ended = true;
  }

  /**
   * The next piece: text, a reference (answer it with `accept` or `reject` before the next call), or
   * undefined when more text is needed.
   */
  next(): string | ReferencePiece | undefined {
    const start = this.#position;
    const text = this.#text;
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const mayOpen = code === BACKSLASH || this.#openings[code < ASCII ? code : ASCII] !== 0;
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

  /** The piece handed out last is a reference: reading goes on behind it. */
  accept(): void {
    for (let at = this.#pendingStart; at < this.#pendingEnd; at++) {
      this.#pass(this.#text.charCodeAt(at));
    }
    this.#position = this.#pendingEnd;
  }

  /** It is plain text after all: returns its opening; reading goes on right after that. */
  reject(): string {
    const isEscaped = this.#text.charCodeAt(this.#pendingStart) === BACKSLASH;
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
    if (code === LF || code === CR) this.#onlySpaces = true;
    else if (code !== SPACE) this.#onlySpaces = false;
  }

  #pieceAt(at: number, code: number): ReferencePiece | "partial" | undefined {
    const escaped = code === BACKSLASH;
    const start = escaped ? at + 1 : at;
    if (escaped && start === this.#text.length) {
      return this.#ended || this.#code?.inCode === true ? undefined : "partial";
    }
    const opening = this.#text.charAt(start);
    const syntax = this.#syntaxes.find((candidate) => candidate.opening === opening);
    // What follows a backslash was looked at together with it.
    if (syntax === undefined || this.#code?.inCode === true) return undefined;
    if (!escaped && this.#before === BACKSLASH) return undefined;
    return this.#match(syntax, start, at);
  }

  /** `start`: the opening; `from`: the backslash in front of it, or the same. */
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
    // The next character tells whether it is alone on its line, and whether it is part of an address.
    const isAtEnd = match.end === text.length;
    const escaped = from < start;
    if (isAtEnd && !escaped && !this.#ended) return "partial";
    this.#pendingStart = from;
    this.#pendingEnd = match.end;
    return {
      reference: match.reference,
      source: text.slice(start, match.end),
      escaped,
      alone: this.#onlySpaces && (isAtEnd || isLineBreak(text.charCodeAt(match.end))),
      first: this.#first,
      last: isAtEnd,
      beforeAt: text.charCodeAt(match.end) === AT,
    };
  }
}

function isLineBreak(code: number): boolean {
  return code === LF || code === CR;
}
