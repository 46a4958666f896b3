import { isObject, type Json, parsedJson } from "./json.ts";

/**
 * Serializes a value so that the AI SDK's clients accept it. They refuse JSON that has an object with a key
 * `__proto__`, or with `prototype` under `constructor`, and a refused frame ends the whole stream. Such objects
 * become their own JSON text.
 */
export function strictJson(value: unknown): string {
  const text = JSON.stringify(value);
  if (isStrict(value, text)) return text;
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRefused(inner) ? JSON.stringify(inner) : inner,
  );
}

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
