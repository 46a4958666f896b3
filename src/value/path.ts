import {
  countOf,
  isHighSurrogate,
  isJsonArray,
  isJsonObject,
  isLowSurrogate,
  type Json,
} from "./json.ts";

/** One step into a value. `from` and `to` are a slice as RFC 9535 defines it, step 1. */
export type Segment =
  | { readonly key: string }
  | { readonly index: number }
  | { readonly each: true }
  | { readonly from?: number; readonly to?: number };

export type Path = readonly Segment[];

/** What a path led to, or how far it led and what is there. */
export type Reading =
  | { readonly found: true; readonly value: Json }
  | {
      readonly found: false;
      /** The longest start of the path that exists. */
      readonly nearest: Path;
      /** The keys there, if it is an object. */
      readonly keys?: readonly string[];
      /** The elements or characters there, if it is an array or a string. */
      readonly length?: number;
    };

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
  const rest = path.slice(position + 1);
  const values: Json[] = [];
  for (const element of elements) {
    const reading = readPath(element, rest);
    if (reading.found) values.push(reading.value);
  }
  // Elements that lack the rest are left out; if all of them lack it, the path leads nowhere.
  if (values.length > 0 || elements.length === 0) return { found: true, value: values };
  return missingBelow(elements, rest, path.slice(0, position + 1));
}

/** The miss that came furthest, among the first elements: it says most about what is there. */
function missingBelow(elements: readonly Json[], rest: Path, prefix: Path): Reading {
  let furthest: Extract<Reading, { found: false }> = { found: false, nearest: [] };
  for (const element of elements.slice(0, MAX_LOOKED_AT)) {
    const reading = readPath(element, rest);
    if (reading.found) continue;
    const isFirst = furthest.keys === undefined && furthest.length === undefined;
    if (isFirst || reading.nearest.length > furthest.nearest.length) furthest = reading;
  }
  return { ...furthest, nearest: [...prefix, ...furthest.nearest] };
}

const MAX_LOOKED_AT = 20;

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

/** A slice by code points. Cost: linear in the code points that are counted, from either end; no copy. */
export function sliceCodePoints(text: string, range: { from?: number; to?: number }): string {
  const { from = 0, to } = range;
  const start = from < 0 ? offsetFromEnd(text, -from) : offsetOfCodePoint(text, 0, from);
  if (to === undefined) return text.slice(start);
  const isAhead = from >= 0 && to >= from;
  if (isAhead) return text.slice(start, offsetOfCodePoint(text, start, to - from));
  const end = to < 0 ? offsetFromEnd(text, -to) : offsetOfCodePoint(text, 0, to);
  return start < end ? text.slice(start, end) : "";
}

function offsetFromEnd(text: string, count: number): number {
  let offset = text.length;
  for (let passed = 0; passed < count && offset > 0; passed++) {
    const isPair =
      isLowSurrogate(text.charCodeAt(offset - 1)) && isHighSurrogate(text.charCodeAt(offset - 2));
    offset -= isPair ? 2 : 1;
  }
  return offset;
}

function offsetOfCodePoint(text: string, start: number, count: number): number {
  let offset = start;
  for (let passed = 0; passed < count && offset < text.length; passed++) {
    const isPair =
      isHighSurrogate(text.charCodeAt(offset)) && isLowSurrogate(text.charCodeAt(offset + 1));
    offset += isPair ? 2 : 1;
  }
  return offset;
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

/** True for a letter, digit or underscore of ASCII, by character code. */
export function isWordCode(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || isDigit(code);
}

export function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
