import type { JSONSchema7 } from "ai";
import { type Json, jsonIn, type JsonObject, typeOfJson } from "../../value/json.ts";
import { parametersIn, type TypeName, typesIn } from "./parameter-schemas.ts";

/**
 * The parameters with the types that the tool's schema wants: what was written as text, in an attribute,
 * and reads as JSON of such a type becomes it. What may be a string stays one, and so does what reads as
 * nothing else, references included: what they stand for has a type already.
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
