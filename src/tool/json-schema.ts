import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { isObject, type Json, typeOfJson } from "../value/json.ts";

/**
 * Traversal of JSON Schemas of the drafts 7 to 2020-12:
 * - `$ref` is followed inside of the schema. A `$ref` to another document or to no schema adds no
 *   constraint. Its siblings count.
 * - `allOf` and the target of a `$ref` apply to the same value as the schema's own keywords.
 * - `anyOf` and `oneOf` are alternatives, and so are `then` and `else`.
 * - `not`, `contains`, `dependentSchemas` and `propertyNames` only narrow, and are not read.
 * - A schema that refers to itself for the same value, or is deeper than `maxDepth`, adds no constraint
 *   there.
 */
export type Definition = JSONSchema7 | boolean;

/** Keywords that hold one schema, or a list of schemas. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(
  "additionalItems additionalProperties allOf anyOf contains else if items not oneOf prefixItems propertyNames then unevaluatedItems unevaluatedProperties".split(
    " ",
  ),
);
/** Keywords that hold schemas by name. */
export const NAMED_SCHEMA_KEYWORDS: ReadonlySet<string> = new Set(
  "$defs definitions dependencies dependentSchemas patternProperties properties".split(" "),
);

/** Returns the schemas in a keyword's value, each with the keys of its path. */
export function subschemasIn(
  keyword: string,
  held: Json,
): readonly (readonly [at: readonly string[], schema: Json])[] {
  const isNamed = NAMED_SCHEMA_KEYWORDS.has(keyword);
  if (!isNamed && !SCHEMA_KEYWORDS.has(keyword)) return [];
  if (!isNamed && !Array.isArray(held)) return [[[], held]];
  return Object.entries(held ?? {}).map(([key, schema]: [string, Json]) => [[key], schema]);
}

/** Maps the schemas that a schema holds. What is no schema stays as it is. */
export function mapSubschemas(
  schema: JSONSchema7,
  map: (subschema: Definition, keyword: string) => Definition,
): JSONSchema7 {
  const mapped = Object.entries(schema).map(([keyword, held]): [string, unknown] => {
    const one = (part: unknown) =>
      typeof part === "boolean" || isObject(part) ? map(part, keyword) : part;
    if (SCHEMA_KEYWORDS.has(keyword))
      return [keyword, Array.isArray(held) ? held.map(one) : one(held)];
    if (!NAMED_SCHEMA_KEYWORDS.has(keyword) || !isObject(held)) return [keyword, held];
    const named = Object.entries(held).map(([name, part]) => [name, one(part)]);
    return [keyword, Object.fromEntries(named)];
  });
  return Object.fromEntries(mapped);
}

export const LIST_KEYWORDS: ReadonlySet<string> = new Set(
  "allOf anyOf oneOf prefixItems".split(" "),
);

/** Returns the schema with `anyOf` in place of `oneOf`, which forbids what fits several: alternatives that accept more may overlap. */
export function withoutOneOf({ oneOf, ...schema }: JSONSchema7): JSONSchema7 {
  if (!Array.isArray(oneOf)) return schema;
  if (schema.anyOf === undefined) return { ...schema, anyOf: oneOf };
  const { allOf } = schema;
  return { ...schema, allOf: [...(Array.isArray(allOf) ? allOf : []), { anyOf: oneOf }] };
}

/** Combines the schemas that apply to one value into one result. */
export interface SchemaFold<Result> {
  /** Result for a schema's own keywords, without those that hold other schemas for the same value. */
  own(schema: Definition): Result;
  /** Result for a value that fits all of the schemas. */
  all(results: readonly Result[]): Result;
  /** Result for a value that fits at least one of the schemas. */
  any(results: readonly Result[]): Result;
}

