import { isExactNumber } from "./exact-number.ts";
import { isJsonArray, isScalar, type Json, type JsonArray, type JsonObject } from "./json.ts";

/**
 * Counts the characters of a text, or of another value as JSON, without serializing it. Stops once there
 * are more than `most`. Cost: linear.
 */
export function charsOf(value: Json, most: number): number {
  return typeof value === "string" ? value.length : jsonChars(value, most);
}

/** Counts the characters of a value as JSON, also of a text. Otherwise like `charsOf`. */
export function jsonChars(value: Json, most: number): number {
  // Subtracts the brackets of the list around the value.
  let chars = -2;
  // Not recursive, because an application's values may be nested too deep.
  const open: (JsonArray | JsonObject)[] = [[value]];
  for (let next = open.pop(); next !== undefined && chars <= most; next = open.pop()) {
    const keys = isJsonArray(next) ? [] : Object.keys(next);
    for (const key of keys) chars += textChars(key, most) + 1;
    const inner = isJsonArray(next) ? next : Object.values(next);
    chars += Math.max(inner.length + 1, 2);
    for (const one of inner) {
      if (typeof one === "string") chars += textChars(one, most);
      else if (isExactNumber(one)) chars += one.rawJSON.length;
      else if (isScalar(one)) chars += String(one).length;
      else if ((one as unknown) instanceof Uint8Array) chars += Number(one.length);
      else open.push(one);
      if (chars > most) break;
    }
  }
  return chars;
}

/** Counts a string in quotes, with escapes. A string that exceeds `most` anyway is not scanned. */
function textChars(text: string, most: number): number {
  if (text.length > most) return text.length + 2;
  return ESCAPED.test(text) ? JSON.stringify(text).length : text.length + 2;
}

const ESCAPED = /["\\\p{Cc}\p{Cs}]/u;
