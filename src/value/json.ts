import { toBase64 } from "./encoding.ts";
import { codePointCount } from "./characters.ts";
import { type ExactNumber, isExactNumber, mapExactNumbers, parseExactly } from "./exact-number.ts";

/** A value that JSON can represent, deeply read-only. */
export type Json = JsonScalar | JsonArray | JsonObject;
export type JsonScalar = string | number | ExactNumber | boolean | null;
export type JsonArray = readonly Json[];
export type JsonObject = { readonly [key: string]: Json };

/** True for an object that is neither null nor an array, nor a number with its digits. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  const isThing = typeof value === "object" && value !== null;
  return isThing && !Array.isArray(value) && !isExactNumber(value);
}

export function isJsonObject(value: Json): value is JsonObject {
  return isObject(value);
}

export function isJsonArray(value: Json): value is JsonArray {
  return Array.isArray(value);
}

/** True for a string, number, boolean or null. */
export function isScalar(value: Json): value is JsonScalar {
  return typeof value !== "object" || value === null || isExactNumber(value);
}

/** JSON whose numbers are all numbers. */
export type PlainJson =
  | string
  | number
  | boolean
  | null
  | readonly PlainJson[]
  | { readonly [key: string]: PlainJson };

/** Writes numbers with their digits as texts, for those who take JavaScript's numbers only: models, clients. */
export function plainJson(value: Json): PlainJson {
  return mapExactNumbers(value, ({ rawJSON }) => rawJSON) as PlainJson;
}

export type JsonType = "string" | "number" | "boolean" | "null" | "array" | "object";

/** One of the six JSON types. */
export function typeOfJson(value: Json): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (isExactNumber(value)) return "number";
  // A Json that is neither null nor an array has one of these four types.
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** Copies arrays and plain objects. All else is shared: numbers with their digits, bytes, URLs. */
export function copyJson<Value>(value: Value): Value;
export function copyJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyJson);
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copyJson(inner)]));
}

/** Counts elements, keys or characters (code points); 1 for other types. */
export function countOf(value: Json): number {
  if (typeof value === "string") return codePointCount(value);
  if (isJsonArray(value)) return value.length;
  if (isJsonObject(value)) return Object.keys(value).length;
  return 1;
}

/** Parses JSON; undefined if the text is not JSON. */
export function jsonIn(text: string): Json | undefined {
  try {
    return parsedJson(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON, with all digits of numbers. Throws a SyntaxError if the text is not JSON. */
export function parsedJson(text: string): Json {
  // JSON.parse returns Json by definition.
  return parseExactly(text) as Json;
}

/** Like `parsedJson`, for a text that may begin with a byte order mark. */
export function parsedBody(text: string): Json {
  return parsedJson(text.startsWith("\uFEFF") ? text.slice(1) : text);
}

/**
 * Serializes a value so that objects with the same entries in another order give the same text, and different values
 * different texts, also if they have bytes.
 */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner instanceof Uint8Array) return `\0${toBase64(inner)}`;
    if (typeof inner === "string" && inner.startsWith("\0")) return `\0${inner}`;
    return isObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner;
  });
}

/** The fields without undefined ones. */
type Compact<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<
    Fields[Key],
    undefined
  >;
};

/** Returns the fields that are not undefined. */
export function compact<Fields extends object>(fields: Fields): Compact<Fields> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  // The result has the same keys and values, without undefined ones.
  return Object.fromEntries(set) as Compact<Fields>;
}

/** Freezes a value deeply, so that all readers can share one copy. */
export function deepFreeze<Value extends Json>(value: Value): Value {
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isScalar(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) open.push(inner);
  }
  return value;
}
