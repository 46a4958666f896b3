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

/** Lines around a change that are shown. */
const CONTEXT = 3;

/** Makes a unified diff of two texts that arrive in pieces. Holds a window of each, and the lines that are shown. */
export class LineDiff {
  readonly #maxLines: number;
  /** What was not compared yet. */
  #old = "";
  #made = "";
  readonly #shown: string[] = [];
  #more = 0;
  /** Lines of both texts so far. */
  #oldLines = 0;
  #madeLines = 0;
  /** The place of the open hunk's header, and the lines before the hunk. */
  #hunk: { readonly at: number; readonly old: number; readonly made: number } | undefined;
  /** The last unchanged lines: at most `CONTEXT` before a change, or up to twice as many after one. */
  #context: string[] = [];

  constructor(maxLines: number) {
    this.#maxLines = maxLines;
  }

  /** Adds the next pieces, cut anywhere. */
  add(old: string, made: string): void {
    const isWaiting = this.#old !== "" || this.#made !== "";
    if (!isWaiting && old === made && old.endsWith("\n")) {
      for (const line of linesIn(old)) this.#keep(line);
      return;
    }
    this.#old += old;
    this.#made += made;
    while (this.#isWindowFull()) {
      const window = [windowOf(this.#old), windowOf(this.#made)] as const;
      // Lines after the last common one wait for the next window, unless there is none.
      const ends = this.#compare(...window) ?? window.map(({ length }) => length);
      const [oldChars, madeChars] = window.map((lines, at) => charsIn(lines.slice(0, ends[at])));
      this.#old = this.#old.slice(oldChars);
      this.#made = this.#made.slice(madeChars);
    }
  }

  end(): Diff {
    // A line break that both lack is no difference. An empty text lacks none.
    const lacks = (text: string) => text !== "" && !text.endsWith("\n");
    const added = lacks(this.#old) && lacks(this.#made) ? "\n" : "";
    this.#compare(
      linesIn(this.#old && this.#old + added),
      linesIn(this.#made && this.#made + added),
      true,
    );
    this.#close();
    const diff = this.#shown.map((line) => `${line}\n`).join("");
    return { diff, ...(this.#more === 0 ? {} : { more: this.#more }) };
  }

  #isWindowFull(): boolean {
    const [old, made] = [this.#old.length, this.#made.length];
    return Math.min(old, made) >= WINDOW_CHARS || Math.max(old, made) >= MAX_HELD_CHARS;
  }

  /** Adds lines up to the last common one, and returns where that ends; all of them if there is none, or at the end. */
  #compare(old: readonly string[], made: readonly string[], isEnd = false) {
    let [oldEnd, madeEnd] = [0, 0];
    for (const [at, other] of commonPlaces(old, made)) {
      this.#change(old.slice(oldEnd, at), made.slice(madeEnd, other));
      this.#keep(old[at] ?? "");
      [oldEnd, madeEnd] = [at + 1, other + 1];
    }
    if (oldEnd > 0 && !isEnd) return [oldEnd, madeEnd];
    this.#change(old.slice(oldEnd), made.slice(madeEnd));
    return undefined;
  }

  /** Adds a line that is in both texts. */
  #keep(line: string): void {
    this.#oldLines++;
    this.#madeLines++;
    this.#context.push(line);
    if (this.#hunk === undefined && this.#context.length > CONTEXT) this.#context.shift();
    else if (this.#context.length > 2 * CONTEXT) this.#close();
  }

  /** Adds lines in one place of both texts. */
  #change(old: readonly string[], made: readonly string[]): void {
    if (old.length + made.length === 0) return;
    const context = this.#context.splice(0);
    if (this.#hunk === undefined) {
      const [oldStart, madeStart] = [
        this.#oldLines - context.length,
        this.#madeLines - context.length,
      ];
      this.#hunk = { at: this.#shown.length, old: oldStart, made: madeStart };
      this.#show("@@", [""]);
    }
    this.#show(" ", context);
    this.#show("-", old, made);
    this.#show("+", made, old);
    this.#oldLines += old.length;
    this.#madeLines += made.length;
  }

  #close(): void {
    const context = this.#context;
    this.#context = context.slice(-CONTEXT);
    if (this.#hunk === undefined) return;
    const { at, old, made } = this.#hunk;
    this.#hunk = undefined;
    const behind = context.slice(0, CONTEXT);
    this.#show(" ", behind);
    if (at === this.#maxLines) return;
    const left = context.length - behind.length;
    const ranges = [rangeOf(old, this.#oldLines - left), rangeOf(made, this.#madeLines - left)];
    this.#shown[at] = `@@ -${ranges.join(" +")} @@`;
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

/** Changed lines up to which the fewest are searched for, one line more and one less counting as two. */
const MAX_EDITS = 300;

/** Places of the same line in both. */
type Place = readonly [old: number, made: number];

/** Yields the most lines in common; if the changes are too many, those that both have once, and others between them. */
function* commonPlaces(old: readonly string[], made: readonly string[]): Generator<Place> {
  let [at, other] = [0, 0];
  const changes = diffArrays([...old], [...made], { maxEditLength: MAX_EDITS });
  for (const { count, added, removed } of changes ?? []) {
    for (let left = added || removed ? 0 : count; left > 0; left--) yield [at++, other++];
    if (removed) at += count;
    if (added) other += count;
  }
  if (changes !== undefined) return;
  for (const [oldEnd, madeEnd] of [...anchorsOf(old, made), [old.length, made.length] as const]) {
    // As many lines are compared one by one.
    if (oldEnd - at === madeEnd - other)
      for (; at < oldEnd; at++, other++) if (old[at] === made[other]) yield [at, other];
    if (oldEnd < old.length) yield [oldEnd, madeEnd];
    [at, other] = [oldEnd + 1, madeEnd + 1];
  }
}

interface Anchor {
  readonly place: Place;
  readonly before: Anchor | undefined;
}

/** Returns the places of lines that are once in both: the most that are in the same order. */
function anchorsOf(old: readonly string[], made: readonly string[]): readonly Place[] {
  const madePlaces = uniquePlaces(made);
  // The last one of the best row of each length.
  const ends: Anchor[] = [];
  for (const [line, place] of uniquePlaces(old)) {
    const other = madePlaces.get(line) ?? REPEATED;
    if (place === REPEATED || other === REPEATED) continue;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ends[middle]?.place[1] ?? Infinity) < other) low = middle + 1;
      else high = middle;
    }
    ends[low] = { place: [place, other], before: ends[low - 1] };
  }
  const anchors: Place[] = [];
  for (let one = ends.at(-1); one !== undefined; one = one.before) anchors.push(one.place);
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
