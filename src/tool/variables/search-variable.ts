import * as limits from "../../limits.ts";
import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import type { Variables } from "../../store/variable-store.ts";
import { codePointCount, cutsPair } from "../../value/characters.ts";
import { compact, isScalar, type Json, isJsonArray, typeOfJson } from "../../value/json.ts";
import { type Path, type Segment, formatPath, readPath } from "../../value/path.ts";
import { Breaks, nextTask } from "../../value/next-task.ts";
import { Work } from "../../value/work.ts";
import { jsonChars } from "../../value/json-text.ts";
import { MAX_COUNT, type RuntimeTool, runtimeTool } from "../runtime-tool.ts";
import { childrenOf, type Part, partAt, type Sequence, valueAt } from "./sequence.ts";
import { nameOf, readable, referenceTo, type Target, targetIn } from "./variable-target.ts";

const DEFAULT_HITS = 10;

const inputSchema = z.object({
  name: z.string(),
  query: z.string(),
  path: z.string().optional(),
  top_k: z.int().min(1).max(limits.maxShownItems).optional(),
  offset: z.int().min(0).max(MAX_COUNT).optional(),
});

/** `maxWork` limits the work of one call: about twice the number of characters to search. */
export function searchVariable(maxWork: number = limits.maxReadWork): RuntimeTool {
  return runtimeTool({
    name: "search_variable",
    description: "Search a variable or part. `next` goes on.",
    offeredFrom: "text",
    unlisted: ["path", "top_k"],
    inputSchema,
    async execute(input, { store }) {
      const target = targetIn(input.name, input.path);
      const info = readable(store, target.name);
      if (info.type === "bytes") {
        throw new ByrefError("bad_value", `$${info.name} is bytes, and has no text.`);
      }
      const { query, top_k, offset = 0 } = input;
      const repeated = compact({ name: nameOf(target), query, top_k });
      const findings = new Findings(target, repeated, top_k ?? DEFAULT_HITS);
      await run(store, { target, matcher: new Matcher(query), findings, maxWork, offset });
      return { output: findings.output(), untrusted: !info.trusted };
    },
  });
}

interface Search {
  readonly target: Target;
  readonly matcher: Matcher;
  readonly findings: Findings;
  readonly maxWork: number;
  /** The element, key or character at which the search begins. */
  readonly offset: number;
}

/** What was searched at once: one element or key, or a text up to a match or the end of a slice. */
interface Searched {
  /** Its element, key or character, from which another search finds the same. */
  readonly from: number;
  /** Where the search continues. */
  readonly next: number;
  readonly place: Path;
  /** The first matches. */
  readonly hits: readonly Hit[];
  /** The number of all matches. */
  readonly count: number;
}

/** A match as a reference, with the surrounding text. */
interface Hit {
  readonly reference: string;
  readonly excerpt: string;
}

/**
 * Searches a path with `[*]` element by element, so that each match has a path of its own. Stops after an element, or a
 * part of a text, with which the work reaches its limit.
 */
async function run(store: Variables, search: Search): Promise<void> {
  const { target, matcher, findings, maxWork, offset } = search;
  const { name, path } = target;
  const at = path.findIndex((segment) => "each" in segment);
  const base = at < 0 ? path : path.slice(0, at);
  const part = await partAt(store, { name, path: base });
  const sequence = "sequence" in part ? part.sequence : undefined;
  const isText = sequence?.type === "string";
  // A text has no elements: this throws the error for that.
  if (isText && at >= 0) await valueAt(store, target);
  const isScalarPart = "value" in part && isScalar(part.value);
  const rest = at < 0 && !isScalarPart ? undefined : path.slice(base.length + 1);
  const searched = isText ? searchText(sequence, search) : searchJson(part, { base, rest }, search);
  const breaks = new Breaks();
  let work = 0;
  for await (const one of searched) {
    if (work > maxWork) {
      const of = sequence === undefined ? "" : ` of ${sequence.count}`;
      return findings.stop(one.from, `before ${one.from}${of}`);
    }
    findings.add(one);
    work = matcher.work + (one.next - offset) * (sequence?.averageChars ?? 1);
    if (breaks.areDue(work)) await nextTask();
  }
}

/** Collects matches in an output of limited size, with the position at which to continue. */
class Findings {
  readonly #hits: Hit[] = [];
  readonly #call: Readonly<Record<string, Json>>;
  readonly #target: Target;
  readonly #maxHits: number;
  #total = 0;
  /** Where the next search continues. Set if not all matches are shown. */
  #next: number | undefined;
  #stopped: string | undefined;
  #more: string | undefined;

