import * as limits from "../limits.ts";
import { Work } from "./work.ts";

/** Replaces an exact text. */
export interface Replacement {
  /** Not empty. */
  readonly find: string;
  readonly replace: string;
  /** Replaces every occurrence. Default: there must be exactly one. */
  readonly all?: boolean;
}

/** Returns the first line end of a text. */
export function lineEndOf(text: string): string | undefined {
  return /\r?\n/.exec(text)?.[0];
}

/**
 * Returns the text to put in place of another, with the line ends of the text around it. If only line ends are to
 * change, they are kept.
 */
export function withLineEnds(replace: string, find: string, lineEnd: string | undefined): string {
  const own = (text: string) => text.replaceAll("\r\n", "\n");
  if (lineEnd === undefined || own(find) === own(replace)) return replace;
  return own(replace).replaceAll("\n", lineEnd);
}

/** The work of all edits of one text: what they read, which may be a text of any length some times, and what they add. */
export interface EditWork {
  readonly read: Work;
  readonly added: Work;
}

/** `chars`: the length of the text. */
export function editWork(chars: number): EditWork {
  const maximum = limits.maxReadWork + MAX_TIMES * chars;
  return {
    read: new Work({
      bound: ["maxReadWork", maximum],
      advice: "Make fewer edits in one call, or replace less.",
    }),
    added: new Work({
      bound: "maxInsertedChars",
      advice: "Replace less often, or with a shorter text.",
    }),
  };
}

/** How often edits may read a text, beside `maxReadWork`. */
const MAX_TIMES = 5;

/** Cost of a character to find, for which a number is kept. */
const FIND_COST = 16;

/** Lines of occurrences that are remembered. */
const MAX_LINES = 6;

/** Finds a text in another that arrives in pieces (Knuth, Morris, Pratt). Cost: linear, for any text. */
export class Finder {
  readonly #wanted: string;
  /** For each start of the text, the length of its longest end that is also a start. */
  readonly #borders: Int32Array;
  /** Characters that the end of the last piece matches. */
  matched = 0;

  /** `wanted`: not empty. */
  constructor(wanted: string) {
    this.#wanted = wanted;
    this.#borders = new Int32Array(wanted.length + 1);
    for (let at = 1; at < wanted.length; at++) {
      this.#borders[at + 1] = this.#after(this.#borders[at] ?? 0, wanted.charCodeAt(at));
    }
  }

  /** Returns where the next occurrence ends in the piece, from `from` on; -1 if none does. Occurrences do not overlap. */
  nextEnd(piece: string, from: number): number {
    const first = this.#wanted.charAt(0);
    let { matched } = this;
    let end = -1;
    for (let at = from; at < piece.length && end < 0; at++) {
      if (matched === 0) {
        at = piece.indexOf(first, at);
        if (at < 0) break;
      }
      matched = this.#after(matched, piece.charCodeAt(at));
      if (matched === this.#wanted.length) end = at + 1;
    }
    this.matched = end < 0 ? matched : 0;
    return end;
  }

  #after(matched: number, code: number): number {
    let left = matched;
    while (left > 0 && this.#wanted.charCodeAt(left) !== code) left = this.#borders[left] ?? 0;
    return this.#wanted.charCodeAt(left) === code ? left + 1 : 0;
  }
}

/** Applies one replacement to a text in pieces. The first of overlapping occurrences counts. */
export class TextEdit {
  readonly #replacement: Replacement;
  readonly #work: EditWork;
  readonly #finder: Finder;
  #count = 0;
  #line = 1;
  readonly #lines: number[] = [];

  /** The work is that of all edits that the text passes through. Throws `limit_exceeded`. */
  constructor(replacement: Replacement, work: EditWork) {
    this.#replacement = replacement;
    this.#work = work;
    work.read.spend(FIND_COST * replacement.find.length);
    this.#finder = new Finder(replacement.find);
  }

  /** Occurrences so far. */
  get count(): number {
    return this.#count;
  }

  /** The numbers of the lines in which the first occurrences begin, from 1. */
  get lines(): readonly number[] {
    return this.#lines;
  }

  /**
   * Returns the text that can no longer change. If there must be one occurrence and there are more, the edit fails: the
   * others are counted only.
   */
  write(piece: string): string {
    const { find, replace, all = false } = this.#replacement;
    this.#work.read.spend(piece.length);
    const held = this.#finder.matched;
    const text = find.slice(0, held) + piece;
    let made = "";
    let taken = 0;
    let counted = 0;
    const countLines = (to: number) => {
      if (this.#lines.length < MAX_LINES) this.#line += lineBreaksIn(text.slice(counted, to));
      counted = to;
    };
    for (let at = held; ;) {
      at = this.#finder.nextEnd(text, at);
      if (at < 0) break;
      const start = at - find.length;
      countLines(start);
      this.#count++;
      if (this.#lines.length < MAX_LINES) this.#lines.push(this.#line);
      if (!all && this.#count > 1) continue;
      this.#work.added.spend(replace.length);
      made += text.slice(taken, start) + replace;
      taken = at;
    }
    const end = text.length - this.#finder.matched;
    countLines(end);
    return made + text.slice(taken, end);
  }

  /** Returns the rest. */
  end(): string {
    return this.#replacement.find.slice(0, this.#finder.matched);
  }
}

function lineBreaksIn(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}
