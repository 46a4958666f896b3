import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { cutsPair } from "../../value/characters.ts";
import { Program } from "./pattern-program.ts";
import { LINE_FEED, parsePattern } from "./pattern-syntax.ts";

/** A range in UTF-16 offsets that never splits a surrogate pair. */
export interface TextMatch {
  readonly start: number;
  readonly end: number;
}

/** Finds a search term in texts, in time linear in their length. */
export interface Matcher {
  /**
   * Returns the match that ends first of those that begin at `from` or later; undefined if there is none, or
   * if `isOver` returns true first.
   */
  find(text: string, from: number, isOver?: () => boolean): TextMatch | undefined;
  /** Work so far, about one unit per character examined. */
  readonly work: number;
}

/** Characters between two calls of `isOver`. */
const CHARS_AT_ONCE = 65_536;

/** Throws `invalid_tool_input`. */
export function matcherFor(
  query: string,
  options: { readonly isPattern: boolean; readonly matchCase: boolean },
): Matcher {
  if (query === "") throw new ByrefError("invalid_tool_input", "The query is empty.");
  if (query.length > limits.maxQueryChars) {
    const message = `A query has at most ${limits.maxQueryChars} characters.`;
    throw new ByrefError("invalid_tool_input", message);
  }
  const { isPattern, matchCase } = options;
  return isPattern ? new PatternMatcher(query, matchCase) : new LiteralMatcher(query, matchCase);
}

class LiteralMatcher implements Matcher {
  readonly #query: string;
  readonly #matchCase: boolean;
  /** The last folded text, because the search continues in it. */
  #last: { readonly text: string; readonly folded: string } | undefined;
  work = 0;

  constructor(query: string, matchCase: boolean) {
    this.#matchCase = matchCase;
    this.#query = matchCase ? query : folded(query);
  }

  find(text: string, from: number): TextMatch | undefined {
    const within = this.#folded(text);
    for (let at = from; ;) {
      const start = within.indexOf(this.#query, at);
      this.work += (start < 0 ? text.length : start) - at;
      if (start < 0) return undefined;
      const end = start + this.#query.length;
      if (!cutsPair(text, start) && !cutsPair(text, end)) return { start, end };
      at = start + 1;
    }
  }

  #folded(text: string): string {
    if (this.#matchCase) return text;
    if (this.#last?.text !== text) this.#last = { text, folded: folded(text) };
    return this.#last.folded;
  }
}

/** Lower case of the same length, so that offsets stay valid. Both small sigmas are treated as one. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  const aligned =
    lower.length === text.length
      ? lower
      : Array.from(text, (character) => {
          const small = character.toLowerCase();
          return small.length === character.length ? small : character;
        }).join("");
  return aligned.replaceAll("ς", "σ");
}

class PatternMatcher implements Matcher {
  readonly #forwards: Program;
  readonly #backwards: Program;

  constructor(source: string, matchCase: boolean) {
    const pattern = parsePattern(source, matchCase);
    this.#forwards = new Program(pattern, { backwards: false, floating: true });
    this.#backwards = new Program(pattern, { backwards: true, floating: false });
    if (this.#forwards.isMatch(this.#forwards.start(true), undefined)) {
      const message = "The pattern matches an empty text, so it would match everywhere.";
      throw new ByrefError("invalid_tool_input", message);
    }
  }

  get work(): number {
    return this.#forwards.work + this.#backwards.work;
  }

  find(text: string, from: number, isOver = () => false): TextMatch | undefined {
    let pause = from + CHARS_AT_ONCE;
    let state = this.#forwards.start(isLineStart(text, from));
    for (let at = from; ;) {
      const code = text.codePointAt(at);
      if (this.#forwards.isMatch(state, code))
        return { start: this.#startOf(text, at, from), end: at };
      if (code === undefined) return undefined;
      if (at >= pause) {
        if (isOver()) return undefined;
        pause = at + CHARS_AT_ONCE;
      }
      state = this.#forwards.step(state, code);
      at += code > 0xffff ? 2 : 1;
    }
  }

  /** Returns the nearest offset, `from` or later, at which the match that ends at `end` can begin. */
  #startOf(text: string, end: number, from: number): number {
    const isAtEnd = end === text.length || text.charCodeAt(end) === LINE_FEED;
    let state = this.#backwards.start(isAtEnd);
    for (let at = end; at > from;) {
      const code = codeBefore(text, at);
      if (this.#backwards.isMatch(state, code)) return at;
      if (this.#backwards.isOver(state)) return at;
      state = this.#backwards.step(state, code);
      at -= code > 0xffff ? 2 : 1;
    }
    return from;
  }
}

function codeBefore(text: string, at: number): number {
  const pair = cutsPair(text, at - 1) ? text.codePointAt(at - 2) : undefined;
  return pair ?? text.charCodeAt(at - 1);
}

function isLineStart(text: string, at: number): boolean {
  return at === 0 || text.charCodeAt(at - 1) === LINE_FEED;
}
