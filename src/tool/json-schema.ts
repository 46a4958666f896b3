import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { isObject, type Json, typeOfJson } from "../value/json.ts";

/**
 * The one place that knows how JSON Schemas are put together, of the drafts 7 to 2020-12:
 * - `$ref` is followed inside of the schema; one that leads elsewhere or nowhere says nothing. Its siblings count.
 * - `allOf` and a `$ref`'s target hold for the same value, beside the schema's own keywords.
 * - `anyOf` and `oneOf` are alternatives, and so are `then` and `else`.
 * - `not`, `contains`, `dependentSchemas` and `propertyNames` only narrow, and are not read.
 * - A schema that comes back to itself at the same value, or is deeper than `maxDepth`, says nothing there.
 */
export type Definition = JSONSchema7 | boolean;

/** Keywords that hold one schema, or a list. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(
  "additionalItems additionalProperties allOf anyOf contains else if items not oneOf prefixItems propertyNames then unevaluatedItems unevaluatedProperties".split(
    " ",
  ),
);
/** Keywords that hold schemas by name. */
const NAMED_SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(
  "$defs definitions dependencies dependentSchemas patternProperties properties".split(" "),
);

/** The schemas that a keyword's value holds, each with the keys that lead to it. */
export function subschemasIn(
  keyword: string,
  held: Json,
): readonly (readonly [at: readonly string[], schema: Json])[] {
  const isNamed = NAMED_SCHEMA_KEYWORDS.has(keyword);
  if (!isNamed && !SCHEMA_KEYWORDS.has(keyword)) return [];
  if (!isNamed && !Array.isArray(held)) return [[[], held]];
  return Object.entries(held ?? {}).map(([key, schema]: [string, Json]) => [[key], schema]);
}

/** The schema with other schemas in place of those that it holds. Throws a TypeError if one of them is none. */
export function mapSubschemas(
  schema: JSONSchema7,
  map: (subschema: Definition, keyword: string) => Definition,
): JSONSchema7 {
  const mapped = Object.entries(schema).map(([keyword, held]): [string, unknown] => {
    const one = (subschema: unknown) => map(definitionIn(keyword, subschema), keyword);
    if (SCHEMA_KEYWORDS.has(keyword)) {
      const isList = Array.isArray(held) || LIST_KEYWORDS.has(keyword);
      return [keyword, isList ? listIn(keyword, held).map(one) : one(held)];
    }
    if (!NAMED_SCHEMA_KEYWORDS.has(keyword)) return [keyword, held];
    if (!isObject(held)) throw notSchema(keyword);
    const named = Object.entries(held).map(([name, part]) => [
      name,
      Array.isArray(part) ? part : one(part),
    ]);
    return [keyword, Object.fromEntries(named)];
  });
  return Object.fromEntries(mapped);
}

const LIST_KEYWORDS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);

function listIn(keyword: string, held: unknown): readonly unknown[] {
  if (Array.isArray(held)) return held;
  throw notSchema(keyword);
}

function definitionIn(keyword: string, value: unknown): Definition {
  if (typeof value === "boolean" || isObject(value)) return value;
  throw notSchema(keyword);
}

function notSchema(keyword: string): TypeError {
  return new TypeError(`${keyword} holds something that is not JSON Schema.`);
}

/** How to make one result of the schemas that hold for the same value. */
export interface SchemaFold<Result> {
  /** Of a schema's own keywords, without those that hold other schemas for the same value. */
  own(schema: Definition): Result;
  /** Of a value that fits all of them. */
  all(results: readonly Result[]): Result;
  /** Of a value that fits at least one of them. */
  any(results: readonly Result[]): Result;
}

