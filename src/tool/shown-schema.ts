import { jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import { ByrefError } from "../errors.ts";
import * as limits from "../limits.ts";
import { nearest } from "../reference/near.ts";
import { trimUnderscores } from "../store/names.ts";
import type { Syntaxes } from "../reference/syntaxes.ts";
import { clip } from "../value/characters.ts";
import { compact, isJsonObject, isObject, type Json, typeOfJson } from "../value/json.ts";
import {
  DEFINITION,
  type Definition,
  mapSubschemas,
  withoutOneOf,
  LIST_KEYWORDS,
  NAMED_SCHEMA_KEYWORDS,
  schemaAtPointer,
  TYPES,
} from "./json-schema.ts";
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

/**
 * Returns the schema for the model. It accepts everything that the original accepts, and a string for a reference
 * in place of each property and element. The original validates the resolved value. A root that is not an object is
 * left unchanged. At most `maxBlockChars` are added, and no level beyond `MAX_LEVELS`: in a schema that needs more,
 * some nested places accept no references.
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
  return new Widening(reference).inside(schema, 1);
}

class Widening {
  readonly #reference: JSONSchema7;
  #left = limits.maxBlockChars;

  constructor(reference: JSONSchema7) {
    this.#reference = reference;
  }

  /** Widens the schemas that the schema holds, first these and then what they hold. `level`: its own. */
  inside(schema: JSONSchema7, level: number): JSONSchema7 {
    const kept = Object.entries(withoutOneOf(schema)).filter(([one]) => !CONDITIONS.has(one));
    const chosen = mapSubschemas(Object.fromEntries(kept), (part, keyword) => {
      // The schema around alternatives accepts the reference.
      if (typeof part === "boolean" || keyword === "anyOf") return part;
      return this.#widen(withoutOneOf(part), level + 1);
    });
    return mapSubschemas(chosen, (part) =>
      typeof part === "boolean" ? part : this.inside(part, level + 1),
    );
  }

  /** Returns a choice of the schema and a reference, if there is room for it. */
  #widen(schema: JSONSchema7, level: number): JSONSchema7 {
    const hasChoices = schema.anyOf !== undefined;
    const levels = level + heightOf(schema) + (hasChoices ? 0 : 1);
    if (takesAnyString(schema) || levels > MAX_LEVELS) return schema;
    const isBound = hasChoices || schema.$ref !== undefined || hasStringKeyword(schema);
    const reference = isBound ? this.#reference : TEXT;
    const chars = JSON.stringify({ anyOf: [reference] }).length;
    if (chars > this.#left) return schema;
    this.#left -= chars;
    return orReference(schema, reference);
  }
}

const TEXT: JSONSchema7 = { type: "string" };

