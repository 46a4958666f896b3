import {
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  typeOfJson,
} from "../value/json.ts";

/** Something in a value that is not as its schema has it; `at`: e.g. `input.items.0`. */
export interface Issue {
  readonly at: string;
  readonly message: string;
}

type Check = (argument: Json, given: Given) => readonly Issue[];

interface Given {
  readonly value: Json;
  readonly at: string;
  readonly schema: JsonObject;
}

/** What a keyword asks of a value; one of another type than it speaks of is as it should be. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["type", checkType],
  ["enum", (options, given) => among(isJsonArray(options) ? options : [], given)],
  ["const", (option, given) => among([option], given)],
  ["properties", checkProperties],
  ["required", checkRequired],
  ["additionalProperties", checkOthers],
  [
    "items",
    (schema, { value, at }) =>
      isJsonArray(value)
        ? value.flatMap((item, index) => issuesIn(schema, item, `${at}.${index}`))
        : [],
  ],
  ["anyOf", checkAny],
  [
    "allOf",
    (schemas, { value, at }) =>
      isJsonArray(schemas) ? schemas.flatMap((schema) => issuesIn(schema, value, at)) : [],
  ],
  ["minimum", bound("at least", (value, limit) => value >= limit)],
  ["maximum", bound("at most", (value, limit) => value <= limit)],
  ["exclusiveMinimum", bound("more than", (value, limit) => value > limit)],
  ["exclusiveMaximum", bound("less than", (value, limit) => value < limit)],
  ["minLength", count("string", "at least", (length, limit) => length >= limit)],
  ["maxLength", count("string", "at most", (length, limit) => length <= limit)],
  ["minItems", count("array", "at least", (length, limit) => length >= limit)],
  ["maxItems", count("array", "at most", (length, limit) => length <= limit)],
]);

/** Keywords that ask nothing of a value. */
const ANNOTATIONS = new Set(
  "$schema $id title description default examples format deprecated readOnly writeOnly $comment".split(
    " ",
  ),
);

/**
 * What a JSON Schema asks that is not checked here, as the paths of its keywords: references, conditions,
 * and regular expressions, of which one can take for ever.
 */
export function unknownKeywords(schema: Json, at = "input"): readonly string[] {
  if (typeof schema === "boolean") return [];
  if (!isJsonObject(schema)) return [at];
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const place = `${at}.${keyword}`;
    if (ANNOTATIONS.has(keyword)) return [];
    if (!checks.has(keyword)) return [place];
    return partsOf(keyword, argument).flatMap((part) => unknownKeywords(part, place));
  });
}

/** What is wrong with a value, all of it. The schema has no unknown keywords. */
export function issuesIn(schema: Json, value: Json, at = "input"): readonly Issue[] {
  if (schema === false) return [{ at, message: "must not be there." }];
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(
    ([keyword, argument]) => checks.get(keyword)?.(argument, { value, at, schema }) ?? [],
  );
}

/** The schemas in a keyword's argument. */
function partsOf(keyword: string, argument: Json): readonly Json[] {
  if (keyword === "items" || keyword === "additionalProperties") return [argument];
  if (keyword === "anyOf" || keyword === "allOf") return isJsonArray(argument) ? argument : [];
  return keyword === "properties" && isJsonObject(argument) ? Object.values(argument) : [];
}

function checkType(argument: Json, { value, at }: Given): readonly Issue[] {
  const types = isJsonArray(argument) ? argument : [argument];
  const type = typeOfJson(value);
  const isInteger = types.includes("integer") && Number.isInteger(value);
  if (types.includes(type) || isInteger) return [];
  return [{ at, message: `must be ${types.map(String).join(" or ")}, and is ${type}.` }];
}

function among(options: readonly Json[], { value, at }: Given): readonly Issue[] {
  const written = options.map((option) => JSON.stringify(option));
  if (written.includes(JSON.stringify(value))) return [];
  return [{ at, message: `must be ${written.join(" or ")}.` }];
}

function checkProperties(argument: Json, { value, at }: Given): readonly Issue[] {
  if (!isJsonObject(argument) || !isJsonObject(value)) return [];
  return Object.entries(argument).flatMap(([key, schema]) => {
    const inner = Object.hasOwn(value, key) ? value[key] : undefined;
    return inner === undefined ? [] : issuesIn(schema, inner, `${at}.${key}`);
  });
}

function checkRequired(argument: Json, { value, at }: Given): readonly Issue[] {
  if (!isJsonArray(argument) || !isJsonObject(value)) return [];
  return argument
    .filter((key) => !Object.hasOwn(value, String(key)))
    .map((key) => ({ at: `${at}.${String(key)}`, message: "is missing." }));
}

function checkOthers(argument: Json, { value, at, schema }: Given): readonly Issue[] {
  if (!isJsonObject(value)) return [];
  const { properties } = schema;
  const known = properties !== undefined && isJsonObject(properties) ? properties : {};
  return Object.entries(value)
    .filter(([key]) => !Object.hasOwn(known, key))
    .flatMap(([key, inner]) => issuesIn(argument, inner, `${at}.${key}`));
}

function checkAny(argument: Json, { value, at }: Given): readonly Issue[] {
  const schemas = isJsonArray(argument) ? argument : [];
  const found = schemas.map((schema) => issuesIn(schema, value, at));
  const isMet = found.length === 0 || found.some((issues) => issues.length === 0);
  return isMet ? [] : [{ at, message: "fits none of what it may be." }];
}

function bound(words: string, isMet: (value: number, limit: number) => boolean): Check {
  return (limit, { value, at }) =>
    typeof value !== "number" || typeof limit !== "number" || isMet(value, limit)
      ? []
      : [{ at, message: `must be ${words} ${limit}.` }];
}

function count(
  type: "string" | "array",
  words: string,
  isMet: (length: number, limit: number) => boolean,
): Check {
  return (limit, { value, at }) => {
    const isMeant = typeof value === "string" ? type === "string" : type === "array";
    if (!isMeant || typeof limit !== "number") return [];
    // Characters are code points, as everywhere.
    const length =
      typeof value === "string" ? [...value].length : isJsonArray(value) ? value.length : limit;
    return isMet(length, limit)
      ? []
      : [{ at, message: `must have ${words} ${limit}, and has ${length}.` }];
  };
}
