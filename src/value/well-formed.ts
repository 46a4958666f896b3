import { ByrefError } from "../errors.ts";
import { codePointCount } from "./characters.ts";
import { isJsonArray, isObject, isScalar, type Json } from "./json.ts";
import { formatPath, type Path } from "./path.ts";

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

/**
 * Throws `bad_value` with the place of the first half of a character (a lone surrogate), for a channel that cannot hold
 * one. `path`: where the value is. Cost: linear.
 */
export function requireWellFormed(value: Json, channel: string, path: Path = []): void {
  if (typeof value === "string") return requireWhole(value, channel, { path, in: " at " });
  if (isScalar(value)) return;
  const isList = isJsonArray(value);
  for (const [key, inner] of Object.entries(value)) {
    const own = [...path, isList ? { index: Number(key) } : { key }];
    requireWhole(key, channel, { path: own, in: " in the key " });
    requireWellFormed(inner, channel, own);
  }
}

function requireWhole(
  text: string,
  channel: string,
  { path: at, in: preposition }: { readonly path: Path; readonly in: string },
): void {
  const character = halfAt(text);
  if (character === undefined) return;
  const path = formatPath(at);
  const where = path === "" ? "" : `${preposition}${path}`;
  const message = `Half of a character (a lone surrogate)${where}, as character ${character}: ${channel} cannot hold it. JSON can, or write the whole character.`;
  throw new ByrefError("bad_value", message, { path, character });
}

/** Returns the number of the first lone surrogate among the characters of a text, from 1. */
export function halfAt(text: string): number | undefined {
  if (text.isWellFormed()) return undefined;
  return codePointCount(text.slice(0, text.search(/\p{Cs}/u))) + 1;
}