/** Reads a schema of one place. Cost: linear in the schemas that hold there, each of which is read once. */
export function foldSchema<Result>(
  definition: Definition,
  root: JSONSchema7,
  fold: SchemaFold<Result>,
): Result {
  // Undefined while a schema is read: a circle neither adds anything nor takes anything away.
  const known = new Map<object, Result | undefined>();
  const read = (one: Definition, depth: number): Result | undefined => {
    if (typeof one === "boolean" || depth > limits.maxDepth)
      return fold.own(one === false ? one : true);
    if (known.has(one)) return known.get(one);
    known.set(one, undefined);
    const inner = (part: Definition) => read(part, depth + 1);
    const { $ref, allOf = [] } = one;
    const target = $ref === undefined ? [] : [inner(targetOf($ref, root))];
    if (target.includes(undefined)) return undefined;
    const groups = alternativesIn(one).map((group) => group.map(inner).filter(isKnown));
    const parts = [...target, ...allOf.map(inner)].filter(isKnown);
    const alternatives = groups.filter(({ length }) => length > 0).map((group) => fold.any(group));
    const result = fold.all([fold.own(one), ...parts, ...alternatives]);
    known.set(one, result);
    return result;
  };
  return read(definition, 0) ?? fold.own(true);
}

function isKnown<Result>(result: Result | undefined): result is Result {
  return result !== undefined;
}

/** Groups of schemas of each of which a value fits at least one. */
function alternativesIn(schema: JSONSchema7): readonly (readonly Definition[])[] {
  const { anyOf = [], oneOf = [] } = schema;
  const { then: met = true, else: unmet = true } = schema;
  return [anyOf, oneOf, schema.if === undefined ? [] : [met, unmet]];
}

/** What `#/$defs/name` and its like lead to; anything where they lead nowhere. */
function targetOf(pointer: string, root: JSONSchema7): Definition {
  const [start, ...keys] = pointer.split("/");
  if (start !== "#") return true;
  let at: unknown = root;
  for (const written of keys) {
    const key = unescaped(written);
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return true;
    at = Reflect.get(at, key);
  }
  return typeof at === "boolean" || isObject(at) ? at : true;
}

function unescaped(written: string): string {
  const key = written.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

const TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"] as const;
export type TypeName = (typeof TYPES)[number];

/** The types of the values that fit a schema: all of them, if it does not say. With `number` also `integer`. */
export function typesIn(definition: Definition, root: JSONSchema7): ReadonlySet<TypeName> {
  return foldSchema<ReadonlySet<TypeName>>(definition, root, {
    own: ownTypes,
    all: inEach,
    any: (sets) => new Set(sets.flatMap((types) => [...types])),
  });
}

function inEach(sets: readonly ReadonlySet<TypeName>[]): ReadonlySet<TypeName> {
  return new Set(TYPES.filter((name) => sets.every((types) => types.has(name))));
}

function ownTypes(schema: Definition): ReadonlySet<TypeName> {
  if (typeof schema === "boolean") return new Set(schema ? TYPES : []);
  const { type, enum: values, const: value } = schema;
  return inEach([
    withIntegers(type === undefined ? TYPES : [type].flat()),
    withIntegers(values === undefined ? TYPES : values.map(typeOfJson)),
    withIntegers(value === undefined ? TYPES : [typeOfJson(value as Json)]),
  ]);
}

function withIntegers(types: readonly TypeName[]): ReadonlySet<TypeName> {
  return new Set(types.includes("number") ? [...types, "integer"] : types);
}

/**
 * What holds for a property (by its name) or an element (by its index) of the values that fit a schema. A
 * property that is not allowed may be anything: tools often leave it out of their inputs.
 */
export function schemaAt(
  key: string | number,
  definition: Definition,
  root: JSONSchema7,
): Definition {
  return foldSchema<Definition>(definition, root, {
    own: (schema) => (typeof schema === "boolean" ? true : ownSchemaAt(key, schema)),
    all: (allOf) => ({ allOf: [...allOf] }),
    any: (anyOf) => ({ anyOf: [...anyOf] }),
  });
}

function ownSchemaAt(key: string | number, schema: JSONSchema7): Definition {
  const { properties = {}, patternProperties, additionalProperties, items = true } = schema;
  if (typeof key === "number") {
    const { prefixItems = [] } = schema as { prefixItems?: readonly Definition[] };
    const [first, rest] = Array.isArray(items)
      ? [items, schema.additionalItems]
      : [prefixItems, items];
    return first[key] ?? rest ?? true;
  }
  if (Object.hasOwn(properties, key)) return properties[key] ?? true;
  const isOther = patternProperties === undefined && typeof additionalProperties === "object";
  return isOther ? additionalProperties : true;
}
