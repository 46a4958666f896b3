import { compact } from "../value/json.ts";
import * as limits from "../limits.ts";
import { isDigit, isWordCode } from "../value/characters.ts";
import type { Path, Segment } from "../value/path.ts";
import { type Match, NONE, PARTIAL, type View } from "./reference.ts";

/** A stretch of text: `limit` is where it ends, `ended` whether nothing can follow there. */
export interface Stretch {
  readonly text: string;
  readonly limit: number;
  readonly ended: boolean;
}

/** The reference whose name stands at `start`: what every syntax has behind its opening. */
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

/** A name from `start` on: its end, or -1 (no name); `undecided` if more of it may follow. */
export function matchName(stretch: Stretch, start: number): { end: number; undecided: boolean } {
  const { text, limit, ended } = stretch;
  let end = start;
  while (end < limit && isWordCode(text.charCodeAt(end))) end++;
  const startsWithDigit = end > start && isDigit(text.charCodeAt(start));
  if (startsWithDigit || end - start > limits.maxNameChars) return { end: -1, undecided: false };
  const undecided = end === limit && !ended;
  return end === start && !undecided ? { end: -1, undecided } : { end, undecided };
}

/** The longest path from `start` on. `undecided` if another segment, or more of one, may follow. */
export function matchPath(
  stretch: Stretch,
  start: number,
): { end: number; path: Path; undecided: boolean } {
  const path: Segment[] = [];
  let end = start;
  for (;;) {
    const next = matchSegment(stretch, end);
    if (next === "undecided") return { end, path, undecided: !stretch.ended };
    if (next === undefined) return { end, path, undecided: false };
    path.push(next.segment);
    end = next.end;
  }
}

/** The path that is all of the text, or undefined. */
export function parsePath(text: string): Path | undefined {
  const { end, path } = matchPath({ text, limit: text.length, ended: true }, 0);
  return end === text.length ? path : undefined;
}

type SegmentMatch = { segment: Segment; end: number } | "undecided" | undefined;

function matchSegment(stretch: Stretch, start: number): SegmentMatch {
  if (start >= stretch.limit) return "undecided";
  const opening = stretch.text[start];
  if (opening === ".") return matchKey(stretch, start + 1);
  return opening === "[" ? matchBracket(stretch, start + 1) : undefined;
}

function matchKey({ text, limit, ended }: Stretch, start: number): SegmentMatch {
  if (start >= limit) return "undecided";
  let end = start;
  while (end < limit && isWordCode(text.charCodeAt(end))) end++;
  if (end === start || isDigit(text.charCodeAt(start))) return undefined;
  if (end === limit && !ended) return "undecided";
  return { segment: { key: text.slice(start, end) }, end };
}

function matchBracket(stretch: Stretch, start: number): SegmentMatch {
  if (start >= stretch.limit) return "undecided";
  const first = stretch.text[start];
  if (first === "'" || first === '"') return matchQuotedKey(stretch, start);
  if (first === "*") return close(stretch, start + 1, { each: true });
  return matchIndexOrSlice(stretch, start);
}

function close({ text, limit }: Stretch, at: number, segment: Segment): SegmentMatch {
  if (at >= limit) return "undecided";
  return text[at] === "]" ? { segment, end: at + 1 } : undefined;
}

function matchQuotedKey(stretch: Stretch, start: number): SegmentMatch {
  const { text, limit } = stretch;
  const mark = text[start];
  let key = "";
  for (let at = start + 1; at < limit; at++) {
    const character = text[at];
    if (character === mark) return close(stretch, at + 1, { key });
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

function matchIndexOrSlice(stretch: Stretch, start: number): SegmentMatch {
  const { text, limit } = stretch;
  const from = matchInteger(stretch, start);
  if (from === "undecided" || from === undefined) return from;
  if (from.end >= limit) return "undecided";
  if (text[from.end] !== ":") {
    return from.value === undefined ? undefined : close(stretch, from.end, { index: from.value });
  }
  const to = matchInteger(stretch, from.end + 1);
  if (to === "undecided" || to === undefined) return to;
  return close(stretch, to.end, {
    ...compact({ from: from.value, to: to.value }),
  });
}

/** `0`, or digits that start with another one, with a minus or without; nothing at all has no value. */
function matchInteger(
  { text, limit }: Stretch,
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
