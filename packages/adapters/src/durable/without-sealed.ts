import type { SealedText } from "../agent/expand-answer.ts";

/** A sealed value in a text that was shown, with what was around it. */
export interface SealedPlace extends Pick<SealedText, "source" | "text"> {
  /** The text before it, at most `CONTEXT_CHARS` characters. */
  readonly before: string;
  /** The text after it, at most `CONTEXT_CHARS` characters. */
  readonly after: string;
}

/** Characters of a text that are kept on each side of a sealed value. */
export const CONTEXT_CHARS = 16;

/** Characters that are kept of a value. */
export const MAX_VALUE_CHARS = 500_000;
/** A clipped value may have become a little shorter, as its white space is not compared. */
const MARGIN_CHARS = 1_000;

/** A whole value of this length is replaced wherever it is. A shorter one is in many texts by chance. */
const MIN_WHOLE_CHARS = 4;
/** The start or end of a value of this length is replaced wherever it is. */
const MIN_PART_CHARS = 8;
/** Number of characters next to a short value that identify it as the one that was shown. */
const MIN_CONTEXT_CHARS = 3;

/** Matches the text after a clipped value: nothing, or a mark such as `…`, `...` or `[truncated]`. */
const CUT = /^\s*(?:$|…|\.\.\.|[[(<])/u;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Returns the text with a reference in place of the sealed value, wherever the value occurs: whole, or cut off at
 * its start or end. A value shorter than four characters, and the first seven characters of a value that was cut
 * off, are found only with the same characters next to them. Cost: linear.
 */
export function withoutSealed(text: string, place: SealedPlace): string {
  const value = place.text.trim();
  if (value === "" || text === "") return text;
  const { source } = place;
  if (isPartOf(value, text.trim())) return source;
  let without = text;
  if (value.length >= MIN_PART_CHARS) {
    without = withoutEnds(withoutStarts(without, value, source), value, source);
  } else if (value.length >= MIN_WHOLE_CHARS) {
    without = without.replaceAll(value, () => source);
  }
  return withoutNeighbors(without, { ...place, text: value });
}

/** True if the value is long enough to be found without what is beside it. */
export function isFoundAnywhere({ text }: SealedPlace): boolean {
  return text.trim().length >= MIN_WHOLE_CHARS;
}

/** True if nothing is left but the value, or a part of it that is too long to be in both by chance. */
function isPartOf(value: string, text: string): boolean {
  if (text === value) return true;
  if (text.length >= MIN_PART_CHARS) return includes(value, text);
  return text.length >= MIN_WHOLE_CHARS && (value.startsWith(text) || value.endsWith(text));
}

/** Like `String.includes`, but not quadratic: compares only the first places with the same beginning. */
function includes(value: string, text: string): boolean {
  const first = text.slice(0, MAX_PROBE_CHARS);
  let at = value.indexOf(first);
  for (let tries = 0; at !== -1 && tries < MAX_PROBES; tries++) {
    if (value.startsWith(text, at)) return true;
    at = value.indexOf(first, at + 1);
  }
  return false;
}

const MAX_PROBE_CHARS = 64;
const MAX_PROBES = 16;

/** Replaces the longest starts of a value. */
function withoutStarts(text: string, value: string, source: string): string {
  return replacedAfter(text, "", {
    source,
    first: value.slice(0, MIN_PART_CHARS),
    charsAt: (at) => {
      const chars = sharedChars(text, at, value);
      // The rest of a clipped value is unknown.
      const goesOn = chars === value.length && chars >= MAX_VALUE_CHARS - MARGIN_CHARS;
      return goesOn ? text.length - at : chars;
    },
  });
}

/** Replaces the longest ends of a value, from right to left. */
function withoutEnds(text: string, value: string, source: string): string {
  const last = value.slice(-MIN_PART_CHARS);
  let result = "";
  let done = text.length;
  for (let at = text.lastIndexOf(last); at !== -1; at = lastBefore(text, last, done)) {
    const end = at + last.length;
    let from = at;
    let left = value.length - last.length;
    while (from > 0 && left > 0 && text[from - 1] === value[left - 1]) {
      from--;
      left--;
    }
    result = source + text.slice(end, done) + result;
    done = from;
  }
  return text.slice(0, done) + result;
}

function lastBefore(text: string, sought: string, end: number): number {
  return end < sought.length ? -1 : text.lastIndexOf(sought, end - sought.length);
}

/** Replaces a value, or the start of one that was cut off, if its neighbours are those with which it was shown. */
function withoutNeighbors(
  text: string,
  { source, text: value, before, after }: SealedPlace,
): string {
  const left = before.trimStart();
  let without = text;
  if (left.length >= MIN_CONTEXT_CHARS) {
    without = replacedAfter(text, left, {
      source,
      first: "",
      charsAt: (at) => {
        const chars = sharedChars(text, at, value);
        const next = text[at + chars] ?? "";
        const endsWord = !WORD.test(value.at(-1) ?? "") || !WORD.test(next) || after[0] === next;
        if (chars === value.length) return endsWord ? chars : 0;
        return CUT.test(text.slice(at + chars, at + chars + CONTEXT_CHARS)) ? chars : 0;
      },
    });
  }
  const right = after.trimEnd();
  if (right.length < MIN_CONTEXT_CHARS) return without;
  return without.replaceAll(value + right, (found, at: number) => {
    const previous = without[at - 1] ?? "";
    const isInWord = WORD.test(value[0] ?? "") && WORD.test(previous);
    return isInWord ? found : source + right;
  });
}

interface Replacing {
  readonly source: string;
  /** The text with which each place begins. */
  readonly first: string;
  /** Returns the number of characters to replace at an offset, or 0. */
  readonly charsAt: (at: number) => number;
}

function replacedAfter(text: string, left: string, { source, first, charsAt }: Replacing): string {
  let result = "";
  let end = 0;
  const sought = left + first;
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, Math.max(end, at + 1))) {
    const from = at + left.length;
    const chars = charsAt(from);
    if (chars === 0) continue;
    result += text.slice(end, from) + source;
    end = from + chars;
  }
  return result + text.slice(end);
}

/** Returns the number of characters from `at` on that match the start of the value. */
function sharedChars(text: string, at: number, value: string): number {
  let count = 0;
  while (count < value.length && text[at + count] === value[count]) count++;
  return count;
}
