import { type Change, diffLines } from "diff";
import type { Segment } from "./segments.ts";

/** A unified diff. */
export interface Diff {
  /** The first lines, with `@@` lines and a final line break. Long lines are shortened. Empty if nothing changed. */
  readonly diff: string;
  /** The number of further lines; absent if there are none. */
  readonly more?: number;
}

const CONTEXT = 3;

/**
 * Makes a unified diff from the segments of an edited text, without comparing the texts. Holds the lines
 * that are shown. Cost: linear.
 */
export class LineDiff {
  readonly #maxLines: number;
  readonly #lines: (string | Hunk)[] = [];
  #more = 0;
  #hunk: Hunk | undefined;
  /** The last unchanged lines: at most `CONTEXT` before a change, or up to twice as many after one. */
  #context: string[] = [];
  /** Lines since the last line break that is in both texts. */
  #old = new Group();
  #new = new Group();
  /** Changed lines since the last unchanged one. */
  #removed = new Changed();
  #added = new Changed();
  /** Complete lines of each text, without those. */
  #oldCount = 0;
  #newCount = 0;

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  add({ kind, text }: Segment): void {
    if (kind !== "same" && text !== "") for (const group of [this.#old, this.#new]) group.mark();
    for (let from = 0; from < text.length;) {
      const end = text.indexOf("\n", from);
      const piece = text.slice(from, end < 0 ? text.length : end);
      if (kind !== "added") this.#old.append(piece);
      if (kind !== "removed") this.#new.append(piece);
      if (end < 0) return;
      from = end + 1;
      if (kind === "same") this.#endBoth();
      else if (kind === "removed") this.#old.endLine();
      else this.#new.endLine();
      // The rest of these lines belongs to the change.
      if (kind !== "same") (kind === "removed" ? this.#old : this.#new).mark();
    }
  }

  end(): Diff {
    this.#endLast();
    this.#showChange();
    this.#closeHunk();
    const lines = this.#lines.map((line) => (typeof line === "string" ? line : headerOf(line)));
    const diff = lines.map((line) => `${line}\n`).join("");
    return { diff, ...(this.#more === 0 ? {} : { more: this.#more }) };
  }

  /** Ends the current line of both texts. */
  #endBoth(): void {
    this.#old.endLine();
    this.#new.endLine();
    this.#endGroup();
  }

  /** Ends lines without a line break at the end. */
  #endLast(): void {
    const [open, other] =
      this.#old.line.length > 0 ? [this.#old, this.#new] : [this.#new, this.#old];
    // Otherwise a change of the last line break alone would not be seen.
    open.line.lacksBreak = other.line.length === 0 && other.count > 0;
    for (const group of [open, other]) if (group.line.length > 0) group.endLine();
    this.#endGroup();
  }

  #endGroup(): void {
    const [old, added] = [this.#old, this.#new];
    this.#old = new Group();
    this.#new = new Group();
    if (old.isChanged) return this.#addChange(old, added);
    for (const { text } of old.lines) this.#keep(text);
  }

  /** An unchanged line. */
  #keep(text: string): void {
    this.#showChange();
    this.#oldCount++;
    this.#newCount++;
    this.#context.push(text);
    if (this.#hunk === undefined) {
      if (this.#context.length > CONTEXT) this.#context.shift();
    } else if (this.#context.length > 2 * CONTEXT) {
      this.#closeHunk();
    }
  }

  #addChange(old: Group, added: Group): void {
    const start = commonLines(old.lines, added.lines);
    const most = Math.min(old.count, added.count) - start;
    const isWhole = old.count === old.lines.length && added.count === added.lines.length;
    const end = isWhole
      ? Math.min(commonLines(old.lines.toReversed(), added.lines.toReversed()), most)
      : 0;
    for (const line of old.lines.slice(0, start)) this.#keep(line.text);
    this.#removed.add(old.lines.slice(start, old.lines.length - end), old.count - start - end);
    this.#added.add(added.lines.slice(start, added.lines.length - end), added.count - start - end);
    for (const line of old.lines.slice(old.lines.length - end)) this.#keep(line.text);
  }

  #showChange(): void {
    const [removed, added] = [this.#removed, this.#added];
    if (removed.count + added.count === 0) return;
    this.#removed = new Changed();
    this.#added = new Changed();
    this.#openHunk();
    this.#show("-", removed);
    this.#show("+", added);
    this.#oldCount += removed.count;
    this.#newCount += added.count;
  }

  #openHunk(): void {
    const context = this.#context;
    this.#context = [];
    if (this.#hunk === undefined) {
      const before = context.length;
      this.#hunk = {
        oldStart: this.#oldCount - before,
        newStart: this.#newCount - before,
        oldLines: 0,
        newLines: 0,
      };
      this.#push(this.#hunk);
    }
    this.#showContext(context);
  }

