import * as limits from "../../limits.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { Variables } from "../../store/variable-store.ts";
import { compact, isScalar, type Json, isJsonArray, typeOfJson } from "../../value/json.ts";
import { type Path, type Segment, formatPath, readPath } from "../../value/path.ts";
import { Breaks, nextTask } from "../../value/next-task.ts";
import { Work } from "../../value/work.ts";
import { charsOf, MAX_COUNT, runtimeTool } from "../runtime-tool.ts";
import { childrenOf, type Part, partAt, type Sequence, valueAt } from "./sequence.ts";
import {
  inspect,
  nameOf,
  readable,
  referenceTo,
  type Target,
  targetIn,
} from "./variable-target.ts";
import { codePointCount, cutsPair } from "../../value/characters.ts";

export interface SearchOptions {
  /** Work limit of one call, about twice the number of characters to search. */
  readonly maxWork?: number;
}

const DEFAULT_HITS = 10;

const inputSchema = z.object({
  name: z.string(),
  query: z.string(),
  path: z.string().optional(),
  match_case: z.boolean().optional(),
  top_k: z.int().min(1).max(limits.maxShownItems).optional(),
  offset: z.int().min(0).max(MAX_COUNT).optional(),
});

export function searchVariable({ maxWork = limits.maxReadWork }: SearchOptions = {}) {
  return runtimeTool({
    name: "search_variable",
    description: "Search a variable or part. `next` goes on.",
    offeredFrom: "text",
    unlisted: ["path", "match_case", "top_k"],
    inputSchema,
    async execute(input, { store }) {
      const target = targetIn(input.name, input.path);
      const info = readable(store, target.name);
      if (info.type === "bytes") {
        throw new ByrefError("bad_value", `$${info.name} is bytes, and has no text.`);
      }
      const matcher = matcherFor(input.query, {
        matchCase: input.match_case === true,
      });
      const { query, match_case, top_k } = input;
      const repeated = compact({ name: nameOf(target), query, match_case, top_k });
      const findings = new Findings(repeated, { target, maxHits: top_k ?? DEFAULT_HITS });
      const search: Search = { target, matcher, findings, maxWork, offset: input.offset ?? 0 };
      await inspect(info, target, () => run(store, search));
      return { output: findings.output(), untrusted: !info.trusted };
    },
  });
}

interface Search {
  readonly target: Target;
  readonly matcher: Matcher;
  readonly findings: Findings;
  readonly maxWork: number;
  readonly offset: number;
}

/** Searches a path with `[*]` element by element, so that each match has a path of its own. */
async function run(store: Variables, search: Search): Promise<void> {
  const { name, path } = search.target;
  const at = path.findIndex((segment) => "each" in segment);
  const base = at < 0 ? path : path.slice(0, at);
  const part = await partAt(store, { name, path: base });
  const isText = "sequence" in part && part.sequence.type === "string";
  // A text has no elements: this throws the error for that.
  if (isText && at >= 0) await valueAt(store, search.target);
  if (isText) return runOnText(search, part.sequence);
  const rest = at < 0 ? undefined : path.slice(at + 1);
  return runOnJson(search, part, { base, rest });
}

async function runOnText(search: Search, sequence: Sequence): Promise<void> {
  const { target, matcher, findings, maxWork, offset } = search;
  const referenceTo = (from: number, to: number) =>
    nearestReference(target.name, sequence.pathOfSlice(from, to));
  const breaks = new Breaks();
  for await (const found of searchText({ sequence, matcher, referenceTo }, offset)) {
    if ("reference" in found) findings.addAlone(found, found.next);
    else if (matcher.work + found.next - offset > maxWork && found.next < sequence.count) {
      findings.stop(found.next, `before character ${found.next} of ${sequence.count}`);
      return;
    }
    if (breaks.areDue(found.next - offset)) await nextTask();
  }
}

interface SearchPaths {
  /** The path of the array or object. */
  readonly base: Path;
  /** The path to search below each element; undefined: all of the element, keys included. */
  readonly rest: Path | undefined;
}

