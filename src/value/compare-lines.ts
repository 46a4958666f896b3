import { type Change, diffLines } from "diff";
import type { Segment } from "./segments.ts";

/**
 * Compares two texts line by line, for a diff. Finds the fewest changed lines up to `MAX_EDITS` of them. Texts with
 * more changes, or with more than `MAX_LINES`, are one change from the first difference to the last.
 */
export function* lineSegments(before: string, after: string): Generator<Segment> {
  let [old, made] = ["", ""];
  for (const { value, removed, added } of changesOf(before, after)) {
    if (removed) old += value;
    else if (added) made += value;
    else {
      yield* changed(old, made);
      [old, made] = ["", ""];
      yield { kind: "same", text: value };
    }
  }
  yield* changed(old, made);
}

/** Changed lines that are searched for, one line more and one less counting as two. */
const MAX_EDITS = 1_000;
/** Lines of each text: the search costs at most as many comparisons for each edit. */
const MAX_LINES = 25_000;

type Part = Pick<Change, "value" | "removed" | "added">;

function changesOf(before: string, after: string): readonly Part[] {
  const isShort = hasFewLines(before) && hasFewLines(after);
  const found = isShort ? diffLines(before, after, { maxEditLength: MAX_EDITS }) : undefined;
  return (
    found ?? [
      { value: before, removed: true, added: false },
      { value: after, removed: false, added: true },
    ]
  );
}

function hasFewLines(text: string): boolean {
  let at = -1;
  for (let lines = 0; lines < MAX_LINES; lines++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) return true;
  }
  return false;
}

/** The lines, each with its line break; none of a text with too many. */
function linesOf(text: string): readonly string[] {
  return hasFewLines(text) ? (text.match(/[^\n]*\n|[^\n]+/g) ?? []) : [];
}

/** Shows what differs inside of lines, so that a long line is shown around its change. */
function* changed(old: string, made: string): Generator<Segment> {
  const [oldLines, madeLines] = [linesOf(old), linesOf(made)];
  if (oldLines.length > 0 && oldLines.length === madeLines.length) {
    for (const [index, line] of oldLines.entries()) {
      yield* changedText(line, madeLines[index] ?? "");
    }
  } else {
    yield* changedText(old, made);
  }
}

function* changedText(before: string, after: string): Generator<Segment> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  yield { kind: "same", text: before.slice(0, start) };
  yield { kind: "removed", text: before.slice(start, before.length - end) };
  yield { kind: "added", text: after.slice(start, after.length - end) };
  yield { kind: "same", text: before.slice(before.length - end) };
}
