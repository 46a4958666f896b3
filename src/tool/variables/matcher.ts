import * as limits from "../../limits.ts";
import { ByrefError } from "../../errors.ts";
import { cutsPair } from "../../value/characters.ts";

/** A range in UTF-16 offsets that never splits a surrogate pair. */
export interface TextMatch {
  readonly start: number;
  readonly end: number;
}

/** Throws `invalid_tool_input` for a query that is empty or too long. */
export function matcherFor(query: string, options: { readonly matchCase: boolean }): Matcher {
  if (query === "") throw new ByrefError("invalid_tool_input", "The query is empty.");
  if (query.length > limits.maxLineChars) {
    const message = `A query has at most ${limits.maxLineChars} characters.`;
    throw new ByrefError("invalid_tool_input", message);
  }
  return new Matcher(query, options.matchCase);
}

/** Finds a text in others. Cost: linear in their length. */
export class Matcher {
  readonly #query: string;
  readonly #matchCase: boolean;
  /** The last folded text, because the search continues in it. */
  #last: { readonly text: string; readonly folded: string } | undefined;
  /** Characters examined so far. */
  work = 0;

  constructor(query: string, matchCase: boolean) {
    this.#matchCase = matchCase;
    this.#query = matchCase ? query : folded(query);
  }

  /** Returns the first match that begins at `from` or later; undefined if there is none. */
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