/** The levels of schemas that the schema holds. */
function heightOf(schema: JSONSchema7): number {
  let height = 0;
  mapSubschemas(schema, (part) => {
    height = Math.max(height, 1 + (typeof part === "boolean" ? 0 : heightOf(part)));
    return part;
  });
  return height;
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

/**
 * Checks the schema's own keywords and its alternatives; `allOf` is widened separately, and so are definitions.
 */
function takesAnyString(schema: Definition): boolean {
  if (typeof schema === "boolean") return schema;
  const { $ref, type, anyOf } = schema;
  if ($ref !== undefined && !DEFINITION.test($ref)) return false;
  const isOpen = type === undefined || [type].flat().includes("string");
  return isOpen && !hasStringKeyword(schema) && (anyOf?.some(takesAnyString) ?? true);
}

function hasStringKeyword(schema: JSONSchema7): boolean {
  return STRING_KEYWORDS.some((keyword) => schema[keyword] !== undefined);
}

// Schemas that providers take.

/**
 * Makes of any schema of a tool's input one that providers take. They check the schemas of all tools with each call, and
 * refuse the call for one: it would end every turn. The result is a schema of draft 2020-12 for an object, without
 * choices at its root, without references and of less than `MAX_LEVELS`, that accepts at least as much; the tool's own
 * schema checks the input. A keyword that is not in `READERS`, or does not hold what it must, is left out. Cost: linear.
 */
export function acceptableSchema(schema: JSONSchema7): JSONSchema7 {
  return new SchemaReader(schema).readRoot();
}

/** The most that descriptions say of a keyword that is left out. */
const MAX_TOLD_CHARS = 1_000;

type Held = Readonly<Record<string, unknown>>;
/** Returns what a keyword may hold; undefined leaves the keyword out. */
type Read = (held: unknown) => unknown;

const isText = (held: unknown) => typeof held === "string";
const isNumber = (held: unknown) => typeof held === "number";
const isPositive = (held: unknown) => isNumber(held) && Number(held) > 0;
const isCount = (held: unknown) => Number.isSafeInteger(held) && Number(held) >= 0;

function keywords(names: string, read: Read): readonly (readonly [string, Read])[] {
  return names.split(" ").map((name) => [name, read]);
}

const onlyIf = (fits: (held: unknown) => boolean) => (held: unknown) =>
  fits(held) ? held : undefined;

/** The keywords that a model is shown, beside those that hold schemas. */
const READERS: ReadonlyMap<string, Read> = new Map([
  ...keywords("title description format contentEncoding contentMediaType", onlyIf(isText)),
  ...keywords("minimum maximum exclusiveMinimum exclusiveMaximum", onlyIf(isNumber)),
  ...keywords("multipleOf", onlyIf(isPositive)),
  ...keywords("minLength maxLength minItems maxItems minProperties maxProperties", onlyIf(isCount)),
  ...keywords("enum examples", onlyIf(Array.isArray)),
  ...keywords("default", (held) => held),
  ...keywords("required", (held) => uniqueIn(held)?.filter(isText)),
  ...keywords("pattern", onlyIf(isPlainPattern)),
  ...keywords("type", readType),
]);

/** Of the keywords that hold schemas, those that a model is shown. */
const SHOWN: ReadonlySet<string> = new Set(
  "additionalProperties allOf anyOf items patternProperties prefixItems properties".split(" "),
);

/** Keywords about values of one type. */
const TYPE_OF_KEYWORD: ReadonlyMap<string, unknown> = new Map(
  [
    "object properties required additionalProperties patternProperties minProperties maxProperties",
    "array items additionalItems prefixItems minItems maxItems",
    "string minLength maxLength pattern format contentEncoding contentMediaType",
    "number minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
  ].flatMap((line) => {
    const [type, ...names] = line.split(" ");
    return names.map((name) => [name, type] as const);
  }),
);

/** Returns each item once. */
function uniqueIn(held: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(held)) return undefined;
  return [...new Map(held.map((item) => [JSON.stringify(item), item])).values()];
}

function unlessEmpty<Item>(items: readonly Item[] | undefined): readonly Item[] | undefined {
  return items?.length === 0 ? undefined : items;
}

/** Returns nothing if one of the types is unknown, such as `any`. */
function readType(held: unknown): unknown {
  const types = uniqueIn([held].flat()) ?? [];
  if (types.length === 0 || !types.every((type) => TYPES.some((one) => one === type)))
    return undefined;
  return types.length === 1 ? types[0] : types;
}

/**
 * True for a pattern that means the same in JavaScript, Python, Go and Rust: without look-around, references, classes of
 * Unicode, or a bracket in a class. OpenAI refuses others.
 */
