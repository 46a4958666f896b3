import type { JSONSchema7 } from "ai";
import { type Definition, foldSchema, type TypeName, typesIn } from "../../tool/json-schema.ts";
import { type Json, jsonIn, type JsonObject, typeOfJson } from "../../value/json.ts";

/** A parameter of a tool, as its schema declares it. */
export interface Parameter {
  readonly name: string;
  /** The schema of its value. Uses `anyOf` if alternatives of the tool's schema differ. */
  readonly schema: Definition;
  readonly isRequired: boolean;
}

interface Named {
  readonly schemas: ReadonlyMap<string, Definition>;
  readonly required: ReadonlySet<string>;
}

/** The parameters that a schema declares, including those of its alternatives. */
export function parametersIn(schema: JSONSchema7): readonly Parameter[] {
  const { schemas, required } = foldSchema<Named>(schema, schema, {
    own: (one) => {
      const { properties = {}, required = [] } = typeof one === "boolean" ? {} : one;
      return { schemas: new Map(Object.entries(properties)), required: new Set(required) };
    },
    all: (parts) => ({
      schemas: joined("allOf", parts),
      required: new Set(parts.flatMap((part) => [...part.required])),
    }),
    // A parameter that one alternative requires may be absent from another.
    any: (parts) => ({ schemas: joined("anyOf", parts), required: new Set() }),
  });
  return Array.from(schemas, ([name, one]) => ({
    name,
    schema: one,
    isRequired: required.has(name),
  }));
}

/**
 * Merges the parameters of all parts. A parameter of several parts has to fit all, or any, of its schemas.
 */
function joined(keyword: "allOf" | "anyOf", parts: readonly Named[]): Named["schemas"] {
  const schemas = new Map<string, Definition[]>();
  for (const [name, schema] of parts.flatMap((part) => [...part.schemas])) {
    schemas.set(name, [...(schemas.get(name) ?? []), schema]);
  }
  return new Map(
    Array.from(schemas, ([name, all]) => [
      name,
      all.length > 1 ? { [keyword]: all } : (all[0] ?? true),
    ]),
  );
}

/**
 * Converts text parameters to the types in the tool's schema. A text is parsed if it is valid JSON of such a
 * type. A text stays text if the schema accepts strings, or if it does not parse. References stay text too,
 * because their values already have a type.
 */
export function coerceParameters(parameters: JsonObject, schema: JSONSchema7): JsonObject {
  const known = new Map(parametersIn(schema).map((parameter) => [parameter.name, parameter]));
  const coerced = Object.entries(parameters).map(([name, value]): [string, Json] => {
    if (typeof value !== "string") return [name, value];
    const { schema: own = schema.additionalProperties ?? true } = known.get(name) ?? {};
    const types = typesIn(own, schema);
    return [name, types.has("string") ? value : readAs(value, types)];
  });
  return Object.fromEntries(coerced);
}

function readAs(text: string, types: ReadonlySet<TypeName>): Json {
  const value = jsonIn(text);
  if (value === undefined) return text;
  const type = typeOfJson(value);
  const isInteger = type === "number" && types.has("integer") && Number.isInteger(value);
  return types.has(type) || isInteger ? value : text;
}
