import { compact } from "../value/json.ts";
import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import type { Syntaxes } from "../reference/syntaxes.ts";
import { type Definition, mapSubschemas } from "./json-schema.ts";

/** Keywords that restrict strings. A reference would not satisfy them. */
const STRING_KEYWORDS = ["enum", "const", "pattern", "format", "minLength", "maxLength"] as const;
const REFERENCE: JSONSchema7 = { type: "string", description: "or a $reference" };
/** Keywords whose schemas apply to the same value: the schema around them accepts the reference. */
const SAME_VALUE: ReadonlySet<string> = new Set(
  "anyOf oneOf then else dependencies dependentSchemas".split(" "),
);
/** Keywords that are not widened: a widened schema would refuse valid values, or select another branch. */
const NOT_WIDENED: ReadonlySet<string> = new Set(["not", "if", "propertyNames"]);
const TYPE_CHARS = '["string"],'.length;

/**
 * Returns the schema for the model. It accepts everything that the original accepts, and a string for a reference
 * in place of each property and element. The original validates the resolved value. A root that is not an object is
 * left unchanged. At most `maxBlockChars` are added: in a schema that needs more, deeply nested places accept no
 * references.
 */
export function widenSchema(
  schema: JSONSchema7,
  { syntaxes = ["dollar"] }: { readonly syntaxes?: Syntaxes | undefined } = {},
): JSONSchema7 {
  const isObjectRoot = schema.type === "object" || schema.properties !== undefined;
  if (!isObjectRoot) return schema;
  const reference = syntaxes.includes("dollar")
    ? REFERENCE
    : { ...REFERENCE, description: "or a reference" };
  let widened = schema;
  for (const depth of DEPTHS) {
    const widening = new Widening(depth, reference);
    widened = widening.inside(schema, 1);
    if (!widening.isFull) break;
  }
  return widened;
}

/** Maximum depths of places that accept references; the first depth that fits is used. */
const DEPTHS = [Infinity, 8, 4, 2, 1];

class Widening {
  readonly #maxDepth: number;
  readonly #reference: JSONSchema7;
  /** Length of the JSON that the reference adds as an alternative. */
  readonly #chars: number;
  #left = limits.maxBlockChars;

  constructor(maxDepth: number, reference: JSONSchema7) {
    this.#maxDepth = maxDepth;
    this.#reference = reference;
    this.#chars = JSON.stringify({ anyOf: [reference] }).length;
  }

  /** True if some places could not be widened within the limit. */
  get isFull(): boolean {
    return this.#left < 0;
  }

  /** Widens the schemas that the schema holds. `depth` applies to those. */
  inside(schema: JSONSchema7, depth: number): JSONSchema7 {
    const {
      oneOf,
      maxContains: _more,
      ...widened
    } = mapSubschemas(schema, (part, keyword): Definition => {
      if (NOT_WIDENED.has(keyword) || typeof part === "boolean") return part;
      return SAME_VALUE.has(keyword) ? this.inside(part, depth) : this.#widen(part, depth);
    }) as JSONSchema7 & { readonly maxContains?: unknown };
    // A `not` that refers to a widened schema would mean something else.
    if (refersTo(widened.not)) delete widened.not;
    if (refersTo(widened.if))
      for (const keyword of ["if", "then", "else"] as const) delete widened[keyword];
    // Widened alternatives may overlap, which `oneOf` would forbid.
    if (oneOf === undefined) return widened;
    if (widened.anyOf === undefined) return { ...widened, anyOf: oneOf };
    return { ...widened, allOf: [...(widened.allOf ?? []), { anyOf: oneOf }] };
  }

  #widen(schema: JSONSchema7, depth: number): JSONSchema7 {
    const inner = this.inside(schema, depth + 1);
    const { $ref, type, anyOf, oneOf, not } = schema;
    const isChoice = anyOf !== undefined || oneOf !== undefined;
    if (!isChoice && takesAnyString(schema) && ($ref === undefined || DEFINITION.test($ref)))
      return inner;
    if (depth > this.#maxDepth || this.isFull) return inner;
    const isBound = isChoice || $ref !== undefined || not !== undefined || isConditional(schema);
    const isOpen = !isBound && type !== undefined && !hasStringKeyword(schema);
    this.#left -= isOpen ? TYPE_CHARS : this.#chars;
    if (this.isFull) return inner;
    return isOpen
      ? { ...inner, type: [...typesOf(inner), "string"] }
      : orReference(inner, this.#reference);
  }
}

/** Definitions, which are widened where they are defined. */
const DEFINITION = /^#\/(?:\$defs|definitions)\/[^/]+$/;

function refersTo(schema: Definition | undefined): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"$ref"');
}

/** The description stays first, where models look for it. */
function orReference(schema: JSONSchema7, reference: JSONSchema7): JSONSchema7 {
  const { description, default: preset, ...rest } = schema;
  const alternatives =
    rest.anyOf !== undefined && Object.keys(rest).length === 1 ? rest.anyOf : [rest];
  return {
    ...compact({ description, default: preset }),
    anyOf: [...alternatives, reference],
  };
}

/** Checks the schema's own keywords; `allOf` is widened separately. */
function takesAnyString(schema: JSONSchema7): boolean {
  if (hasStringKeyword(schema) || schema.not !== undefined || isConditional(schema)) return false;
  return schema.type === undefined || typesOf(schema).includes("string");
}

function hasStringKeyword(schema: JSONSchema7): boolean {
  return STRING_KEYWORDS.some((keyword) => schema[keyword] !== undefined);
}

/** True if a condition refuses some strings. */
function isConditional({
  if: condition,
  then: met = true,
  else: unmet = true,
}: JSONSchema7): boolean {
  if (condition === undefined) return false;
  return [met, unmet].some((part) => (typeof part === "boolean" ? !part : !takesAnyString(part)));
}

function typesOf({ type }: JSONSchema7) {
  return type === undefined ? [] : [type].flat();
}