async function runOnJson(search: Search, part: Part, { base, rest }: SearchPaths): Promise<void> {
  const { target, matcher, findings, maxWork, offset } = search;
  const charsOfOne = "sequence" in part ? part.sequence.averageChars : 1;
  let unit = offset;
  const work = () => matcher.work + (unit - offset) * charsOfOne;
  const isOver = () => work() > maxWork;
  const breaks = new Breaks();
  const json: JsonSearch = {
    name: target.name,
    matcher,
    rest: rest ?? [],
    isOver,
    work: new Work(),
  };
  if ("value" in part && isScalar(part.value)) {
    return findings.addUnit(firstOf(hitsIn(json, base, part.value)), { unit, base });
  }
  const pathOf = await pathsIn(part, base);
  for await (const { path: step, value } of childrenOf(part, offset)) {
    const path = pathOf(step);
    const found = rest === undefined ? hitsUnder(json, path, value) : hitsIn(json, path, value);
    const hits = firstOf(found);
    // A unit that was searched only in part is searched again, unless it alone exceeds the limit.
    if (isOver() && unit > offset) return findings.stop(unit, `before ${unit}`);
    findings.addUnit(hits, { unit, base: path });
    if (isOver()) {
      const place = nearestReference(target.name, path);
      return findings.stop(unit + 1, `in ${place}, which is too large: search a part of it`);
    }
    unit++;
    if (breaks.areDue(work())) await nextTask();
  }
}

/** Returns the path of each element or key in the variable. Elements of a slice are offset by its start. */
async function pathsIn(part: Part, base: Path): Promise<(step: Segment) => Path> {
  if ("value" in part) return (step) => [...base, step];
  const start = await part.sequence.pathOf(0);
  const first = start.at(-1);
  const shift = first !== undefined && "index" in first ? first.index : 0;
  const above = start.slice(0, -1);
  return (step) => [...above, "index" in step ? { index: step.index + shift } : step];
}

interface Hits {
  readonly first: readonly Hit[];
  readonly count: number;
}

/** Collects the first matches and counts the others. */
function firstOf(hits: Iterable<Hit>): Hits {
  const first: Hit[] = [];
  let count = 0;
  for (const hit of hits) if (count++ < limits.maxShownItems) first.push(hit);
  return { first, count };
}

interface Unit {
  /** Its number, from which a search can continue. */
  readonly unit: number;
  readonly base: Path;
}

/** Collects matches in an output of limited size, with the position at which to continue. */
class Findings {
  readonly #hits: Hit[] = [];
  readonly #call: Readonly<Record<string, Json>>;
  readonly #target: Target;
  readonly #maxHits: number;
  #charsLeft: number;
  #total = 0;
  #next: number | undefined;
  #stopped: string | undefined;
  #more: string | undefined;
  /** True if a match was found that is not shown. */
  #isFull = false;
  /** Position after the shown matches, where the next search continues. */
  #last: number | undefined;

  constructor(
    call: Readonly<Record<string, Json>>,
    { target, maxHits }: { readonly target: Target; readonly maxHits: number },
  ) {
    this.#call = call;
    this.#target = target;
    this.#maxHits = maxHits;
    this.#charsLeft =
      limits.maxVariableOutputChars - charsOf({ ...this.output(), next: call }) - RESERVED_CHARS;
  }

