import type { Segment } from "./segments.ts";

/**
 * Compares two texts line by line, for a diff. Finds the fewest changed lines up to `MAX_EDITS` of them; what
 * follows after that many is one change. Cost: linear in the texts, and at most `MAX_WORK` comparisons.
 */
export function* lineSegments(before: string, after: string): Generator<Segment> {
  const start = startOfChange(before, after);
  const end = endOfChange(before, after, start);
  yield { kind: "same", text: before.slice(0, start) };
  const old = linesOf(before.slice(start, before.length - end));
  const made = linesOf(after.slice(start, after.length - end));
  let [oldAt, madeAt] = [0, 0];
  for (const { oldStart, madeStart, count } of commonRuns(old, made)) {
    yield* changed(old.slice(oldAt, oldStart), made.slice(madeAt, madeStart));
    oldAt = oldStart + count;
    madeAt = madeStart + count;
    yield { kind: "same", text: old.slice(oldStart, oldAt).join("") };
  }
  yield* changed(old.slice(oldAt), made.slice(madeAt));
  yield { kind: "same", text: before.slice(before.length - end) };
}

/** Changed lines that the search finds, one line more and one less counting as two. */
const MAX_EDITS = 1_000;
/** Lines that are compared. */
const MAX_WORK = 5_000_000;
/** Lines of both texts that are searched for common ones. Above that, all of them are one change. */
const MAX_LINES = 100_000;

/** Length of the whole lines that both texts begin with. */
function startOfChange(before: string, after: string): number {
  const shorter = Math.min(before.length, after.length);
  let [at, lineStart] = [0, 0];
  while (at < shorter && before.charCodeAt(at) === after.charCodeAt(at)) {
    at++;
    if (before[at - 1] === "\n") lineStart = at;
  }
  return at === before.length && at === after.length ? at : lineStart;
}

/** Length of the whole lines that both texts end with, after `start`. */
function endOfChange(before: string, after: string, start: number): number {
  const most = Math.min(before.length, after.length) - start;
  let [count, whole] = [0, 0];
  while (count < most) {
    const unit = before.charCodeAt(before.length - 1 - count);
    if (unit !== after.charCodeAt(after.length - 1 - count)) break;
    if (unit === LINE_BREAK) whole = count;
    count++;
  }
  // Both begin a line here: it is after a line break, or at the start.
  const isLine = [before, after].every((text) => {
    const at = text.length - count;
    return at === start || text[at - 1] === "\n";
  });
  return isLine ? count : whole;
}

const LINE_BREAK = 10;

/** The lines, each with its line break. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** Shows what differs inside of lines, so that a long line is shown around its change. */
function* changed(old: readonly string[], made: readonly string[]): Generator<Segment> {
  if (old.length === made.length) {
    for (const [index, line] of old.entries()) yield* changedText(line, made[index] ?? "");
  } else {
    yield* changedText(old.join(""), made.join(""));
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

/** Lines that both texts have, one after the other. */
interface Run {
  readonly oldStart: number;
  readonly madeStart: number;
  readonly count: number;
}

function commonRuns(old: readonly string[], made: readonly string[]): readonly Run[] {
  if (old.length + made.length > MAX_LINES) return [];
  const numbers = new Map<string, number>();
  const numbered = (line: string) => {
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    return number;
  };
  return runsBetween(Int32Array.from(old, numbered), Int32Array.from(made, numbered));
}

/** How far the search got with some number of edits: on each diagonal, old lines minus new ones. */
interface Reached {
  readonly edits: number;
  readonly diagonal: number;
  readonly old: number;
}

/**
 * The algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations" (1986). If it has to give up, the
 * longest common part so far counts.
 */
function runsBetween(old: Int32Array, made: Int32Array): readonly Run[] {
  const most = Math.min(old.length + made.length, MAX_EDITS);
  const ends = new Int32Array(2 * most + 3);
  const trace: Int32Array[] = [];
  let best: Reached = { edits: 0, diagonal: 0, old: 0 };
  let work = 0;
  for (let edits = 0; edits <= most && work < MAX_WORK; edits++) {
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const at = diagonal + most + 1;
      const [below = 0, above = 0] = [ends[at - 1], ends[at + 1]];
      const isAdded = diagonal === -edits || (diagonal !== edits && below < above);
      const start = edits === 0 ? 0 : isAdded ? above : below + 1;
      let end = start;
      while (end < old.length && end - diagonal < made.length) {
        if (old[end] !== made[end - diagonal]) break;
        end++;
      }
      work += end - start + 1;
      ends[at] = end;
      if (end > old.length || end - diagonal > made.length) continue;
      const isFurther = 2 * end - diagonal > 2 * best.old - best.diagonal;
      if (isFurther) best = { edits, diagonal, old: end };
    }
    trace.push(ends.slice(most + 1 - edits, most + 2 + edits));
    if (best.old === old.length && best.old - best.diagonal === made.length) break;
  }
  return runsTo(best, trace);
}

/** Walks back from where the search got to. */
function runsTo(reached: Reached, trace: readonly Int32Array[]): readonly Run[] {
  const runs: Run[] = [];
  let { diagonal, old: end } = reached;
  for (let { edits } = reached; edits > 0; edits--) {
    const before = trace[edits - 1] ?? new Int32Array();
    const endOf = (of: number) => before[of + edits - 1] ?? 0;
    const [below, above] = [endOf(diagonal - 1), endOf(diagonal + 1)];
    const isAdded = diagonal === -edits || (diagonal !== edits && below < above);
    const start = isAdded ? above : below + 1;
    if (end > start)
      runs.push({ oldStart: start, madeStart: start - diagonal, count: end - start });
    end = isAdded ? above : below;
    diagonal += isAdded ? 1 : -1;
  }
  if (end > 0) runs.push({ oldStart: 0, madeStart: 0, count: end });
  return runs.reverse();
}
