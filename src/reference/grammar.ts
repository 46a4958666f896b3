import { compact } from "../value/json.ts";
import * as limits from "../limits.ts";
import { isDigit, isWordCode } from "../value/characters.ts";
import type { Path, Segment } from "../value/path.ts";
import { type Match, NONE, PARTIAL, type View } from "./reference.ts";

/** A section of text. `limit` is its end; `ended` is true if no text can follow there. */
export type TextRange = Pick<View, "text" | "limit" | "ended">;

/** Matches a reference whose name begins at `start`: the part after the opening, common to all syntaxes. */
export function matchReference(view: View, start: number): Match {
  if (start >= view.limit) return view.ended ? NONE : PARTIAL;
  const nameMatch = matchName(view, start);
  if (nameMatch.end < 0) return NONE;
  const name = view.text.slice(start, nameMatch.end);
  if (!view.couldBegin(name)) return NONE;
  if (nameMatch.undecided) return PARTIAL;
  if (!view.isKnown(name)) return NONE;
  const { end, path, undecided } = matchPath(view, nameMatch.end);
  return undecided ? PARTIAL : { kind: "whole", end, reference: { name, path } };
}

/** Matches a name at `start`. Returns its end, or -1 if there is none; `undecided` if more of it may follow. */
export function matchName(range: TextRange, start: number): { end: number; undecided: boolean } {
  const { text, limit, ended } = range;
  let end = start;
  while (end < limit && isWordCode(text.charCodeAt(end))) end++;
  const startsWithDigit = end > start && isDigit(text.charCodeAt(start));
  if (startsWithDigit || end - start > limits.maxNameChars) return { end: -1, undecided: false };
  const undecided = end === limit && !ended;
  return end === start && !undecided ? { end: -1, undecided } : { end, undecided };
}

/** Matches the longest path at `start`. `undecided` if another segment, or more of one, may follow. */
export function matchPath(
  range: TextRange,
  start: number,
): { end: number; path: Path; undecided: boolean } {
  const path: Segment[] = [];
  let end = start;
  for (;;) {
    const next = matchSegment(range, end);
    if (next === "undecided") return { end, path, undecided: !range.ended };
    if (next === undefined) return { end, path, undecided: false };
    path.push(next.segment);
    end = next.end;
  }
}

/** Parses a text as a path; undefined if it is not exactly one. */
export function parsePath(text: string): Path | undefined {
  const { end, path } = matchPath({ text, limit: text.length, ended: true }, 0);
  return end === text.length ? path : undefined;
}

type SegmentMatch = { segment: Segment; end: number } | "undecided" | undefined;

function matchSegment(range: TextRange, start: number): SegmentMatch {
  if (start >= range.limit) return "undecided";
  const opening = range.text[start];
  if (opening === ".") return matchKey(range, start + 1);
  return opening === "[" ? matchBracket(range, start + 1) : undefined;
}

function matchKey({ text, limit, ended }: TextRange, start: number): SegmentMatch {
  if (start >= limit) return "undecided";
  let end = start;
  while (end < limit && isWordCode(text.charCodeAt(end))) end++;
  if (end === start || isDigit(text.charCodeAt(start))) return undefined;
  if (end === limit && !ended) return "undecided";
  return { segment: { key: text.slice(start, end) }, end };
}

function matchBracket(range: TextRange, start: number): SegmentMatch {
  if (start >= range.limit) return "undecided";
  const first = range.text[start];
  if (first === "'" || first === '"') return matchQuotedKey(range, start);
  if (first === "*") return close(range, start + 1, { each: true });
  return matchIndexOrSlice(range, start);
}

function close({ text, limit }: TextRange, at: number, segment: Segment): SegmentMatch {
  if (at >= limit) return "undecided";
  return text[at] === "]" ? { segment, end: at + 1 } : undefined;
}

function matchQuotedKey(range: TextRange, start: number): SegmentMatch {
  const { text, limit } = range;
  const mark = text[start];
  let key = "";
  for (let at = start + 1; at < limit; at++) {
    const character = text[at];
    if (character === mark) return close(range, at + 1, { key });
    if (character === "\n" || character === "\r") return undefined;
    if (character !== "\\") {
      key += character;
      continue;
    }
    at++;
    if (at >= limit) return "undecided";
    const escaped = text[at];
    if (escaped !== "\\" && escaped !== "'" && escaped !== '"') return undefined;
    key += escaped;
  }
  return "undecided";
}

function matchIndexOrSlice(range: TextRange, start: number): SegmentMatch {
  const { text, limit } = range;
  const from = matchInteger(range, start);
  if (from === "undecided" || from === undefined) return from;
  if (from.end >= limit) return "undecided";
  if (text[from.end] !== ":") {
    return from.value === undefined ? undefined : close(range, from.end, { index: from.value });
  }
  const to = matchInteger(range, from.end + 1);
  if (to === "undecided" || to === undefined) return to;
  return close(range, to.end, {
    ...compact({ from: from.value, to: to.value }),
  });
}

/**
 * Matches an integer: `0`, or digits with another first digit, optionally with a minus. An empty match has
 * no value.
 */
function matchInteger(
  { text, limit }: TextRange,
  start: number,
): { end: number; value?: number } | "undecided" | undefined {
  const digits = text[start] === "-" && start < limit ? start + 1 : start;
  let end = digits;
  while (end < limit && isDigit(text.charCodeAt(end))) end++;
  if (end === limit) return "undecided";
  if (end === digits) return digits === start ? { end } : undefined;
  const startsWithZero = text[digits] === "0";
  if (startsWithZero && (end - digits > 1 || digits > start)) return undefined;
  return { end, value: Number(text.slice(start, end)) };
}
