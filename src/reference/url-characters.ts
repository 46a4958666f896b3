import * as ascii from "../value/ascii.ts";

const ASCII = 128;

/** True for white space within a line, as in the URL standard. */
export function isBlank(code: number): boolean {
  return code === ascii.SPACE || code === ascii.TAB || code === ascii.FORM_FEED;
}

export function isAsciiLetter(code: number): boolean {
  return code < ASCII && letterOf(code) > 0;
}

/** Returns 1 to 26 for an ASCII letter in either case, 27 for a non-ASCII character, 0 for any other. */
export function letterOf(code: number): number {
  if (code >= ASCII) return 27;
  const lower = code | 32;
  return lower >= 97 && lower <= 122 ? lower - 96 : 0;
}

/** Encodes words as base 28 numbers with a digit for each letter: exact up to eleven letters. */
export function wordsOf(words: string): ReadonlySet<number> {
  const numberOf = (word: string) =>
    word.split("").reduce((number, letter) => number * 28 + letterOf(letter.charCodeAt(0)), 0);
  return new Set(words.split(" ").map(numberOf));
}
