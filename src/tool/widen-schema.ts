import type { JSONSchema7 } from "ai";

type JSONSchema7Definition = JSONSchema7 | boolean;

/** Keywords that say something about strings: a reference would not satisfy them. */
const STRING_KEYWORDS = ["enum", "const", "pattern", "format", "minLength", "maxLength"] as const;
const REFERENCE: JSONSchema7 = { type: "string", description: "or a $reference" };

/**
 * The schema that the model is shown: every parameter also takes a string, for a reference. The original
 * schema checks what the reference stood for. A root that is not an object is left as it is.
 */
export function widenSchema(schema: JSONSchema7): JSONSchema7 {
  const isObjectRoot = schema.type === "object" || schema.properties !== undefined;
  if (!isObjectRoot) return schema;
  return widenChildren(schema);
}

function widen(schema: JSONSchema7Definition): JSONSchema7Definition {
  if (typeof schema === "boolean") return schema;
  // What it points to is widened where it is defined; the root is not, so a pointer to it is.
  if (schema.$ref !== undefined) return schema.$ref === "#" ? orReference(schema) : schema;
  const inner = widenChildren(schema);
  if (schema.anyOf !== undefined || schema.oneOf !== undefined) return orReference(inner);
  if (takesAnyString(inner)) return inner;
  const isBound = STRING_KEYWORDS.some((keyword) => inner[keyword] !== undefined);
  if (isBound || inner.not !== undefined || inner.type === undefined) return orReference(inner);
  return { ...inner, type: [...typesOf(inner), "string"] };
}

/** The description stays in front, where models look for it. */
function orReference(schema: JSONSchema7): JSONSchema7 {
  const { description, default: preset, ...rest } = schema;
  const alternatives =
    rest.anyOf !== undefined && Object.keys(rest).length === 1 ? rest.anyOf : [rest];
  return {
    ...(description === undefined ? {} : { description }),
    ...(preset === undefined ? {} : { default: preset }),
    anyOf: [...alternatives, REFERENCE],
  };
}

function takesAnyString(schema: JSONSchema7): boolean {
  const isBound = STRING_KEYWORDS.some((keyword) => schema[keyword] !== undefined);
  if (isBound || schema.not !== undefined) return false;
  return schema.type === undefined || typesOf(schema).includes("string");
}

function typesOf({ type }: JSONSchema7) {
  if (type === undefined) return [];
  return Array.isArray(type) ? type : [type];
}

function widenChildren(schema: JSONSchema7): JSONSchema7 {
  const widened: JSONSchema7 = { ...schema };
  if (schema.properties !== undefined) widened.properties = widenAll(schema.properties);
  if (schema.$defs !== undefined) widened.$defs = widenAll(schema.$defs);
  if (schema.definitions !== undefined) widened.definitions = widenAll(schema.definitions);
  if (schema.items !== undefined) {
    widened.items = Array.isArray(schema.items) ? schema.items.map(widen) : widen(schema.items);
  }
  if (schema.additionalItems !== undefined) widened.additionalItems = widen(schema.additionalItems);
  if (schema.patternProperties !== undefined) {
    widened.patternProperties = widenAll(schema.patternProperties);
  }
  if (schema.additionalProperties !== undefined) {
    widened.additionalProperties = widen(schema.additionalProperties);
  }
  if (schema.allOf !== undefined) widened.allOf = schema.allOf.map(widen);
  // Widened alternatives may overlap, which `oneOf` would forbid.
  const { oneOf, ...withoutOneOf } = widened;
  const alternatives = schema.anyOf ?? oneOf;
  return alternatives === undefined
    ? widened
    : { ...withoutOneOf, anyOf: alternatives.map(widenAlternative) };
}

/** An alternative is widened inside only: the node around it takes the reference. */
function widenAlternative(schema: JSONSchema7Definition): JSONSchema7Definition {
  return typeof schema === "boolean" ? schema : widenChildren(schema);
}

function widenAll(schemas: Readonly<Record<string, JSONSchema7Definition>>) {
  const entries = Object.entries(schemas).map(([key, schema]) => [key, widen(schema)] as const);
  return Object.fromEntries(entries);
}
