/** Counts the code points of a text; a lone surrogate counts as one. Cost: linear. */
export function codePointCount(text: string): number {
  let count = text.length;
  for (let index = 1; index < text.length; index++) {
    if (!cutsPair(text, index)) continue;
    count--;
    index++;
  }
  return count;
}

/** Slices by code points. Cost: linear in the code points counted, from either end. Copies nothing. */
export function sliceCodePoints(text: string, range: { from?: number; to?: number }): string {
  const { from = 0, to } = range;
  const start = from < 0 ? offsetFromEnd(text, -from) : offsetOfCodePoint(text, 0, from);
  if (to === undefined) return text.slice(start);
  const isAhead = from >= 0 && to >= from;
  if (isAhead) return text.slice(start, offsetOfCodePoint(text, start, to - from));
  const end = to < 0 ? offsetFromEnd(text, -to) : offsetOfCodePoint(text, 0, to);
  return start < end ? text.slice(start, end) : "";
}

function offsetFromEnd(text: string, count: number): number {
  let offset = text.length;
  for (let passed = 0; passed < count && offset > 0; passed++) {
    offset -= cutsPair(text, offset - 1) ? 2 : 1;
  }
  return offset;
}

function offsetOfCodePoint(text: string, start: number, count: number): number {
  let offset = start;
  for (let passed = 0; passed < count && offset < text.length; passed++) {
    offset += cutsPair(text, offset + 1) ? 2 : 1;
  }
  return offset;
}

/** Returns at most the first `chars` UTF-16 units, without splitting a surrogate pair. */
export function clip(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const end = chars > 0 && isHighSurrogate(text.charCodeAt(chars - 1)) ? chars - 1 : chars;
  return text.slice(0, end);
}

/** Yields pieces of at most `chars` UTF-16 units, without splitting surrogate pairs. */
export function* slicesOf(text: string, chars: number): Generator<string> {
  for (let start = 0; start < text.length;) {
    const end = Math.min(start + chars, text.length);
    const next = cutsPair(text, end) ? end - 1 : end;
    yield text.slice(start, next);
    start = next;
  }
}

/** True if cutting the text there would split a surrogate pair. */
export function cutsPair(text: string, at: number): boolean {
  return isHighSurrogate(text.charCodeAt(at - 1)) && isLowSurrogate(text.charCodeAt(at));
}

export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** True for a letter, digit or underscore of ASCII, by character code. */
export function isWordCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || isDigit(code);
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/**
 * Writes characters that cannot be seen, or that change the order or line of others, as escapes: what a person
 * approves must read as it runs. Line feeds, tabs, and what joins letters or emoji stay.
 */
export function visibleText(text: string): string {
  return text.replaceAll(
    /(?!\t|\n|\u200C|\u200D|\uFE0F)[\p{DI}\p{Cc}\p{Zl}\p{Zp}]/gu,
    (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`,
  );
}

/** Joins the lines of a text for a list, which the text cannot end: neither by a line nor by a tag. */
export function inOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, " ").replaceAll("<", "‹");
}

/** True for white space, and for characters that cannot be seen either: providers refuse such a text as empty. */
export function isBlankText(text: string): boolean {
  return !/[^\s\p{Cf}]/u.test(text);
}