  constructor(target: Target, call: Readonly<Record<string, Json>>, maxHits: number) {
    this.#target = target;
    this.#call = call;
    this.#maxHits = maxHits;
  }

  /** Adds all matches of an element or none, unless they are the first. */
  add({ from, next, place, hits, count }: Searched): void {
    this.#total += count;
    if (this.#next !== undefined || count === 0) return;
    const before = this.#hits.length;
    if (hits.every((hit) => this.#add(hit)) && hits.length === count) return;
    if (before > 0) {
      this.#hits.length = before;
      this.#next = from;
      return;
    }
    this.#next = next;
    const reference = nearestReference(this.#target.name, place);
    this.#more = `${reference} has ${count - this.#hits.length} more: search there, or for less.`;
  }

  stop(next: number, why: string): void {
    this.#stopped = why;
    this.#next ??= next;
  }

  output(): Record<string, Json> {
    const total = this.#total;
    return compact({
      reference: referenceTo(this.#target),
      matches: this.#hits.map(({ reference, excerpt }) => ({ reference, excerpt })),
      ...(this.#stopped === undefined ? { total } : { found: total, stopped: this.#stopped }),
      more: this.#more,
      next: this.#next === undefined ? undefined : { ...this.#call, offset: this.#next },
    });
  }

  #add(hit: Hit): boolean {
    if (this.#hits.length === this.#maxHits) return false;
    this.#hits.push(hit);
    const output = { ...this.output(), next: this.#call };
    if (jsonChars(output, Infinity) + RESERVED_CHARS <= limits.maxVariableOutputChars) return true;
    this.#hits.pop();
    return false;
  }
}

/** Reserved for facts about the search: numbers, the reason why it stopped, and one reference. */
const RESERVED_CHARS = 900;

/** A range in UTF-16 offsets that never splits a surrogate pair. */
interface TextMatch {
  readonly start: number;
  readonly end: number;
}

/** Finds a text in others, in any case. Cost: linear in their length. */
export class Matcher {
  readonly #query: string;
  /** The last folded text, because the search continues in it. */
  #last = { text: "", folded: "" };
  /** Characters examined so far. */
  work = 0;

  /** Throws `invalid_tool_input` for a query that is empty or too long. */
  constructor(query: string) {
    if (query === "") throw new ByrefError("invalid_tool_input", "The query is empty.");
    if (query.length > limits.maxLineChars) {
      const message = `A query has at most ${limits.maxLineChars} characters.`;
      throw new ByrefError("invalid_tool_input", message);
    }
    this.#query = folded(query);
  }

  /** Returns the first match that begins at `from` or later; undefined if there is none. */
  find(text: string, from: number): TextMatch | undefined {
    if (this.#last.text !== text) this.#last = { text, folded: folded(text) };
    for (let at = from; ;) {
      const start = this.#last.folded.indexOf(this.#query, at);
      this.work += (start < 0 ? text.length : start) - at;
      if (start < 0) return undefined;
      const end = start + this.#query.length;
      if (!cutsPair(text, start) && !cutsPair(text, end)) return { start, end };
      at = start + 1;
    }
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

interface SearchPaths {
  /** The path of the array or object. */
  readonly base: Path;
  /** The path to search below each element; undefined: all of the element, keys included. */
  readonly rest: Path | undefined;
}

/** Searches strings, numbers and keys, element by element. Each has at most one match. */
async function* searchJson(
  part: Part,
  { base, rest }: SearchPaths,
  { target: { name }, matcher, offset }: Search,
): AsyncGenerator<Searched> {
  const work = new Work();
  let from = offset;
  for await (const { path, value } of elementsOf(part, base, offset)) {
    const hits: Hit[] = [];
    let count = 0;
    const texts = rest === undefined ? textsIn(path, value) : textsAt(path, value, { rest, work });
    for (const written of texts) {
      const match = matcher.find(written.text, 0);
      if (match === undefined || count++ >= limits.maxShownItems) continue;
      const reference = nearestReference(name, written.path);
      hits.push({ reference, excerpt: excerptOf(written.text, windowOf(written.text, match)) });
    }
    yield { from, next: ++from, place: path, hits, count };
  }
}

interface Placed {
  readonly path: Path;
  readonly value: Json;
}

/** Yields the elements or values of a part with their paths in the variable; a scalar itself. */
async function* elementsOf(part: Part, base: Path, offset: number): AsyncGenerator<Placed> {
  if ("value" in part && isScalar(part.value)) yield { path: base, value: part.value };
  for await (const { path: step, value } of childrenOf(part, offset)) {
    const isElement = "sequence" in part && "index" in step;
    yield { path: isElement ? await part.sequence.pathOf(step.index) : [...base, step], value };
  }
}

interface Written {
  readonly path: Path;
  readonly text: string;
}

/** Yields the strings, numbers and keys in an element; the value's own key first. */
function* textsIn(path: Path, value: Json): Generator<Written> {
  const last = path.at(-1);
  if (last !== undefined && "key" in last) yield { path, text: last.key };
  yield* textsBelow(path, value);
}

function* textsBelow(path: Path, value: Json): Generator<Written> {
  if (typeof value === "string") yield { path, text: value };
  if (typeOfJson(value) === "number") yield { path, text: JSON.stringify(value) };
  for (const [segment, inner] of childrenIn(value)) yield* textsIn([...path, segment], inner);
}

interface RestOfPath {
  /** The path to search below the value, `[*]` included. */
  readonly rest: Path;
  /** Counts the work of following it. */
  readonly work: Work;
}

/** Yields the texts in the values that the rest of a path leads to. */
function* textsAt(path: Path, value: Json, { rest, work }: RestOfPath): Generator<Written> {
  const at = rest.findIndex((segment) => "each" in segment);
  const prefix = at < 0 ? rest : rest.slice(0, at);
  const reading = readPath(value, prefix, work);
  if (!reading.found) return;
  const place = [...path, ...prefix];
  if (at < 0) return yield* textsBelow(place, reading.value);
  for (const [segment, inner] of childrenIn(reading.value)) {
    yield* textsAt([...place, segment], inner, { rest: rest.slice(at + 1), work });
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

const CHARS_BEFORE = 40;
const CHARS_AFTER = 100;
const MAX_EXCERPT_CHARS = 240;

/** Returns a part of a text, with marks where its lines go on. */
function excerptOf(text: string, { start, end }: TextMatch): string {
  const isCut = (at: number, inside: number) =>
    at > 0 && at < text.length && text[at - 1 + inside] !== "\n";
  const shown = text.slice(start, end).toWellFormed();
  return `${isCut(start, 0) ? "…" : ""}${shown}${isCut(end, 1) ? "…" : ""}`;
}

/** Returns the match with what surrounds it in its lines, from `first` on, without splitting a surrogate pair. */
function windowOf(text: string, match: TextMatch, first = 0): TextMatch {
  const from = Math.max(match.start - CHARS_BEFORE, first);
  const start = from + text.slice(from, match.start).lastIndexOf("\n") + 1;
  const behind = text.slice(
    match.end,
    Math.min(match.end + CHARS_AFTER, start + MAX_EXCERPT_CHARS),
  );
  const lineBreak = behind.indexOf("\n");
  const end = match.end + (lineBreak < 0 ? behind.length : lineBreak);
  return {
    start: cutsPair(text, start) ? start + 1 : start,
    end: cutsPair(text, end) ? end - 1 : end,
  };
}

/** Number of characters loaded at once. */
const SLICE = 262_144;
/** UTF-16 units at the end of a slice that are searched with the next one: more than a match with its surroundings. */
const KEPT_UNITS = 1_024;

/** Searches a text from character `offset` on, match by match. Holds one slice at a time. */
async function* searchText(
  sequence: Sequence,
  { target: { name }, matcher, offset }: Search,
): AsyncGenerator<Searched> {
  const { count } = sequence;
  let from = Math.min(offset, count);
  let text = "";
  for (let at = from; at < count;) {
    const to = Math.min(at + SLICE, count);
    text += String(await sequence.slice(at, to));
    at = to;
    const end = at < count ? text.length - KEPT_UNITS : text.length;
    let passed = 0;
    for (;;) {
      const match = matcher.find(text, passed);
      if (match === undefined || match.start >= end) break;
      const shown = windowOf(text, match, passed);
      const first = from + codePointCount(text.slice(passed, shown.start));
      const next = first + codePointCount(text.slice(shown.start, shown.end));
      const place = sequence.pathOfSlice(first, next);
      const hit = { reference: nearestReference(name, place), excerpt: excerptOf(text, shown) };
      yield { from, next, place, hits: [hit], count: 1 };
      from = next;
      passed = shown.end;
    }
    // Of what was searched, the start of a next match's surroundings stays.
    let left = Math.max(passed, at < count ? end - CHARS_BEFORE - 1 : end);
    if (cutsPair(text, left)) left--;
    const before = from;
    from += codePointCount(text.slice(passed, left));
    text = text.slice(left);
    yield { from: before, next: from, place: [], hits: [], count: 0 };
  }
}
