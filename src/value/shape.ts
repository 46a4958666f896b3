import * as limits from "../limits.ts";
import { clip } from "./characters.ts";
import { isJsonArray, isJsonObject, type Json, typeOfJson } from "./json.ts";
import { isPlainKey } from "./path.ts";

const MAX_DEPTH = 6;
const MAX_KEYS = 64;
const MAX_ELEMENTS = 10_000;

/** The types observed at one place of a value. */
interface Seen {
  readonly scalars: Set<string>;
  elements?: Seen;
  objects: number;
  readonly keys: Map<string, Seen & { times: number }>;
  hasMoreKeys: boolean;
  /** True if deeper levels were not inspected. */
  isDeeper: boolean;
}

/**
 * Returns a value's type in one line, for example `{id: number, note?: string}[]`: unions where elements
 * differ, `?` for keys that some elements lack. At most 300 characters; deep parts are dropped first.
 * Inspects the first 10,000 elements of an array.
 */
export function shapeOf(value: Json): string {
  const seen = emptySeen();
  observe(seen, value, 0);
  return writeWithin(seen);
}

/** Like `shapeOf` for an array whose elements arrive one at a time. Holds none of them. */
export class ArrayShape {
  readonly #elements = emptySeen();
  #count = 0;

  add(element: Json): void {
    if (this.#count++ >= MAX_ELEMENTS) return;
    observe(this.#elements, element, 1);
  }

  shape(): string {
    return writeWithin({ ...emptySeen(), elements: this.#elements });
  }
}

/** Writes a shape of at most `maxShapeChars`. */
function writeWithin(seen: Seen): string {
  // A list's shape is mostly that of its elements, so they keep one more level.
  const least = seen.elements === undefined ? 1 : 2;
  for (let depth = MAX_DEPTH; depth >= least; depth--) {
    const text = write(seen, depth, Infinity);
    if (text.length <= limits.maxShapeChars) return text;
  }
  for (let keys = MAX_KEYS; keys > 0; keys = Math.floor(keys / 2)) {
    const text = write(seen, least, keys);
    if (text.length <= limits.maxShapeChars) return text;
  }
  return clip(write(seen, least, 1), limits.maxShapeChars - 1) + "…";
}

function emptySeen(): Seen {
  return { scalars: new Set(), objects: 0, keys: new Map(), hasMoreKeys: false, isDeeper: false };
}

function observe(seen: Seen, value: Json, depth: number): void {
  if (isJsonArray(value)) {
    seen.elements ??= emptySeen();
    if (depth >= MAX_DEPTH) seen.elements.isDeeper ||= value.length > 0;
    else
      for (const element of value.slice(0, MAX_ELEMENTS))
        observe(seen.elements, element, depth + 1);
  } else if (isJsonObject(value)) {
    seen.objects++;
    if (depth < MAX_DEPTH) observeKeys(seen, value, depth);
    else seen.hasMoreKeys = true;
  } else {
    seen.scalars.add(typeOfJson(value));
  }
}

function observeKeys(seen: Seen, value: Readonly<Record<string, Json>>, depth: number): void {
  for (const key of Object.keys(value)) {
    let at = seen.keys.get(key);
    if (at === undefined) {
      if (seen.keys.size >= MAX_KEYS) {
        seen.hasMoreKeys = true;
        continue;
      }
      at = { ...emptySeen(), times: 0 };
      seen.keys.set(key, at);
    }
    at.times++;
    const inner = value[key];
    if (inner !== undefined) observe(at, inner, depth + 1);
  }
}

function write(seen: Seen, depth: number, maxKeys: number): string {
  return kindsOf(seen, depth, maxKeys).join(" | ");
}

function kindsOf(seen: Seen, depth: number, maxKeys: number): readonly string[] {
  if (depth < 0 || seen.isDeeper) return ["…"];
  const kinds = [...seen.scalars];
  if (seen.objects > 0) kinds.push(writeObject(seen, depth, maxKeys));
  if (seen.elements !== undefined) kinds.push(writeArray(seen.elements, depth, maxKeys));
  return kinds.length === 0 ? ["unknown"] : kinds;
}

function writeArray(elements: Seen, depth: number, maxKeys: number): string {
  const kinds = kindsOf(elements, depth - 1, maxKeys);
  return kinds.length > 1 ? `(${kinds.join(" | ")})[]` : `${kinds.join("")}[]`;
}

function writeObject(seen: Seen, depth: number, maxKeys: number): string {
  if (depth === 0) return "{…}";
  const entries = [...seen.keys].slice(0, maxKeys).map(([key, at]) => {
    const optional = at.times < seen.objects ? "?" : "";
    return `${isPlainKey(key) ? key : JSON.stringify(key)}${optional}: ${write(at, depth - 1, maxKeys)}`;
  });
  if (seen.hasMoreKeys || seen.keys.size > maxKeys) entries.push("…");
  return `{${entries.join(", ")}}`;
}
