import { isDigit, isWordCode, sliceCodePoints } from "./characters.ts";
import { countOf, isJsonArray, isJsonObject, type Json } from "./json.ts";

/** One step into a value. `from` and `to` are a slice as RFC 9535 defines it, step 1. */
export type Segment =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly each: true }
  | { readonly from?: number; readonly to?: number };

/** From a value to a place inside of it, outermost step first; of no steps, the value itself. */
export type Path = readonly Segment[];

/** What a path led to, or how far it led and what is there. */
export type Reading = { readonly found: true; readonly value: Json } | Missing;

interface Missing {
  readonly found: false;
  /** The longest start of the path that exists. */
  readonly nearest: Path;
  /** The keys there, if it is an object. */
  readonly keys?: readonly string[];
  /** The elements or characters there, if it is an array or a string. */
  readonly length?: number;
}

/** The value at the end of the path; own properties only. Nothing is copied but slices and projections. */
export function readPath(root: Json, path: Path): Reading {
  let value = root;
  for (let position = 0; position < path.length; position++) {
    const segment = path[position];
    if (segment === undefined) break;
    if ("each" in segment) return readEach(value, path, position);
    const next = step(value, segment);
    if (next === undefined) return missing(value, path.slice(0, position));
    value = next;
  }
  return { found: true, value };
}

function readEach(value: Json, path: Path, position: number): Reading {
  const elements = elementsOf(value);
  if (elements === undefined) return missing(value, path.slice(0, position));
  const each = new EachReading(path.slice(position + 1));
  for (const element of elements) each.add(element);
  return below(each.reading(), path.slice(0, position));
}

/** What `[*]` and the rest of the path find in elements that come one after the other. */
export class EachReading {
  readonly #rest: Path;
  readonly #values: Json[] = [];
  readonly #missed: Missing[] = [];

  constructor(rest: Path) {
    this.#rest = rest;
  }

  /** What was found in the element, if it has the rest of the path. */
  add(element: Json): Json | undefined {
    const reading = readPath(element, this.#rest);
    if (!reading.found) {
      if (this.#missed.length < MAX_MISSED) this.#missed.push(reading);
      return undefined;
    }
    this.#values.push(reading.value);
    return reading.value;
  }

  /** Elements that lack the rest are left out; if all of them lack it, the path leads nowhere. */
  reading(): Reading {
    const isFound = this.#values.length > 0 || this.#missed.length === 0;
    if (isFound) return { found: true, value: this.#values };
    return below(furthestOf(this.#missed), [{ each: true }]);
  }
}

/** The first ones say enough about what is there. */
const MAX_MISSED = 20;

/** The miss that came furthest, unless it is of a value of which nothing can be told. */
function furthestOf(missed: readonly Missing[]): Missing {
  let furthest: Missing = { found: false, nearest: [] };
  for (const reading of missed) {
    const tellsNothing = furthest.keys === undefined && furthest.length === undefined;
    if (tellsNothing || reading.nearest.length > furthest.nearest.length) furthest = reading;
  }
  return furthest;
}

/** A reading inside of what lies at `prefix`, as seen from the whole. */
export function below(reading: Reading, prefix: Path): Reading {
  return reading.found ? reading : { ...reading, nearest: [...prefix, ...reading.nearest] };
}

function missing(value: Json, nearest: Path): Reading {
  if (isJsonArray(value)) return { found: false, nearest, length: value.length };
  if (isJsonObject(value)) return { found: false, nearest, keys: Object.keys(value) };
  return typeof value === "string"
    ? { found: false, nearest, length: countOf(value) }
    : { found: false, nearest };
}

function elementsOf(value: Json): readonly Json[] | undefined {
  if (isJsonArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : undefined;
}

function step(value: Json, segment: Exclude<Segment, { each: true }>): Json | undefined {
  if ("key" in segment) {
    return isJsonObject(value) && Object.hasOwn(value, segment.key)
      ? value[segment.key]
      : undefined;
  }
  if ("index" in segment) return isJsonArray(value) ? value.at(segment.index) : undefined;
  if (isJsonArray(value)) return value.slice(segment.from, segment.to);
  return typeof value === "string" ? sliceCodePoints(value, segment) : undefined;
}

/** Elements or characters `from` to before `to`, counted from the start: 0 ≤ `from` ≤ `to`. */
export interface Bounds {
  readonly from: number;
  readonly to: number;
}

/** A slice's bounds as RFC 9535 has them, in a value of so many elements or characters. */
export function sliceBounds(
  { from = 0, to }: { readonly from?: number; readonly to?: number },
  count: number,
): Bounds {
  const bounded = (bound: number) =>
    Math.min(Math.max(bound < 0 ? count + bound : bound, 0), count);
  const start = bounded(from);
  return { from: start, to: Math.max(to === undefined ? count : bounded(to), start) };
}

/** The path as it is written after a name. `parsePath(formatPath(path))` is the path. */
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

/** True for a key that may stand after a full stop without quotes. */
export function isPlainKey(key: string): boolean {
  if (key === "" || isDigit(key.charCodeAt(0))) return false;
  for (let index = 0; index < key.length; index++)
    if (!isWordCode(key.charCodeAt(index))) return false;
  return true;
}

function quote(key: string): string {
  return `"${key.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}
