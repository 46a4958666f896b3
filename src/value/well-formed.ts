import { isObject } from "./json.ts";

/** Replaces lone surrogates, which are no JSON for several providers. A value without any stays the same. */
export function wellFormed<Value>(value: Value): Value;
export function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) {
    const items = value.map((item) => wellFormed<unknown>(item));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  // Bytes and URLs have no lone surrogates.
  if (!isObject(value) || ArrayBuffer.isView(value) || value instanceof URL) return value;
  const entries = Object.entries(value).map(([key, inner]) => [wellFormed(key), wellFormed(inner)]);
  const isSame = entries.every(([key, inner]) => value[String(key)] === inner);
  return isSame ? value : Object.fromEntries(entries);
}