function isPlainPattern(held: unknown): held is string {
  if (typeof held !== "string" || held.length > MAX_TOLD_CHARS) return false;
  if (/\(\?(?!:)|\\[^\W\dbBdDwWsStnrfv]|\\\d|\[\^?\]|\[(?:[^\]\\]|\\.)*\[/.test(held)) return false;
  try {
    return new RegExp(held, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** Adds to a description what the schema leaves out, if that is short. */
function described(description: unknown, ...more: readonly string[]): string | undefined {
  const told = more.filter(({ length }) => length <= MAX_TOLD_CHARS);
  return [description, ...told].filter((text) => typeof text === "string").join(" ") || undefined;
}

class SchemaReader {
  readonly #root: JSONSchema7;
  /** The targets of the references around the schema that is read. */
  readonly #around = new Set<object>();
  /** The schemas that references led to, as JSON. */
  readonly #texts = new Map<object, string>();
  /** Room for what is shown more than once, and for outlines. */
  #left = limits.maxBlockChars;

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  readRoot(): JSONSchema7 {
    this.#around.add(this.#root);
    const { $ref, ...root } = withoutOneOf(this.#root);
    const target = $ref === undefined ? [] : [this.#readSchema({ $ref }, 1)];
    return plainRoot(this.#entries(root as Held, 1), target);
  }

  #readSchema(schema: Held, level: number): Held {
    const { $ref, ...others } = schema;
    if ($ref !== undefined) return this.#target($ref, others, level);
    if (level >= MAX_LEVELS - 1 && heightOf(schema) > 0) return this.#outline(schema);
    return this.#entries(withOneType(withoutOneOf(schema) as Held), level);
  }

  /**
   * Returns the schema that a reference leads to, in place of the reference: Grok, Meta, and Google by the AI SDK refuse
   * a schema that contains itself, and some clients any reference.
   */
  #target($ref: unknown, { description, default: preset, ...others }: Held, level: number): Held {
    const beside = compact({ description: described(description), default: preset });
    const target = typeof $ref === "string" ? schemaAtPointer($ref, this.#root) : true;
    if (!isObject(target)) return this.#readSchema({ ...others, ...beside }, level);
    const isFirst = DEFINITION.test(String($ref)) && !this.#texts.has(target);
    const { length } = this.#textOf(target);
    const isDeep = this.#around.has(target) || this.#around.size > limits.maxDepth;
    if (isDeep || (!isFirst && length > this.#left)) return { ...this.#outline(target), ...beside };
    if (!isFirst) this.#left -= length;
    this.#around.add(target);
    const read = this.#readSchema(target, level);
    this.#around.delete(target);
    return { ...read, ...beside };
  }

  #textOf(schema: Held): string {
    const { description: _, ...rest } = schema;
    const text = this.#texts.get(schema) ?? JSON.stringify(rest);
    this.#texts.set(schema, text);
    return text;
  }

  /** Returns what is shown in place of a schema: its type, and the rest in words. */
  #outline(schema: Held): Held {
    const text = `As JSON Schema: ${this.#textOf(schema)}`;
    if (text.length <= MAX_TOLD_CHARS) this.#left -= text.length;
    const { description, type } = schema;
    return compact({
      description: described(description, ...(this.#left < 0 ? [] : [text])),
      type: typeof type === "string" ? readType(type) : undefined,
      items: type === "array" ? {} : undefined,
    });
  }

  #entries(schema: Held, level: number): Held {
    const entries = Object.entries(schema).map(([keyword, held]) => [
      keyword,
      this.#valueOf(keyword, held, level),
    ]);
    return this.#complete(compact(Object.fromEntries(entries) as Held), schema, level);
  }

  #valueOf(keyword: string, held: unknown, level: number): unknown {
    if (!SHOWN.has(keyword)) return READERS.get(keyword)?.(held);
    if (LIST_KEYWORDS.has(keyword))
      return Array.isArray(held) ? unlessEmpty(this.#definitions(held, level)) : undefined;
    if (NAMED_SCHEMA_KEYWORDS.has(keyword))
      return isObject(held) ? this.#named(keyword, held, level) : undefined;
    if (keyword === "additionalProperties" && held === true) return true;
    // That there are no other properties informs no model.
    return held === true || isObject(held) ? this.#definition(held, level) : undefined;
  }

  #definition(held: unknown, level: number): Held {
    return isObject(held) ? this.#readSchema(held, level + 1) : {};
  }

  #definitions(held: readonly unknown[], level: number): readonly Held[] {
    return held.map((part) => this.#definition(part, level));
  }

  #named(keyword: string, held: Held, level: number): Held {
    const parts = Object.entries(held).filter(
      ([name]) => keyword !== "patternProperties" || isPlainPattern(name),
    );
    return Object.fromEntries(parts.map(([name, part]) => [name, this.#definition(part, level)]));
  }

  /** Adds what providers miss in a schema, of which `given` is the original. */
  #complete(schema: Record<string, unknown>, given: Held, level: number): Held {
    if (Array.isArray(given.items)) {
      schema.prefixItems = unlessEmpty(this.#definitions(given.items, level));
      schema.items = this.#definition(given.additionalItems, level);
    }
    const { type, properties, required = [], description, pattern } = schema as JSONSchema7;
    if ([type].flat().includes("array") && !isObject(schema.items)) schema.items = {};
    if ([type].flat().includes("object") || properties !== undefined)
      schema.properties = withEach(required, properties);
    if (isObject(given.patternProperties)) {
      const { patternProperties: kept = {} } = schema as JSONSchema7;
      const isWhole = Object.keys(given.patternProperties).every((one) => Object.hasOwn(kept, one));
      // It applies to what the patterns leave.
      if (!isWhole) delete schema.additionalProperties;
    }
    if (typeof given.pattern === "string" && pattern === undefined)
      schema.description = described(description, `Pattern: ${given.pattern}`);
    return compact(schema);
  }
}

/**
 * Google takes one type, and no values but texts in `enum`; Moonshot no `enum` without a type, and no type beside
 * alternatives. Several types are alternatives, and a description lists other values.
 */
function withOneType({ type, enum: listed, const: only, anyOf, ...rest }: Held): Held {
  const values = (only === undefined ? uniqueIn(listed) : [only]) ?? [];
  const implied = anyOf === undefined ? values.map((one) => typeOfJson(one as Json)) : [];
  const types = uniqueIn([readType(type) ?? implied].flat()) ?? [];
  const possible = types.filter((one) =>
    values.some((value) => typeOfJson(value as Json) === plainType(one)),
  );
  const texts = values.filter(isText);
  const hasEnum = possible.includes("string") && !Array.isArray(anyOf) && !texts.includes("");
  const isTold = values.length > (hasEnum ? texts.length : 0);
  const list = `One of ${values.map((one) => JSON.stringify(one)).join(", ")}.`;
  const description = described(rest.description, ...(isTold ? [list] : []));
  const whole = { ...rest, ...compact({ description }) };
  if (Array.isArray(anyOf)) {
    const typed = anyOf.map((part: unknown) =>
      isObject(part) && part.type === undefined && part.$ref === undefined
        ? { type, ...part }
        : part,
    );
    return { ...whole, anyOf: readType(type) === undefined ? anyOf : typed };
  }
  const alternatives = (possible.length === 0 ? types : possible).map((one) =>
    compact({ type: one, enum: one === "string" && hasEnum ? texts : undefined }),
  );
  if (alternatives.length < 2) return { ...whole, ...alternatives[0] };
  const entries = Object.entries(whole);
  return {
    ...Object.fromEntries(entries.filter(([keyword]) => !TYPE_OF_KEYWORD.has(keyword))),
    anyOf: alternatives.map((one) => ({
      ...one,
      ...Object.fromEntries(
        entries.filter(([keyword]) => TYPE_OF_KEYWORD.get(keyword) === plainType(one.type)),
      ),
    })),
  };
}

const plainType = (type: unknown) => (type === "integer" ? "number" : type);

/** Meta and Moonshot refuse a schema of more levels, the root included. */
const MAX_LEVELS = 10;

type Properties = Readonly<Record<string, Definition>>;

/** Adds the properties that are required, but not described. */
function withEach(
  required: Iterable<string>,
  properties: Properties | undefined,
): Properties | undefined {
  const missing = [...required].filter((name) => !Object.hasOwn(properties ?? {}, name));
  if (missing.length === 0) return properties;
  return { ...properties, ...Object.fromEntries(missing.map((name) => [name, {}])) };
}

/**
 * Returns a schema of an object without choices at its root, for which Anthropic and OpenAI refuse the call: it has the
 * properties of all of them, and requires what all require. Its description says the rest. A root of another type stays.
 */
function plainRoot(schema: JSONSchema7, target: readonly JSONSchema7[]): JSONSchema7 {
  const { anyOf, allOf = [], enum: listed, ...rest } = schema;
  const left = compact({ anyOf, allOf: schema.allOf, enum: listed });
  if (!isOfObject(schema)) return schema;
  if (Object.keys(left).length === 0 && target.length === 0)
    return { ...rest, type: "object", properties: schema.properties ?? {} };
  const { entries, required } = parametersOf({ ...schema, allOf: [...allOf, ...target] });
  const told = JSON.stringify(left);
  const more = told.length > MAX_TOLD_CHARS ? [] : [`It must also fit ${told}.`];
  const merged = Array.from(Map.groupBy(entries, ([name]) => name)).map(([name, kinds]) => {
    const [only, ...others] = uniqueIn(kinds.map(([, one]) => one)) ?? [];
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  return {
    ...rest,
    type: "object",
    ...compact({ description: [schema.description ?? [], more].flat().join("\n") || undefined }),
    properties: withEach(required, Object.fromEntries(merged) as Properties) ?? {},
    required: [...new Set(required)],
  };
}

function isOfObject(schema: Definition): schema is JSONSchema7 {
  return typeof schema === "object" && [schema.type ?? "object"].flat().includes("object");
}

/** The parameters that an object may have, and those that it requires; some several times. */
interface ObjectParameters {
  readonly entries: readonly (readonly [name: string, schema: Definition])[];
  readonly required: readonly string[];
}

function parametersOf(schema: JSONSchema7): ObjectParameters {
  const { properties = {}, required = [], allOf = [], anyOf = [] } = schema;
  const parts = allOf.filter(isOfObject).map(parametersOf);
  const choices = anyOf.filter(isOfObject).map(parametersOf);
  const [first, ...others] = choices.map((one) => new Set(one.required));
  const ofEach = [...(first ?? [])].filter((name) => others.every((one) => one.has(name)));
  return {
    entries: [
      ...Object.entries(properties),
      ...[...parts, ...choices].flatMap(({ entries }) => entries),
    ],
    required: [...required, ...parts.flatMap((part) => part.required), ...ofEach],
  };
}
