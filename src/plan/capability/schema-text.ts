import type { JSONSchema7 } from "ai";
import * as limits from "../../limits.ts";
import { type Definition, foldSchema } from "../../tool/json-schema.ts";
import { clip } from "../../value/characters.ts";

const MAX_DEPTH = 4;
/** Maximum schemas written. A server's schemas may refer to one another in any way. */
const MAX_WRITTEN = 100;

/** Describes the values of a schema in one short line, as a type: `{city: string, days?: number}[]`. */
export function schemaText(definition: Definition, root: JSONSchema7): string {
  let left = MAX_WRITTEN;
  const textOf = (one: Definition, depth: number): string =>
    foldSchema<string>(one, root, {
      own: (schema) => {
        if (left-- <= 0) return "…";
        if (typeof schema === "boolean" || depth > MAX_DEPTH) return ANY;
        return ownText(schema, (part) => textOf(part, depth + 1));
      },
      all: (texts) => texts.find((text) => text !== ANY) ?? ANY,
      any: (texts) => oneOf(texts),
    });
  const text = textOf(definition, 0);
  const shown = clip(text, limits.maxSchemaTextChars);
  return shown === text ? text : `${shown}…`;
}

const ANY = "any";

function ownText(schema: JSONSchema7, inner: (part: Definition) => string): string {
  const { type, enum: values, const: value } = schema;
  if (values !== undefined) return oneOf(values.map((one: unknown) => JSON.stringify(one)));
  if (value !== undefined) return JSON.stringify(value);
  if (type === undefined) return ANY;
  return oneOf([type].flat().map((name) => typeText(name, schema, inner)));
}

function oneOf(texts: readonly string[]): string {
  return [...new Set(texts.slice(0, MAX_WRITTEN))].join(" | ");
}

function typeText(
  name: string,
  { items, properties = {}, required = [], additionalProperties }: JSONSchema7,
  inner: (part: Definition) => string,
): string {
  if (name === "array") {
    const element = items === undefined || Array.isArray(items) ? ANY : inner(items);
    return element.includes(" | ") && !element.startsWith("{") ? `(${element})[]` : `${element}[]`;
  }
  if (name !== "object") return name;
  const fields = Object.entries(properties)
    .slice(0, MAX_WRITTEN)
    .map(([key, one]) => `${key}${required.includes(key) ? "" : "?"}: ${inner(one)}`);
  if (typeof additionalProperties === "object") fields.push(`…: ${inner(additionalProperties)}`);
  return fields.length === 0 ? "object" : `{${fields.join(", ")}}`;
}
