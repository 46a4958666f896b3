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

/** A key in quotes, in which a backslash escapes quotes and itself. The other pattern is one that is not complete. */
const QUOTED = String.raw`"(?:[^"\\\n\r]|\\["'\\])*"|'(?:[^'\\\n\r]|\\["'\\])*'`;
const BEGUN_QUOTED = String.raw`"(?:[^"\\\n\r]|\\["'\\])*\\?|'(?:[^'\\\n\r]|\\["'\\])*\\?`;
const INDEX = String.raw`(?:0|-?[1-9]\d*)`;
const BEGUN_INDEX = `(?:${INDEX}|-)?`;

const SEGMENT = new RegExp(
  String.raw`\.(?<key>[A-Za-z_]\w*)|\[(?:(?<each>\*)|(?<quoted>${QUOTED})|(?<index>${INDEX})|(?<from>${INDEX})?:(?<to>${INDEX})?)\]`,
  "gy",
);

/** Text that more text may make a segment. A key that may go on is one already. */
const BEGUN_SEGMENT = new RegExp(
  String.raw`^(?:\.|\[(?:\*|${QUOTED}|${BEGUN_QUOTED}|${BEGUN_INDEX}|${INDEX}?:${BEGUN_INDEX}))?$`,
);

/** Matches the longest path at `start`. `undecided` if another segment, or more of one, may follow. */
export function matchPath(
  { text, limit, ended }: TextRange,
  start: number,
): { end: number; path: Path; undecided: boolean } {
  const view = text.slice(start, limit);
  const path: Segment[] = [];
  let end = 0;
  for (const { 0: written, groups = {} } of view.matchAll(SEGMENT)) {
    path.push(segmentOf(groups));
    end += written.length;
  }
  return { end: start + end, path, undecided: !ended && BEGUN_SEGMENT.test(view.slice(end)) };
}

function segmentOf(groups: Readonly<Partial<Record<string, string>>>): Segment {
  const { key, each, quoted, index, from, to } = groups;
  if (key !== undefined) return { key };
  if (each !== undefined) return { each: true };
  if (quoted !== undefined) return { key: quoted.slice(1, -1).replaceAll(/\\(.)/g, "$1") };
  if (index !== undefined) return { index: Number(index) };
  return { ...(from && { from: Number(from) }), ...(to && { to: Number(to) }) };
}

/** Parses a text as a path; undefined if it is not exactly one. */
export function parsePath(text: string): Path | undefined {
  const { end, path } = matchPath({ text, limit: text.length, ended: true }, 0);
  return end === text.length ? path : undefined;
}
