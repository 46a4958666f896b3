import { codePointCount } from "./characters.ts";

/** A value that JSON can hold, read-only all the way down. */
export type Json = string | number | boolean | null | JsonArray | JsonObject;
export type JsonArray = readonly Json[];
export type JsonObject = { readonly [key: string]: Json };

/** True for an object that is neither null nor an array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isJsonObject(value: Json): value is JsonObject {
  return isObject(value);
}

export function isJsonArray(value: Json): value is JsonArray {
  return Array.isArray(value);
}

/** True for what holds nothing else: a text, a number, true, false, null. */
export function isScalar(value: Json): value is string | number | boolean | null {
  return typeof value !== "object" || value === null;
}

export type JsonType = "string" | "number" | "boolean" | "null" | "array" | "object";

/** One of the six JSON types. */
export function typeOfJson(value: Json): JsonType {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  // What is left of a Json after null and arrays are gone has one of these four types.
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** Elements, keys or characters (code points); 1 for the rest. */
export function countOf(value: Json): number {
  if (typeof value === "string") return codePointCount(value);
  if (isJsonArray(value)) return value.length;
  if (isJsonObject(value)) return Object.keys(value).length;
  return 1;
}

/** What the text says as JSON; undefined if it is none. */
export function jsonIn(text: string): Json | undefined {
  try {
    return parsedJson(text);
  } catch {
    return undefined;
  }
}

/** What the text says as JSON. Throws a SyntaxError if it is none. */
export function parsedJson(text: string): Json {
  // What JSON.parse returns is Json by definition.
  return JSON.parse(text) as Json;
}

/** JSON that is the same text for objects that differ in the order of their keys only. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(value, (_key, inner: Json) =>
    isJsonObject(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The fields without those that are undefined. */
type Compact<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<
    Fields[Key],
    undefined
  >;
};

/** The fields that are set. */
export function compact<Fields extends object>(fields: Fields): Compact<Fields> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  // The same keys with the same values, where there are any.
  return Object.fromEntries(set) as Compact<Fields>;
}

/** The same value, frozen all the way down, so that one copy can be handed to every reader. */
export function deepFreeze<Value extends Json>(value: Value): Value {
  const open: Json[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (isScalar(next)) continue;
    Object.freeze(next);
    for (const inner of Object.values(next)) open.push(inner);
  }
  return value;
}
