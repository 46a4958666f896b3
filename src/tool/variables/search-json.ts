import * as limits from "../../limits.ts";
import { cutsPair } from "../../value/characters.ts";
import { isJsonArray, isScalar, type Json } from "../../value/json.ts";
import { formatPath, type Path, readPath, type Segment } from "../../value/path.ts";
import type { Work } from "../../value/work.ts";
import type { Matcher, TextMatch } from "./matcher.ts";

/** Where something was found, as a reference, and what stands around it. */
export interface Hit {
  readonly reference: string;
  readonly excerpt: string;
}

const CHARS_BEFORE = 40;
const CHARS_AFTER = 100;
const MAX_EXCERPT_CHARS = 240;

export interface JsonSearch {
  readonly name: string;
  readonly matcher: Matcher;
  /** The path that is searched below each value, `[*]` included. */
  readonly rest: Path;
  /** Enough was done: what is left is not looked at. */
  readonly isOver: () => boolean;
  /** Counts what paths below each element visit. */
  readonly work: Work;
}

/** Matches in the strings, numbers and keys of a value that lies at `path`: one for each at most. */
export function* hitsIn(search: JsonSearch, path: Path, value: Json): Generator<Hit> {
  for (const place of placesIn(value, { path, ...search })) {
    yield* hitsBelow(search, place.path, place.value);
  }
}

/** The same for what lies under a key of an object, the key included. */
export function* hitsUnder(search: JsonSearch, path: Path, value: Json): Generator<Hit> {
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

/** What the rest of a path leads to, each place with a path of its own. */
function* placesIn(
  value: Json,
  { path, rest, work }: Pick<JsonSearch, "rest" | "work"> & { readonly path: Path },
): Generator<Place> {
  const at = rest.findIndex((segment) => "each" in segment);
  const straight = at < 0 ? rest : rest.slice(0, at);
  const reading = readPath(value, straight, work);
  if (!reading.found) return;
  const there = [...path, ...straight];
  if (at < 0) {
    yield { path: there, value: reading.value };
    return;
  }
  for (const [segment, inner] of childrenIn(reading.value)) {
    yield* placesIn(inner, { path: [...there, segment], rest: rest.slice(at + 1), work });
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
    const text = typeof value === "number" ? String(value) : value;
    const match =
      typeof text === "string" ? search.matcher.find(text, 0, search.isOver) : undefined;
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

/** Of a place that cannot be written, because of a line break in a key or its length, what it is in. */
export function nearestReference(name: string, path: Path): string {
  for (let length = path.length; length > 0; length--) {
    const start = path.slice(0, length);
    const hasLineBreak = start.some((segment) => "key" in segment && /[\r\n]/.test(segment.key));
    const reference = `$${name}${formatPath(start)}`;
    if (!hasLineBreak && reference.length < limits.maxHeldChars) return reference;
  }
  return `$${name}`;
}

/** The match and what stands around it. */
function excerptOf(text: string, match: TextMatch): string {
  const { start, end } = windowOf(text, match);
  const shown = text.slice(start, end).toWellFormed();
  return `${start > 0 ? "…" : ""}${shown}${end < text.length ? "…" : ""}`;
}

/** The part of the text that an excerpt shows, no half of a surrogate pair at either end. */
export function windowOf(text: string, match: TextMatch): TextMatch {
  const start = Math.max(match.start - CHARS_BEFORE, 0);
  const end = Math.min(match.end + CHARS_AFTER, start + MAX_EXCERPT_CHARS, text.length);
  return {
    start: cutsPair(text, start) ? start + 1 : start,
    end: cutsPair(text, end) ? end - 1 : end,
  };
}
