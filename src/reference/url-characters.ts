export const TAB = 9;
export const LF = 10;
export const FORM_FEED = 12;
export const CR = 13;
export const SPACE = 32;
export const EXCLAMATION = 33;
export const HASH = 35;
export const AMPERSAND = 38;
export const OPEN_PAREN = 40;
export const CLOSE_PAREN = 41;
export const DASH = 45;
export const DOT = 46;
export const SLASH = 47;
export const COLON = 58;
export const SEMICOLON = 59;
export const LESS = 60;
export const GREATER = 62;
export const QUESTION = 63;
export const AT = 64;
export const OPEN_BRACKET = 91;
export const BACKSLASH = 92;
export const CLOSE_BRACKET = 93;
export const CARET = 94;

const ASCII = 128;

/** True for white space within a line, as in the URL standard. */
export function isBlank(code: number): boolean {
  return code === SPACE || code === TAB || code === FORM_FEED;
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
