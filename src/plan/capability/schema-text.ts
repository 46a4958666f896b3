import * as limits from "../../limits.ts";
import type { JSONSchema7 } from "ai";
import { clip } from "../../value/characters.ts";
import { alternativesOf, type Definition, pointedTo } from "./parameter-schemas.ts";

const MAX_DEPTH = 4;
/** Schemas that are looked at: a server's may point to one another in any way. */
const MAX_LOOKED_AT = 100;

/** What a schema takes in one short line, written as a type: `{city: string, days?: number}[]`. */
export function schemaText(definition: Definition, root: JSONSchema7): string {
  const text = new SchemaWriter(root).textOf(definition, 0);
  const shown = clip(text, limits.maxSchemaTextChars);
  return shown === text ? text : `${shown}…`;
}

class SchemaWriter {
  readonly #root: JSONSchema7;
  #left = MAX_LOOKED_AT;

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  textOf(definition: Definition, depth: number): string {
    if (this.#left-- <= 0) return "…";
    if (typeof definition === "boolean" || depth > MAX_DEPTH) return "any";
    const { $ref, type, enum: values, const: value, allOf = [] } = definition;
    const inner = (part: Definition) => this.textOf(part, depth + 1);
    if ($ref !== undefined) return inner(pointedTo($ref, this.#root));
    if (values !== undefined) return oneOf(values, (one) => JSON.stringify(one));
    if (value !== undefined) return JSON.stringify(value);
    const alternatives = alternativesOf(definition);
    if (alternatives.length > 0) return oneOf(alternatives, inner);
    if (type !== undefined) {
      const types: readonly string[] = typeof type === "string" ? [type] : type;
      return oneOf(types, (name) => typeText(name, definition, inner));
    }
    const [first] = allOf;
    return first === undefined ? "any" : inner(first);
  }
}

function oneOf<One>(all: readonly One[], textOf: (one: One) => string): string {
  const shown = all.slice(0, MAX_LOOKED_AT).map(textOf);
  return [...new Set(shown)].join(" | ");
}

function typeText(
  name: string,
  { items, properties = {}, required = [], additionalProperties }: JSONSchema7,
  inner: (part: Definition) => string,
): string {
  if (name === "array") {
    const element = items === undefined || Array.isArray(items) ? "any" : inner(items);
    return element.includes(" | ") && !element.startsWith("{") ? `(${element})[]` : `${element}[]`;
  }
  if (name !== "object") return name;
  const fields = Object.entries(properties)
    .slice(0, MAX_LOOKED_AT)
    .map(([key, one]) => `${key}${required.includes(key) ? "" : "?"}: ${inner(one)}`);
  if (typeof additionalProperties === "object") fields.push(`…: ${inner(additionalProperties)}`);
  return fields.length === 0 ? "object" : `{${fields.join(", ")}}`;
}
