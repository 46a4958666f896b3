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
  const half = halfIn(value, path);
  if (half === undefined) return;
  const { character } = half;
  const place = formatPath(half.path);
  const where = place === "" ? "" : ` ${half.isKey ? "in the key" : "at"} ${place}`;
  const message = `Half of a character (a lone surrogate)${where}, as character ${character}: ${channel} cannot hold it. JSON can, or write the whole character.`;
  throw new ByrefError("bad_value", message, { path: place, character });
}

/** Returns the number of the first lone surrogate among the characters of a text, from 1. */
export function halfAt(text: string): number | undefined {
  if (text.isWellFormed()) return undefined;
  return codePointCount(text.slice(0, text.search(/\p{Cs}/u))) + 1;
}

interface Half {
  readonly path: Path;
  readonly character: number;
  readonly isKey: boolean;
}

function halfIn(value: Json, path: Path): Half | undefined {
  if (typeof value === "string") {
    const character = halfAt(value);
    return character === undefined ? undefined : { path, character, isKey: false };
  }
  if (isScalar(value)) return undefined;
  const isList = isJsonArray(value);
  for (const [key, inner] of Object.entries(value)) {
    const own = [...path, isList ? { index: Number(key) } : { key }];
    const character = halfAt(key);
    const half =
      character === undefined ? halfIn(inner, own) : { path: own, character, isKey: true };
    if (half !== undefined) return half;
  }
  return undefined;
}
