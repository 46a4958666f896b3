import * as limits from "../../limits.ts";
import type { Json } from "../../value/json.ts";

/** More than any value has elements or characters; a bound of its own makes a schema shorter. */
export const MAX_COUNT = 1e8;

/** As JSON, in UTF-16 units. */
export function charsOf(output: Json): number {
  return JSON.stringify(output).length;
}

/** At most `limits.maxVariableOutputChars` as JSON? */
export function fits(output: Json): boolean {
  return charsOf(output) <= limits.maxVariableOutputChars;
}

/** The longest start of the text that takes at most `chars` characters inside of a JSON string. */
export function startWithin(text: string, chars: number): string {
  let end = 0;
  let used = 0;
  for (const character of text) {
    used += JSON.stringify(character).length - 2;
    if (used > chars) return text.slice(0, end);
    end += character.length;
  }
  return text;
}