/** Folds the schemas that apply to one value. Cost: linear in their number; each is read once. */
export function foldSchema<Result>(
  definition: Definition,
  root: JSONSchema7,
  fold: SchemaFold<Result>,
): Result {
  // Undefined while a schema is read, so that a cycle neither adds nor removes anything.
  const known = new Map<object, Result | undefined>();
  const read = (one: Definition, depth: number): Result | undefined => {
    if (typeof one === "boolean" || depth > limits.maxDepth)
      return fold.own(one === false ? one : true);
    if (known.has(one)) return known.get(one);
    known.set(one, undefined);
    const inner = (part: Definition) => read(part, depth + 1);
    const { $ref, allOf = [] } = one;
    const target = $ref === undefined ? [] : [inner(schemaAtPointer($ref, root))];
    if (target.includes(undefined)) return undefined;
    // A value fits at least one schema of each group.
    const { anyOf = [], oneOf = [], then: met = true, else: unmet = true } = one;
    const all = [anyOf, oneOf, one.if === undefined ? [] : [met, unmet]];
    const groups = all.map((group) => group.map(inner).filter(isKnown));
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

/** A pointer to a definition. */
export const DEFINITION = /^#\/(?:\$defs|definitions)\/[^/]+$/;

/** Returns the target of a pointer like `#/$defs/name`, or `true` (any value) if there is none. */
export function schemaAtPointer(pointer: string, root: JSONSchema7): Definition {
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

export const TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"] as const;
export type TypeName = (typeof TYPES)[number];

/**
 * Returns the types that a schema allows, or all types if it has no constraint. `number` includes `integer`.
 */
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

/** The types that a schema's own keywords allow. */
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
 * Returns the constraints on a property (by name) or an element (by index) of the values that fit a schema.
 * A property that is not allowed may be anything, because tools often omit properties from their input
 * schemas.
 */
export function schemaAt(
  key: string | number,
  definition: Definition,
  root: JSONSchema7,
): Definition {
  return foldSchema<Definition>(definition, root, {
    own: (schema) => ownSchemaAt(key, schema),
    all: (allOf) => ({ allOf: [...allOf] }),
    any: (anyOf) => ({ anyOf: [...anyOf] }),
  });
}

/** The constraints of a schema's own keywords on a property or an element. */
function ownSchemaAt(key: string | number, schema: Definition): Definition {
  if (typeof schema === "boolean") return true;
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

/** Returns the types that a schema allows at a place in the values that fit it. */
export function typesAt(
  place: readonly (string | number)[],
  schema: JSONSchema7,
): ReadonlySet<TypeName> {
  let at: Definition = schema;
  for (const step of place) at = schemaAt(step, at, schema);
  return typesIn(at, schema);
}

/** True if a place in the values that fit a schema takes texts, but not this value, which is no text. */
export function takesTextOnly(
  schema: JSONSchema7,
  place: readonly (string | number)[],
  value: Json,
): boolean {
  if (typeof value === "string") return false;
  const types = typesAt(place, schema);
  const type = typeOfJson(value);
  return types.has("string") && !types.has(type === "number" ? "integer" : type);
}

/**
 * Maps the scalars of a value by the schemas of their places. A list or object in place of one is mapped, too. Parts
 * without a change are shared. Cost: linear.
 */
export function mapScalars(
  input: unknown,
  root: JSONSchema7,
  map: (scalar: unknown, at: Definition) => unknown,
): unknown {
  // Each place of the schema is looked up once, although lists have many elements.
  const below = new Map<Definition, Map<string | number, Definition>>();
  const placeBelow = (key: string | number, at: Definition): Definition => {
    const known = below.get(at) ?? new Map<string | number, Definition>();
    below.set(at, known);
    const found = known.get(key) ?? schemaAt(key, at, root);
    known.set(key, found);
    return found;
  };
  const walk = (value: unknown, at: Definition): unknown => {
    if (at === true) return value;
    const held = Array.isArray(value) || isObject(value) ? value : map(value, at);
    // Elements after the first hundred have the same schema, also of a tuple.
    if (Array.isArray(held))
      return mapShared(held, (inner, index) => walk(inner, placeBelow(Math.min(index, 100), at)));
    if (!isObject(held)) return held;
    const entries = Object.entries(held);
    const mapped = mapShared(entries, (entry): [string, unknown] => {
      const [key, inner] = entry;
      const made = walk(inner, placeBelow(key, at));
      return made === inner ? entry : [key, made];
    });
    return mapped === entries ? held : Object.fromEntries(mapped);
  };
  return walk(input, root);
}

function mapShared<Item>(
  items: readonly Item[],
  map: (item: Item, index: number) => Item,
): readonly Item[] {
  const mapped = items.map(map);
  return mapped.every((item, index) => item === items[index]) ? items : mapped;
}
