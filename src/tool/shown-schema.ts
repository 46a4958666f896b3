import { jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { nearest } from "../reference/near.ts";
import { trimUnderscores } from "../store/names.ts";
import type { Syntaxes } from "../reference/syntaxes.ts";
import { clip } from "../value/characters.ts";
import { compact, isJsonObject, isObject, type Json } from "../value/json.ts";
import { acceptableSchema } from "./acceptable-schema.ts";
import { DEFINITION, type Definition, mapSubschemas, withoutOneOf } from "./json-schema.ts";
import type { RuntimeTool } from "./runtime-tool.ts";
import { withTarget } from "./save-target.ts";
import type { AnyTool, WrapOptions } from "./wrapped-tool.ts";

export interface NamedTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly options: WrapOptions;
}

/** A schema as the model is shown it. */
export interface ShownSchema {
  readonly schema: JSONSchema7;
  /** Place of the result. True: the model may choose with `_outputPath`; a string: at that place; false: only the caller may. */
  readonly target: string | boolean;
  /** The parameters of the tool and of `schema`; undefined if there may be others. */
  readonly parameters: ReadonlySet<string> | undefined;
  /** The tool's names of parameters that have another name in `schema`, by that name. */
  readonly names?: ReadonlyMap<string, string> | undefined;
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

/** By the tool's own schema: each turn wraps all tools, and widening is most of the work. */
const shownSchemas = new WeakMap<JSONSchema7, Map<string, ShownSchema>>();

/** Returns the schema that the model is shown. */
export function shownSchema(
  { name, tool, options: { syntaxes, outputPath = false } }: NamedTool,
  schema: JSONSchema7,
): ShownSchema {
  const isStrict = tool.strict === true;
  const wanted = typeof outputPath === "boolean" ? outputPath : (outputPath[name] ?? false);
  const isChosen = wanted === true;
  const make = (): ShownSchema => {
    const { schema: plain, names } = isStrict
      ? { schema, names: NO_NAMES }
      : withPlainNames(acceptableSchema(schema));
    const shown = widenSchema(plain, { syntaxes });
    const extended = isChosen ? withTarget(shown, isStrict) : undefined;
    const parameters = declaredIn(extended ?? schema);
    return { schema: extended ?? shown, target: extended !== undefined, parameters, names };
  };
  // Everything else that the result depends on.
  const key = [syntaxes?.includes("dollar") ?? true, isStrict, isChosen].join();
  const known = shownSchemas.get(schema) ?? new Map<string, ShownSchema>();
  const shown = known.get(key) ?? make();
  shownSchemas.set(schema, known.set(key, shown));
  return isChosen ? shown : { ...shown, target: wanted };
}

/** Anthropic refuses a call with a tool that has a parameter of another name. */
const PARAMETER = /^[\w.-]{1,64}$/;
const MAX_PARAMETER_CHARS = 60;

/** Gives parameters whose names a provider refuses, like `$filter`, other names. */
function withPlainNames(schema: JSONSchema7): Pick<ShownSchema, "schema" | "names"> {
  const { properties = {}, required = [] } = schema;
  if (Object.keys(properties).every((own) => PARAMETER.test(own)))
    return { schema, names: NO_NAMES };
  const names = new Map<string, string>();
  const renamed = Object.entries(properties).map(([own, definition]) => {
    if (PARAMETER.test(own)) return [own, definition];
    const plain = trimUnderscores(own.replaceAll(/[^\w.-]+/g, "_"));
    const start = plain.slice(0, MAX_PARAMETER_CHARS) || "parameter";
    let name = start;
    for (let count = 2; Object.hasOwn(properties, name) || names.has(name); count++)
      name = `${start}_${count}`;
    names.set(name, own);
    const { description, ...rest } = typeof definition === "boolean" ? {} : definition;
    return [name, { description: [own, description ?? []].flat().join(": "), ...rest }];
  });
  const shownNames = new Map(Array.from(names, ([name, own]) => [own, name]));
  return {
    schema: {
      ...schema,
      properties: Object.fromEntries(renamed) as JSONSchema7["properties"] & object,
      required: required.map((own) => shownNames.get(own) ?? own),
    },
    names,
  };
}

/** Returns an input with the tool's names of its parameters. */
export function withOwnNames(input: Json, names = NO_NAMES): Json {
  if (names.size === 0 || !isJsonObject(input)) return input;
  const entries = Object.entries(input).map(([name, value]) => {
    const own = names.get(name) ?? name;
    return [Object.hasOwn(input, own) ? name : own, value];
  });
  return Object.fromEntries(entries) as Json;
}

/** OpenAI refuses a call with a tool that is described in more characters; a schema's own description has no limit. */
const MAX_DESCRIPTION_CHARS = 1_024;

/** Returns how a tool is described to a model. What a description has no room for begins that of the schema. */
export function describedTool(description: unknown, schema: JSONSchema7) {
  if (typeof description !== "string" || description.length <= MAX_DESCRIPTION_CHARS)
    return { description, inputSchema: jsonSchema(schema) };
  const start = description.slice(0, MAX_DESCRIPTION_CHARS).replace(/[\uD800-\uDBFF]$/, "");
  const end = Math.max(start.lastIndexOf(" "), start.lastIndexOf("\n"));
  const shown = end > 0 ? start.slice(0, end) : start;
  const rest = description.slice(shown.length).trimStart();
  const more = [rest, schema.description ?? []].flat().join("\n");
  return { description: shown, inputSchema: jsonSchema({ ...schema, description: more }) };
}

/** Returns the schema that the model is shown, without a place for the result. */
export function runtimeToolSchema(
  own: JSONSchema7,
  { unlisted = [] }: Pick<RuntimeTool, "unlisted">,
): JSONSchema7 {
  const { $schema: _, properties = {}, ...schema } = own;
  const listed = Object.entries(properties).filter(([name]) => !unlisted.includes(name));
  const shown = { ...schema, properties: Object.fromEntries(listed) };
  return withoutBounds(shown);
}

function withoutBounds(schema: JSONSchema7): JSONSchema7 {
  const kept = Object.entries(schema).filter(([keyword]) => !BOUNDS.has(keyword));
  return mapSubschemas(Object.fromEntries(kept), (inner) =>
    typeof inner === "boolean" ? inner : withoutBounds(inner),
  );
}

/**
 * Keywords of constraints that a tool checks itself. They are omitted, because a schema is sent with each call, and
 * the error of a refused input names the bounds.
 */
const BOUNDS: ReadonlySet<string> = new Set(
  "additionalProperties default definitions exclusiveMinimum maxItems maxLength maximum minItems minLength minimum".split(
    " ",
  ),
);

/** The names of the parameters that a schema declares; undefined if there may be others. */
export function declaredIn(schema: JSONSchema7): ReadonlySet<string> | undefined {
  const { properties, additionalProperties = false } = schema;
  const isOpen = additionalProperties !== false || OPEN.some((keyword) => keyword in schema);
  return properties === undefined || isOpen ? undefined : new Set(Object.keys(properties));
}

const OPEN = ["allOf", "anyOf", "oneOf", "patternProperties", "$ref"];

/**
 * Refuses a parameter that begins with `_` and is not declared: it is a misspelled one of the runtime's, which
 * the tool might ignore. Throws `invalid_tool_input`, whose message has the nearest declared one.
 */
export function requireKnown(input: Json, declared: ReadonlySet<string> | undefined): void {
  if (declared === undefined || !isObject(input)) return;
  const unknown = Object.keys(input).find((key) => key.startsWith("_") && !declared.has(key));
  if (unknown === undefined) return;
  const own = [...declared].filter((key) => key.startsWith("_"));
  const written = unknown.toLowerCase();
  const longer = own.find((key) => key.toLowerCase().startsWith(written));
  const near = longer ?? nearest(unknown, declared)[0];
  const advice = near === undefined ? "" : ` The nearest is ${near}.`;
  const message = `The tool has no parameter ${clip(unknown, MAX_SHOWN_CHARS)}.${advice}`;
  throw new ByrefError("invalid_tool_input", message);
}

const MAX_SHOWN_CHARS = 80;

/** Keywords that restrict strings. A reference would not satisfy them. */
const STRING_KEYWORDS = ["enum", "const", "pattern", "format", "minLength", "maxLength"] as const;
const REFERENCE: JSONSchema7 = { type: "string", description: "or a $reference" };
/** Keywords of conditions. They are left out, because a reference in the value could change their verdict. */
const CONDITIONS: ReadonlySet<string> = new Set(
  "contains dependencies dependentSchemas else if maxContains minContains not propertyNames then unevaluatedItems unevaluatedProperties".split(
    " ",
  ),
);
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
    const kept = Object.entries(withoutOneOf(schema)).filter(([one]) => !CONDITIONS.has(one));
    return mapSubschemas(Object.fromEntries(kept), (part, keyword) => {
      if (typeof part === "boolean") return part;
      // The schema around alternatives accepts the reference.
      return keyword === "anyOf" ? this.inside(part, depth) : this.#widen(part, depth);
    });
  }

  #widen(schema: JSONSchema7, depth: number): JSONSchema7 {
    const inner = this.inside(schema, depth + 1);
    const { $ref, type, anyOf } = inner;
    const isLocal = $ref === undefined || DEFINITION.test($ref);
    if (anyOf === undefined && isLocal && takesAnyString(inner)) return inner;
    if (depth > this.#maxDepth || this.isFull) return inner;
    const isBound = anyOf !== undefined || $ref !== undefined || hasStringKeyword(inner);
    const isOpen = !isBound && type !== undefined;
    this.#left -= isOpen ? TYPE_CHARS : this.#chars;
    if (this.isFull) return inner;
    return isOpen
      ? { ...inner, type: [...typesOf(inner), "string"] }
      : orReference(inner, this.#reference);
  }
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
  const isOpen = schema.type === undefined || typesOf(schema).includes("string");
  return isOpen && !hasStringKeyword(schema);
}

function hasStringKeyword(schema: JSONSchema7): boolean {
  return STRING_KEYWORDS.some((keyword) => schema[keyword] !== undefined);
}

function typesOf({ type }: JSONSchema7) {
  return type === undefined ? [] : [type].flat();
}
