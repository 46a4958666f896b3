import { codePointCount } from "../../value/characters.ts";
import { type Hit, windowOf } from "./search-json.ts";
import type { Matcher, TextMatch } from "./matcher.ts";
import type { Sequence } from "./sequence.ts";

/** Characters that are loaded at once. */
const SLICE = 262_144;
/** What is kept of a line without end, so that a match across two slices is found. */
const KEPT_CHARS = 4_096;

export interface TextHit extends Hit {
  /** The character behind the excerpt: where the search goes on. */
  readonly next: number;
}

export interface TextSearch {
  readonly sequence: Sequence;
  readonly matcher: Matcher;
  readonly referenceTo: (from: number, to: number) => string;
}

/**
 * Matches in a text from character `offset` on, each with the characters around it in its line; tells
 * (without a hit) how far it came after each slice. Holds one slice at a time.
 */
export async function* searchText(
  search: TextSearch,
  offset: number,
): AsyncGenerator<TextHit | { readonly next: number }> {
  const { count } = search.sequence;
  let kept = { text: "", from: Math.min(offset, count) };
  for (let at = kept.from; at < count;) {
    const to = Math.min(at + SLICE, count);
    const slice = await search.sequence.slice(at, to);
    const text = kept.text + (typeof slice === "string" ? slice : "");
    const end = to < count ? endOfLines(text) : text.length;
    const done = yield* searchPiece(search, { text, end, from: kept.from });
    kept = { text: text.slice(done.offset), from: done.next };
    at = to;
    yield { next: done.next };
  }
}

/** Behind the last line break; in a line that is very long, before what is kept of it. */
function endOfLines(text: string): number {
  const end = text.lastIndexOf("\n") + 1;
  const isNear = text.length - end <= SLICE;
  if (end > 0 && isNear) return end;
  const cut = Math.max(text.length - KEPT_CHARS, 0);
  return (text.codePointAt(cut - 1) ?? 0) > 0xffff ? cut - 1 : cut;
}

interface Piece {
  readonly text: string;
  /** What is behind this offset comes again, in the next piece. */
  readonly end: number;
  /** The character at which the piece begins. */
  readonly from: number;
}

function* searchPiece({ matcher, referenceTo }: TextSearch, { text, end, from }: Piece) {
  let passed = { offset: 0, next: from };
  const passTo = (offset: number) => {
    const next = passed.next + codePointCount(text.slice(passed.offset, offset));
    passed = { offset, next };
  };
  for (;;) {
    const match = matcher.find(text, passed.offset);
    if (match === undefined || match.start >= end) break;
    const { lineStart, line } = lineAround(text, match, passed.offset);
    const within = { start: match.start - lineStart, end: match.end - lineStart };
    const shown = windowOf(line, within);
    passTo(lineStart + shown.start);
    const first = passed.next;
    passTo(lineStart + Math.max(shown.end, within.end));
    const isCut = shown.start > 0 || shown.end < line.length;
    const excerpt = line.slice(shown.start, shown.end).toWellFormed();
    const hit: TextHit = {
      reference: referenceTo(first, passed.next),
      excerpt: isCut ? `…${excerpt}…` : excerpt,
      next: passed.next,
    };
    yield hit;
  }
  if (passed.offset < end) passTo(end);
  return passed;
}

/** More of a line than is shown need not be looked at: it may be all of the text. */
const MAX_LINE_CHARS = 500;

/** The line that the match is in, or, of a very long one, a part; nothing before `first`. */
function lineAround(text: string, match: TextMatch, first: number) {
  const from = Math.max(match.start - MAX_LINE_CHARS, first);
  const lineStart = from + text.slice(from, match.start).lastIndexOf("\n") + 1;
  const behind = text.slice(match.end, match.end + MAX_LINE_CHARS);
  const lineBreak = behind.indexOf("\n");
  const length = lineBreak < 0 ? behind.length : lineBreak;
  return { lineStart, line: text.slice(lineStart, match.end + length) };
}