  #closeHunk(): void {
    const after = this.#context;
    if (this.#hunk !== undefined) this.#showContext(after.slice(0, CONTEXT));
    this.#context = after.slice(-CONTEXT);
    this.#hunk = undefined;
  }

  #showContext(lines: readonly string[]): void {
    if (this.#hunk === undefined) return;
    this.#hunk.oldLines += lines.length;
    this.#hunk.newLines += lines.length;
    for (const line of lines) this.#push(` ${line}`);
  }

  #show(sign: "-" | "+", { lines, count }: Changed): void {
    if (this.#hunk === undefined) return;
    if (sign === "-") this.#hunk.oldLines += count;
    else this.#hunk.newLines += count;
    for (const line of lines) this.#push(sign + line.text);
    this.#more += count - lines.length;
  }

  #push(line: string | Hunk): void {
    if (this.#more === 0 && this.#lines.length < this.#maxLines) this.#lines.push(line);
    else this.#more++;
  }
}

/** Lines that are removed, or added, one after the other. */
class Changed {
  readonly lines: LineExcerpt[] = [];
  /** All of them. */
  count = 0;

  add(lines: readonly LineExcerpt[], count: number): void {
    this.count += count;
    this.lines.push(...lines.slice(0, MAX_GROUP_LINES - this.lines.length));
  }
}

interface Hunk {
  /** Lines before the hunk. */
  readonly oldStart: number;
  readonly newStart: number;
  oldLines: number;
  newLines: number;
}

function headerOf({ oldStart, oldLines, newStart, newLines }: Hunk): string {
  // A range without lines is after the line with its number.
  const range = (start: number, lines: number) =>
    `${start + (lines === 0 ? 0 : 1)}${lines === 1 ? "" : `,${lines}`}`;
  return `@@ -${range(oldStart, oldLines)} +${range(newStart, newLines)} @@`;
}

function commonLines(some: readonly LineExcerpt[], others: readonly LineExcerpt[]): number {
  let count = 0;
  for (const line of some) {
    const other = others[count];
    if (other === undefined || line.isClipped || other.isClipped) break;
    if (line.text !== other.text) break;
    count++;
  }
  return count;
}

/** Lines of a group that are remembered. */
const MAX_GROUP_LINES = 70;

/** The lines of one text between two line breaks that are in both. */
class Group {
  readonly lines: LineExcerpt[] = [];
  line = new LineExcerpt();
  /** All complete lines. */
  count = 0;
  isChanged = false;

  append(text: string): void {
    this.line.append(text);
  }

  /** The text changes here. */
  mark(): void {
    this.isChanged = true;
    this.line.mark();
  }

  endLine(): void {
    this.count++;
    if (this.lines.length === MAX_GROUP_LINES) return this.line.clear();
    this.lines.push(this.line);
    this.line = new LineExcerpt();
  }
}

/** Length of a line that is shown. */
const MAX_CHARS = 200;
/** Characters of a longer line that are shown before its first change. */
const BEFORE_CHARS = 60;

/** As in other unified diffs. */
const NO_BREAK = "\n\\ No newline at end of file";

/** A line of a diff: all of it, or the part around its first change. */
class LineExcerpt {
  /** True for a last line without a line break, where the other text has one. */
  lacksBreak = false;
  #length = 0;
  #shown = "";
  /** The last characters before a change. */
  #recent = "";
  #isMarked = false;
  #startsLate = false;

  get length(): number {
    return this.#length;
  }

  get isClipped(): boolean {
    return this.#startsLate || this.#length > this.#shown.length;
  }

  get text(): string {
    const isCut = this.#startsLate
      ? this.#shown.length >= MAX_CHARS
      : this.#length > this.#shown.length;
    const end = `${isCut ? "…" : ""}${this.lacksBreak ? NO_BREAK : ""}`;
    return `${this.#startsLate ? "…" : ""}${this.#shown}${end}`.toWellFormed();
  }

  /** Begins another line. */
  clear(): void {
    this.#length = 0;
    this.#shown = "";
    this.#recent = "";
    this.#isMarked = false;
    this.#startsLate = false;
  }

  append(text: string): void {
    this.#length += text.length;
    this.#shown += text.slice(0, Math.max(MAX_CHARS - this.#shown.length, 0));
    if (!this.#isMarked)
      this.#recent = (this.#recent + text.slice(-BEFORE_CHARS)).slice(-BEFORE_CHARS);
  }

  /** The line changes here. */
  mark(): void {
    if (this.#isMarked) return;
    this.#isMarked = true;
    if (this.#length <= MAX_CHARS - BEFORE_CHARS) return;
    this.#startsLate = true;
    this.#shown = this.#recent;
  }
}

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
