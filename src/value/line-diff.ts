import { diffArrays } from "diff";
import { isJsonArray, isScalar, type Json } from "./json.ts";
import { jsonChars } from "./json-text.ts";

/** A unified diff. */
export interface Diff {
  /** The first lines, with `@@` lines and a final line break. Long lines are shortened. Empty if nothing changed. */
  readonly diff: string;
  /** The number of further lines; absent if there are none. */
  readonly more?: number;
}

/** Compares two texts line by line. */
export function diffOf(before: string, after: string, maxLines: number): Diff {
  const diff = new LineDiff(maxLines);
  diff.add(before, after);
  return diff.end();
}

/** Compares two values as JSON that is indented by two spaces, without holding either text. */
export function diffOfJson(before: Json, after: Json, maxLines: number): Diff {
  const diff = new LineDiff(maxLines);
  const [old, made] = [jsonPieces(before), jsonPieces(after)];
  for (let isOver = false; !isOver;) {
    const [one, other] = [old.next(), made.next()];
    isOver = one.done === true && other.done === true;
    diff.add(one.value ?? "", other.value ?? "");
  }
  return diff.end();
}

/** Writes indented JSON in pieces, which end with a line. `key`, `comma`: what is before and after it. */
function* jsonPieces(
  value: Json,
  { indent, key, comma } = { indent: "", key: "", comma: "" },
): Generator<string, undefined> {
  if (isScalar(value) || jsonChars(value, MAX_PIECE_CHARS) <= MAX_PIECE_CHARS) {
    const text = JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent}`);
    yield `${indent}${key}${text}${comma}\n`;
    return undefined;
  }
  const [opening, closing] = isJsonArray(value) ? ["[", "]"] : ["{", "}"];
  yield `${indent}${key}${opening}\n`;
  let left = Object.keys(value).length;
  for (const [name, inner] of Object.entries(value)) {
    yield* jsonPieces(inner, {
      indent: `${indent}  `,
      key: isJsonArray(value) ? "" : `${JSON.stringify(name)}: `,
      comma: --left > 0 ? "," : "",
    });
  }
  yield `${indent}${closing}${comma}\n`;
  return undefined;
}

/** Length of JSON that is written at once. */
const MAX_PIECE_CHARS = 16_384;

/** Characters of each text from which on they are compared. A longer line counts as several. */
const WINDOW_CHARS = 262_144;
/** Characters of one text that are held while there is too little of the other. */
const MAX_HELD_CHARS = 8 * WINDOW_CHARS;

/** Makes a unified diff of two texts that arrive in pieces. Holds a window of each, and the lines that are shown. */
export class LineDiff {
  readonly #hunks: Hunks;
  /** What was not compared yet. */
  #old = "";
  #made = "";

  constructor(maxLines: number) {
    this.#hunks = new Hunks(maxLines);
  }

  /** Adds the next pieces, cut anywhere. */
  add(old: string, made: string): void {
    const isWaiting = this.#old !== "" || this.#made !== "";
    if (!isWaiting && old === made && old.endsWith("\n")) return this.#hunks.keep(linesIn(old));
    this.#old += old;
    this.#made += made;
    while (this.#isWindowFull()) this.#compareWindow();
  }

  end(): Diff {
    // A line break that both lack is no difference. An empty text lacks none.
    const lacks = (text: string) => text !== "" && !text.endsWith("\n");
    const added = lacks(this.#old) && lacks(this.#made) ? "\n" : "";
    const [old = [], made = []] = [this.#old, this.#made].map((text) =>
      linesIn(text && text + added),
    );
    for (const part of partsOf(old, made)) this.#hunks.add(part);
    return this.#hunks.end();
  }

  #isWindowFull(): boolean {
    const [old, made] = [this.#old.length, this.#made.length];
    return Math.min(old, made) >= WINDOW_CHARS || Math.max(old, made) >= MAX_HELD_CHARS;
  }

  /** Lines after the last common one wait for the next window, unless there is none. */
  #compareWindow(): void {
    const parts = partsOf(windowOf(this.#old), windowOf(this.#made));
    const isOpen = parts.length > 1 && !isSame(parts.at(-1));
    for (const part of isOpen ? parts.slice(0, -1) : parts) {
      this.#hunks.add(part);
      this.#old = this.#old.slice(charsIn(part.old));
      this.#made = this.#made.slice(charsIn(part.made));
    }
  }
}

function charsIn(lines: readonly string[]): number {
  return lines.reduce((chars, { length }) => chars + length, 0);
}

/** The lines of a text, each with its line break. */
function linesIn(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+/g) ?? [];
}

/** The complete lines of a window. A line that fills it is cut. */
function windowOf(text: string): readonly string[] {
  const end = text.lastIndexOf("\n") + 1;
  return linesIn(end > 0 ? text.slice(0, end) : text);
}

/** Lines in one place of both texts. If they are the same, it is the same array. */
interface Part {
  readonly old: readonly string[];
  readonly made: readonly string[];
}

function isSame(part: Part | undefined): boolean {
  return part?.old === part?.made;
}

/** Changed lines up to which the fewest are searched for, one line more and one less counting as two. */
const MAX_EDITS = 300;

/** Compares lines. Changes have a part without changes between them. */
function partsOf(old: readonly string[], made: readonly string[]): readonly Part[] {
  const parts: { readonly old: string[]; readonly made: string[] }[] = [];
  for (const part of changesOf(old, made)) {
    const last = parts.at(-1);
    const lines = [...part.old];
    if (lines.length + part.made.length === 0) continue;
    if (isSame(part)) parts.push({ old: lines, made: lines });
    else if (last === undefined || isSame(last)) parts.push({ old: lines, made: [...part.made] });
    else {
      for (const line of lines) last.old.push(line);
      for (const line of part.made) last.made.push(line);
    }
  }
  return parts;
}

/** Yields the fewest changes; if they are too many, the lines between those that both have once. */
function* changesOf(old: readonly string[], made: readonly string[]): Generator<Part> {
  const changes = diffArrays([...old], [...made], { maxEditLength: MAX_EDITS });
  for (const { value, added, removed } of changes ?? []) {
    yield { old: added ? [] : value, made: removed ? [] : value };
  }
  if (changes !== undefined) return;
  let start = { old: 0, made: 0 };
  for (const end of [...anchorsOf(old, made), { old: old.length, made: made.length }]) {
    yield* pairsOf(old.slice(start.old, end.old), made.slice(start.made, end.made));
    const line = old.slice(end.old, end.old + 1);
    yield { old: line, made: line };
    start = { old: end.old + 1, made: end.made + 1 };
  }
}

/** Compares lines one by one, if they are as many. */
function* pairsOf(old: readonly string[], made: readonly string[]): Generator<Part> {
  if (old.length !== made.length) return yield { old, made };
  for (const [index, line] of old.entries()) {
    const lines = [line];
    yield { old: lines, made: line === made[index] ? lines : made.slice(index, index + 1) };
  }
}

interface Anchor {
  readonly old: number;
  readonly made: number;
  readonly before: Anchor | undefined;
}

/** Returns the places of lines that are once in both: the most that are in the same order. */
function anchorsOf(old: readonly string[], made: readonly string[]): readonly Anchor[] {
  const madePlaces = uniquePlaces(made);
  // The last one of the best row of each length.
  const ends: Anchor[] = [];
  for (const [line, place] of uniquePlaces(old)) {
    const other = madePlaces.get(line) ?? REPEATED;
    if (place === REPEATED || other === REPEATED) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle]?.made ?? Infinity) < other) low = middle + 1;
      else high = middle;
    }
    ends[low] = { old: place, made: other, before: ends[low - 1] };
  }
  const anchors: Anchor[] = [];
  for (let one = ends.at(-1); one !== undefined; one = one.before) anchors.push(one);
  return anchors.reverse();
}

const REPEATED = -1;

function uniquePlaces(lines: readonly string[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, line] of lines.entries()) {
    places.set(line, places.has(line) ? REPEATED : place);
  }
  return places;
}

/** Lines around a change that are shown. */
const CONTEXT = 3;

/** Writes the hunks of a unified diff. */
class Hunks {
  readonly #maxLines: number;
  readonly #shown: string[] = [];
  #more = 0;
  /** The place of the open hunk's header, and the lines before the hunk. */
  #hunk: { readonly at: number; readonly starts: readonly number[] } | undefined;
  /** The last unchanged lines: at most `CONTEXT` before a change, or up to twice as many after one. */
  #context: string[] = [];
  #old = 0;
  #made = 0;

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  /** Lines of both texts so far. */
  get lineCounts(): readonly number[] {
    return [this.#old, this.#made];
  }

  /** Adds lines that are in both texts. */
  keep(lines: readonly string[]): void {
    for (const line of lines) {
      this.#old++;
      this.#made++;
      this.#context.push(line);
      if (this.#hunk === undefined && this.#context.length > CONTEXT) this.#context.shift();
      else if (this.#context.length > 2 * CONTEXT) this.#close();
    }
  }

  add(part: Part): void {
    const { old, made } = part;
    if (isSame(part)) return this.keep(old);
    const context = this.#context.splice(0);
    if (this.#hunk === undefined) {
      const starts = this.lineCounts.map((count) => count - context.length);
      this.#hunk = { at: this.#shown.length, starts };
      this.#show("@@", [""]);
    }
    this.#show(" ", context);
    this.#show("-", old, made);
    this.#show("+", made, old);
    this.#old += old.length;
    this.#made += made.length;
  }

  end(): Diff {
    this.#close();
    const diff = this.#shown.map((line) => `${line}\n`).join("");
    return { diff, ...(this.#more === 0 ? {} : { more: this.#more }) };
  }

  #close(): void {
    const context = this.#context;
    this.#context = context.slice(-CONTEXT);
    if (this.#hunk === undefined) return;
    const { at, starts } = this.#hunk;
    this.#hunk = undefined;
    const behind = context.slice(0, CONTEXT);
    this.#show(" ", behind);
    if (at === this.#maxLines) return;
    const left = context.length - behind.length;
    const [old, made] = this.lineCounts.map((count, index) =>
      rangeOf(starts[index] ?? 0, count - left),
    );
    this.#shown[at] = `@@ -${old} +${made} @@`;
  }

  /** `others`: the lines in their place. A long line is shown where it begins to differ. */
  #show(sign: string, lines: readonly string[], others?: readonly string[]): void {
    const shown = lines.slice(0, this.#maxLines - this.#shown.length);
    for (const [index, line] of shown.entries()) {
      const at = others === undefined ? 0 : differenceIn(line, others[index] ?? "");
      this.#shown.push(sign + excerptOf(line, at));
    }
    this.#more += lines.length - shown.length;
  }
}

/** The lines from one place to another as in a header. A range without lines is after the line with its number. */
function rangeOf(start: number, end: number): string {
  const count = end - start;
  return `${start + (count === 0 ? 0 : 1)}${count === 1 ? "" : `,${count}`}`;
}

function differenceIn(line: string, other: string): number {
  let at = 0;
  while (at < line.length && line[at] === other[at]) at++;
  return at;
}

/** Length of a line that is shown. */
const MAX_CHARS = 200;
/** Characters of a longer line that are shown before its first change. */
const BEFORE_CHARS = 60;
/** As in other unified diffs. */
const NO_BREAK = "\n\\ No newline at end of file";

/** The part of a line around a place. */
function excerptOf(line: string, at: number): string {
  const text = line.replace(/\n$/, "");
  const start = at <= MAX_CHARS - BEFORE_CHARS ? 0 : at - BEFORE_CHARS;
  const end = start + MAX_CHARS;
  const shown = `${start > 0 ? "…" : ""}${text.slice(start, end)}${end < text.length ? "…" : ""}`;
  const isLast = text === line && line.length < WINDOW_CHARS;
  return shown.toWellFormed() + (isLast ? NO_BREAK : "");
}
