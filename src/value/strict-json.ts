import { hasExactNumber, isExactNumber } from "./exact-number.ts";
import { isObject, type Json, parsedJson } from "./json.ts";

/**
 * Serializes a value so that clients of streams accept it. Those of the AI SDK refuse JSON that has an object with
 * a key `__proto__`, or with `prototype` under `constructor`, and a refused frame ends the whole stream. Such
 * objects become their own JSON text, and numbers that clients would round are texts. Line separators, at which others
 * split a frame, are escapes.
 */
export function strictJson(value: unknown): string {
  const text = JSON.stringify(value);
  const isReadable = !SUSPECT.test(text) && !hasExactNumber(text);
  const whole = isReadable ? text : JSON.stringify(value, readable);
  return whole.replace(
    LINE_SEPARATORS,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function readable(_key: string, value: unknown): unknown {
  if (isExactNumber(value)) return value.rawJSON;
  return isRefused(value) ? JSON.stringify(value) : value;
}

const LINE_SEPARATORS = /[\u0085\u2028\u2029]/gu;

/** The value as `strictJson` writes it. */
export function strictValue(value: Json): Json {
  return isStrict(value) ? value : parsedJson(strictJson(value));
}

/** True for a value that is short as JSON, and that clients accept unchanged. */
export function isShortJson(value: Json, maxChars: number): boolean {
  const text = JSON.stringify(value);
  return text.length <= maxChars && isStrict(value, text);
}

/** True for a value that clients accept unchanged. */
export function isStrict(value: unknown, text = JSON.stringify(value)): boolean {
  return !SUSPECT.test(text) || !hasRefused(value);
}

/** As `JSON.stringify` writes the keys. */
const SUSPECT = /"(?:__proto__|constructor)":/u;

function hasRefused(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return isRefused(value) || Object.values(value).some(hasRefused);
}

function isRefused(value: unknown): boolean {
  if (!isObject(value)) return false;
  if (Object.hasOwn(value, "__proto__")) return true;
  const { constructor } = value;
  return (
    Object.hasOwn(value, "constructor") &&
    isObject(constructor) &&
    Object.hasOwn(constructor, "prototype")
  );
}