  /** Adds a match after which the search can continue at `next`. */
  addAlone(hit: Hit, next: number): void {
    this.#total++;
    if (this.#isFull) return;
    if (this.#add(hit)) this.#last = next;
    else this.#isFull = true;
  }

  /** Adds all matches of one element or none, unless it is the first element. */
  addUnit({ first, count }: Hits, { unit, base }: Unit): void {
    this.#total += count;
    if (this.#isFull || count === 0) return;
    const before = this.#hits.length;
    const isWhole = first.every((hit) => this.#add(hit)) && first.length === count;
    if (isWhole) return;
    this.#isFull = true;
    if (before > 0) {
      this.#hits.length = before;
      this.#next = unit;
      return;
    }
    this.#next = unit + 1;
    const place = nearestReference(this.#target.name, base);
    this.#more = `${place} has ${count - this.#hits.length} more: search there, or for less.`;
  }

  stop(next: number, why: string): void {
    this.#stopped = why;
    this.#next ??= this.#isFull ? this.#last : next;
  }

  output(): Record<string, Json> {
    const isAll = this.#stopped === undefined && this.#total === this.#hits.length;
    const next = this.#next ?? this.#last;
    return compact({
      reference: referenceTo(this.#target),
      matches: this.#hits.map(({ reference, excerpt }) => ({ reference, excerpt })),
      ...(this.#stopped === undefined
        ? { total: this.#total }
        : { found: this.#total, stopped: this.#stopped }),
      more: this.#more,
      next: isAll || next === undefined ? undefined : { ...this.#call, offset: next },
    });
  }

  #add(hit: Hit): boolean {
    const chars = charsOf({ reference: hit.reference, excerpt: hit.excerpt }) + 1;
    if (this.#hits.length >= this.#maxHits || chars > this.#charsLeft) return false;
    this.#charsLeft -= chars;
    this.#hits.push(hit);
    return true;
  }
}

/** Reserved for facts about the search: numbers, the reason why it stopped, and one reference. */
const RESERVED_CHARS = 900;

/** A range in UTF-16 offsets that never splits a surrogate pair. */
export interface TextMatch {
  readonly start: number;
  readonly end: number;
}

/** Throws `invalid_tool_input` for a query that is empty or too long. */
export function matcherFor(query: string, options: { readonly matchCase: boolean }): Matcher {
  if (query === "") throw new ByrefError("invalid_tool_input", "The query is empty.");
  if (query.length > limits.maxLineChars) {
    const message = `A query has at most ${limits.maxLineChars} characters.`;
    throw new ByrefError("invalid_tool_input", message);
  }
  return new Matcher(query, options.matchCase);
}

/** Finds a text in others. Cost: linear in their length. */
export class Matcher {
  readonly #query: string;
  readonly #matchCase: boolean;
  /** The last folded text, because the search continues in it. */
  #last: { readonly text: string; readonly folded: string } | undefined;
  /** Characters examined so far. */
  work = 0;

  constructor(query: string, matchCase: boolean) {
    this.#matchCase = matchCase;
    this.#query = matchCase ? query : folded(query);
  }

  /** Returns the first match that begins at `from` or later; undefined if there is none. */
  find(text: string, from: number): TextMatch | undefined {
    const within = this.#folded(text);
    for (let at = from; ;) {
      const start = within.indexOf(this.#query, at);
      this.work += (start < 0 ? text.length : start) - at;
      if (start < 0) return undefined;
      const end = start + this.#query.length;
      if (!cutsPair(text, start) && !cutsPair(text, end)) return { start, end };
      at = start + 1;
    }
  }

  #folded(text: string): string {
    if (this.#matchCase) return text;
    if (this.#last?.text !== text) this.#last = { text, folded: folded(text) };
    return this.#last.folded;
  }
}

/** Lower case of the same length, so that offsets stay valid. Both small sigmas are treated as one. */
function folded(text: string): string {
  const lower = text.toLowerCase();
  const aligned =
    lower.length === text.length
      ? lower
      : Array.from(text, (character) => {
          const small = character.toLowerCase();
          return small.length === character.length ? small : character;
        }).join("");
  return aligned.replaceAll("ς", "σ");
}

/** A match as a reference, with the surrounding text. */
interface Hit {
  readonly reference: string;
  readonly excerpt: string;
}

const CHARS_BEFORE = 40;
const CHARS_AFTER = 100;
const MAX_EXCERPT_CHARS = 240;

interface JsonSearch {
  readonly name: string;
  readonly matcher: Matcher;
  /** The path to search below each value, `[*]` included. */
  readonly rest: Path;
  /** True if the work limit is reached; the rest is then not searched. */
  readonly isOver: () => boolean;
  /** Counts the work of following paths below each element. */
  readonly work: Work;
}

/** Yields matches in the strings, numbers and keys of the value at `path`, at most one for each. */
function* hitsIn(search: JsonSearch, path: Path, value: Json): Generator<Hit> {
  for (const place of placesIn(value, { path, ...search })) {
    yield* hitsBelow(search, place.path, place.value);
  }
}

/** Yields matches in the values under an object's keys, and in the keys. */
function* hitsUnder(search: JsonSearch, path: Path, value: Json): Generator<Hit> {
  const last = path.at(-1);
  if (last !== undefined && "key" in last) {
    const match = search.matcher.find(last.key, 0);
    if (match !== undefined) yield hit(search, path, { text: last.key, match });
  }
  yield* hitsBelow(search, path, value);
}

interface Place {
  readonly path: Path;
  readonly value: Json;
}

/** Yields the values that the rest of a path leads to, each with a path of its own. */
function* placesIn(
  value: Json,
  { path, rest, work }: Pick<JsonSearch, "rest" | "work"> & { readonly path: Path },
): Generator<Place> {
  const at = rest.findIndex((segment) => "each" in segment);
  const prefix = at < 0 ? rest : rest.slice(0, at);
  const reading = readPath(value, prefix, work);
  if (!reading.found) return;
  const prefixPath = [...path, ...prefix];
  if (at < 0) {
    yield { path: prefixPath, value: reading.value };
    return;
  }
  for (const [segment, inner] of childrenIn(reading.value)) {
    yield* placesIn(inner, { path: [...prefixPath, segment], rest: rest.slice(at + 1), work });
  }
}

function* childrenIn(value: Json): Generator<[Segment, Json]> {
  if (isScalar(value)) return;
  if (isJsonArray(value)) {
    for (const [index, element] of value.entries()) yield [{ index }, element];
    return;
  }
  for (const [key, inner] of Object.entries(value)) yield [{ key }, inner];
}

function* hitsBelow(search: JsonSearch, path: Path, value: Json): Generator<Hit> {
  if (search.isOver()) return;
  if (isScalar(value)) {
    const text = typeOfJson(value) === "number" ? JSON.stringify(value) : value;
    const match = typeof text === "string" ? search.matcher.find(text, 0) : undefined;
    if (match !== undefined && typeof text === "string") yield hit(search, path, { text, match });
    return;
  }
  for (const [segment, inner] of childrenIn(value)) {
    yield* hitsUnder(search, [...path, segment], inner);
  }
}

function hit(
  { name }: JsonSearch,
  path: Path,
  { text, match }: { readonly text: string; readonly match: TextMatch },
): Hit {
  return { reference: nearestReference(name, path), excerpt: excerptOf(text, match) };
}

/**
 * Returns a reference to the place or, if it cannot be written because of its length or a line break in a
 * key, to the nearest container.
 */
function nearestReference(name: string, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const start = path.slice(0, length);
    const hasLineBreak = start.some((segment) => "key" in segment && /[\r\n]/.test(segment.key));
    const reference = `$${name}${formatPath(start)}`;
    if (!hasLineBreak && reference.length < limits.maxHeldChars) return reference;
  }
  return `$${name}`;
}

/** Returns the match with the surrounding text. */
function excerptOf(text: string, match: TextMatch): string {
  const { start, end } = windowOf(text, match);
  const shown = text.slice(start, end).toWellFormed();
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}

/** Returns the range of an excerpt, without splitting a surrogate pair at either end. */
function windowOf(text: string, match: TextMatch): TextMatch {
  const start = Math.max(match.start - CHARS_BEFORE, 0);
  const end = Math.min(match.end + CHARS_AFTER, start + MAX_EXCERPT_CHARS, text.length);
  return {
    start: cutsPair(text, start) ? start + 1 : start,
    end: cutsPair(text, end) ? end - 1 : end,
  };
}

/** Number of characters loaded at once. */
const SLICE = 262_144;
/** Characters of an unfinished line that are kept, so that a match across two slices is found. */
const KEPT_CHARS = 4_096;

interface TextHit extends Hit {
  /** The character after the excerpt, where the search continues. */
  readonly next: number;
}

interface TextSearch {
  readonly sequence: Sequence;
  readonly matcher: Matcher;
  readonly referenceTo: (from: number, to: number) => string;
}

/**
 * Yields the matches in a text from character `offset` on, each with the surrounding characters of its line.
 * After each slice, yields its progress without a hit. Holds one slice at a time.
 */
async function* searchText(
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

/** Returns the offset after the last line break; in a very long line, the start of the part that is kept. */
function endOfLines(text: string): number {
  const end = text.lastIndexOf("\n") + 1;
  const isNear = text.length - end <= SLICE;
  if (end > 0 && isNear) return end;
  const cut = Math.max(text.length - KEPT_CHARS, 0);
  return (text.codePointAt(cut - 1) ?? 0) > 0xffff ? cut - 1 : cut;
}

interface Piece {
  readonly text: string;
  /** Text after this offset is repeated in the next piece. */
  readonly end: number;
  /** Number of the character at which the piece begins. */
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

/** Maximum characters of a line to examine, because a line may be the whole text. */
const MAX_LINE_CHARS = 500;

/** Returns the line of the match, or a part of a very long line, starting at `first` or later. */
function lineAround(text: string, match: TextMatch, first: number) {
  const from = Math.max(match.start - MAX_LINE_CHARS, first);
  const lineStart = from + text.slice(from, match.start).lastIndexOf("\n") + 1;
  const behind = text.slice(match.end, match.end + MAX_LINE_CHARS);
  const lineBreak = behind.indexOf("\n");
  const length = lineBreak < 0 ? behind.length : lineBreak;
  return { lineStart, line: text.slice(lineStart, match.end + length) };
}
