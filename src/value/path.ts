import { sliceCodePoints } from "./characters.ts";
import { countOf, isJsonArray, isJsonObject, type Json, typeOfJson } from "./json.ts";
import { Work } from "./work.ts";

/** One step into a value. `from` and `to` are a slice as defined by RFC 9535, with step 1. */
export type Segment =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly each: true }
  | { readonly from?: number; readonly to?: number };

/** The steps from a value to a place inside it, outermost first. Without steps, the value itself. */
export type Path = readonly Segment[];

/** The value at a path, or the part of the path that exists and what is there. */
export type Reading = { readonly found: true; readonly value: Json } | Missing;

interface Missing {
  readonly found: false;
  /** The longest existing prefix of the path. */
  readonly nearest: Path;
  /** The first keys at `nearest`, if it is an object. */
  readonly keys?: readonly string[];
  /** The length of `nearest`, if it is an array or a string. */
  readonly length?: number;
  /** The type of `nearest`, if it is a scalar. */
  readonly type?: string;
  /** The first element of `nearest`, if it is an array of which the path names a key. */
  readonly element?: Json;
}

/** Returns the value that was read, if there is one. */
export function valueIn(reading: Reading | undefined): Json | undefined {
  return reading?.found === true ? reading.value : undefined;
}

/**
 * Reads the value at a path, through own properties only. Copies nothing except slices and projections.
 * Throws `limit_exceeded` when `work` is used up.
 */
export function readPath(root: Json, path: Path, work = new Work()): Reading {
  let value = root;
  for (let position = 0; position < path.length; position++) {
    const segment = path[position];
    if (segment === undefined) break;
    const next = "each" in segment ? undefined : step(value, segment, work);
    if (next !== undefined) {
      value = next;
      continue;
    }
    const above = path.slice(0, position);
    const elements = "each" in segment ? elementsOf(value, work) : undefined;
    if (elements === undefined) return missing(value, above, { work, segment });
    const each = new EachReading(path.slice(position + 1), work);
    for (const element of elements) each.add(element);
    return below(each.reading(), above);
  }
  return { found: true, value };
}

/** Applies the path after `[*]` to elements, one at a time. */
export class EachReading {
  readonly #rest: Path;
  readonly #values: Json[] = [];
  /** The miss with the longest existing prefix, preferring one that has details. */
  #furthest: Missing | undefined;
  readonly #work: Work;

  constructor(rest: Path, work: Work) {
    this.#rest = rest;
    this.#work = work;
  }

  /** Returns the value in the element; undefined if the path does not exist there. */
  add(element: Json): Json | undefined {
    this.#work.spend(VISIT);
    const reading = readPath(element, this.#rest, this.#work);
    if (!reading.found) {
      const { nearest = [], keys, length } = this.#furthest ?? {};
      const hasNoDetails = keys === undefined && length === undefined;
      if (hasNoDetails || reading.nearest.length > nearest.length) this.#furthest = reading;
      return undefined;
    }
    this.#values.push(reading.value);
    return reading.value;
  }

  /** Elements without the path are omitted. If all of them lack it, the reading is a miss. */
  reading(): Reading {
    const furthest = this.#values.length > 0 ? undefined : this.#furthest;
    if (furthest === undefined) return { found: true, value: this.#values };
    return below(furthest, [{ each: true }]);
  }
}

/** Cost of a step to an element, in characters read. */
const VISIT = 20;

/** Converts a reading below `prefix` to one of the whole value. */
export function below(reading: Reading, prefix: Path): Reading {
  return reading.found ? reading : { ...reading, nearest: [...prefix, ...reading.nearest] };
}

function missing(
  value: Json,
  nearest: Path,
  { work, segment }: { readonly work: Work; readonly segment: Segment },
): Reading {
  if (isJsonArray(value))
    return missingIn({ length: value.length, first: value[0] }, segment, nearest);
  if (isJsonObject(value)) return { found: false, nearest, keys: work.keysOf(value) };
  const miss = { found: false, nearest, type: typeOfJson(value) } as const;
  if (typeof value !== "string") return miss;
  // Counting the characters of a text costs its length.
  work.spend(value.length);
  return { ...miss, length: countOf(value) };
}

/** The miss of a segment in an array. */
export function missingIn(
  { length, first }: { readonly length: number; readonly first?: Json | undefined },
  segment: Segment | undefined,
  nearest: Path = [],
): Reading {
  const isKey = segment !== undefined && "key" in segment;
  return { found: false, nearest, length, ...(isKey && first !== undefined && { element: first }) };
}

function elementsOf(value: Json, work: Work): readonly Json[] | undefined {
  if (isJsonArray(value)) return value;
  if (!isJsonObject(value)) return undefined;
  work.spend(1);
  const values = Object.values(value);
  work.spend(values.length);
  return values;
}

function step(
  value: Json,
  segment: Exclude<Segment, { each: true }>,
  work: Work,
): Json | undefined {
  if ("key" in segment) {
    return isJsonObject(value) && Object.hasOwn(value, segment.key)
      ? value[segment.key]
      : undefined;
  }
  if ("index" in segment) return isJsonArray(value) ? value.at(segment.index) : undefined;
  if (!isJsonArray(value) && typeof value !== "string") return undefined;
  const { from, to } = sliceBounds(segment, value.length);
  // In a text, characters are counted from either end.
  const counted = (bound = 0) => Math.min(Math.abs(bound), value.length);
  const isText = typeof value === "string";
  work.spend(VISIT);
  work.spend(isText ? counted(segment.from) + counted(segment.to) : to - from);
  return isText ? sliceCodePoints(value, segment) : value.slice(from, to);
}

/** The elements or characters from `from` up to, but not including, `to`: 0 ≤ `from` ≤ `to`. */
export interface Bounds {
  readonly from: number;
  readonly to: number;
}

export function isSlice(
  segment: Segment,
): segment is { readonly from?: number; readonly to?: number } {
  return !("key" in segment || "index" in segment || "each" in segment);
}

/** Returns a slice's bounds (RFC 9535) in a value of `count` elements or characters. */
export function sliceBounds(
  { from = 0, to }: { readonly from?: number; readonly to?: number },
  count: number,
): Bounds {
  const bounded = (bound: number) =>
    Math.min(Math.max(bound < 0 ? count + bound : bound, 0), count);
  const start = bounded(from);
  return { from: start, to: Math.max(to === undefined ? count : bounded(to), start) };
}

/** Formats a path as written after a name. `parsePath(formatPath(path))` returns the same path. */
export function formatPath(path: Path): string {
  return path.map(formatSegment).join("");
}

function formatSegment(segment: Segment): string {
  if ("key" in segment)
    return isPlainKey(segment.key) ? `.${segment.key}` : `[${quote(segment.key)}]`;
  if ("index" in segment) return `[${segment.index}]`;
  if ("each" in segment) return "[*]";
  return `[${segment.from ?? ""}:${segment.to ?? ""}]`;
}

/** True for a key that can follow a full stop without quotes. */
export function isPlainKey(key: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(key);
}

function quote(key: string): string {
  return `"${key.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
