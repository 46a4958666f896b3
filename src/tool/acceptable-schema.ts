import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { compact, isObject } from "../value/json.ts";
import {
  DEFINITION,
  type Definition,
  foldSchema,
  LIST_KEYWORDS,
  NAMED_SCHEMA_KEYWORDS,
  SCHEMA_KEYWORDS,
  schemaAtPointer,
  withoutOneOf,
} from "./json-schema.ts";

/**
 * Makes of any schema of a tool's input one that providers take. They check the schemas of all tools with each call, and
 * refuse the call for one: it would end every turn. The result is a schema of draft 2020-12 for an object, without
 * choices at its root, that accepts at least as much; the tool's own schema checks the input. A keyword that is not in
 * `READERS`, or does not hold what it must, is left out. Cost: linear.
 */
export function acceptableSchema(schema: JSONSchema7): JSONSchema7 {
  return plainRoot(new SchemaReader(schema).read());
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
const isFlag = (held: unknown) => typeof held === "boolean";

function keywords(names: string, read: Read): readonly (readonly [string, Read])[] {
  return names.split(" ").map((name) => [name, read]);
}

const onlyIf = (fits: (held: unknown) => boolean) => (held: unknown) =>
  fits(held) ? held : undefined;

/** The keywords that a model is shown, beside those that hold schemas. */
const READERS: ReadonlyMap<string, Read> = new Map([
  ...keywords("title description format", onlyIf(isText)),
  ...keywords("minimum maximum exclusiveMinimum exclusiveMaximum", onlyIf(isNumber)),
  ...keywords("multipleOf", onlyIf(isPositive)),
  ...keywords("minLength maxLength minItems maxItems minProperties maxProperties", onlyIf(isCount)),
  ...keywords("deprecated readOnly writeOnly", onlyIf(isFlag)),
  ...keywords("enum examples", onlyIf(Array.isArray)),
  ...keywords("const default", (held) => held),
  ...keywords("required", (held) => uniqueIn(held)?.filter(isText)),
  ...keywords("pattern", onlyIf(isPlainPattern)),
  ...keywords("type", readType),
]);

/** Of the keywords that hold schemas, those that a model is shown. */
const SHOWN: ReadonlySet<string> = new Set(
  "$defs additionalProperties allOf anyOf definitions items patternProperties prefixItems properties".split(
    " ",
  ),
);

/** Returns each item once. */
function uniqueIn(held: unknown): readonly unknown[] | undefined {
  if (!Array.isArray(held)) return undefined;
  return [...new Map(held.map((item) => [JSON.stringify(item), item])).values()];
}

function unlessEmpty<Item>(items: readonly Item[] | undefined): readonly Item[] | undefined {
  return items?.length === 0 ? undefined : items;
}

/** Names that generators use for the types of JSON. */
const TYPES: ReadonlyMap<unknown, string> = new Map(
  Object.entries({
    string: "string str text",
    number: "number float double decimal",
    integer: "integer int long",
    boolean: "boolean bool",
    array: "array list tuple",
    object: "object dict map",
    null: "null",
  }).flatMap(([type, names]) => names.split(" ").map((name) => [name, type] as const)),
);

/** Returns nothing if one of the types is unknown, such as `any`. */
function readType(held: unknown): unknown {
  const types = uniqueIn([held].flat().map((name) => TYPES.get(name))) ?? [];
  if (types.length === 0 || types.includes(undefined)) return undefined;
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

class SchemaReader {
  readonly #root: JSONSchema7;
  /** Schemas that references find outside of definitions, by pointer. They are definitions in the result. */
  readonly #moved = new Map<string, { readonly name: string; schema: Definition }>();
  /** Each of them is a copy. */
  #left = limits.maxBlockChars;

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  read(): JSONSchema7 {
    const { $defs, ...root } = this.#read(this.#root as Held);
    const moved = Array.from(this.#moved.values(), ({ name, schema }) => [name, schema]);
    const definitions = { ...($defs as Held | undefined), ...Object.fromEntries(moved) };
    return Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions };
  }

  #read(given: Held): Held {
    const plain = withoutOneOf(given) as Held;
    // A root has no alternatives in the end.
    const schema = given === this.#root ? plain : withTypedChoices(plain);
    const entries = Object.entries(schema).map(([keyword, held]) => [
      keyword,
      this.#valueOf(keyword, held),
    ]);
    return this.#complete(compact(Object.fromEntries(entries) as Held), schema);
  }

  #valueOf(keyword: string, held: unknown): unknown {
    if (keyword === "$ref") return this.#referenceTo(held);
    if (!SHOWN.has(keyword)) return READERS.get(keyword)?.(held);
    if (LIST_KEYWORDS.has(keyword))
      return Array.isArray(held)
        ? unlessEmpty(held.map((part) => this.#definition(part)))
        : undefined;
    if (NAMED_SCHEMA_KEYWORDS.has(keyword))
      return isObject(held) ? this.#named(keyword, held) : undefined;
    // That there are no other properties informs no model.
    return held === true || isObject(held) ? this.#definition(held) : undefined;
  }

  #definition(held: unknown): Definition {
    return isObject(held) ? this.#read(held) : typeof held === "boolean" ? held : {};
  }

  #named(keyword: string, held: Held): Held {
    const parts = Object.entries(held).filter(
      ([name]) => keyword !== "patternProperties" || isPlainPattern(name),
    );
    return Object.fromEntries(parts.map(([name, part]) => [name, this.#definition(part)]));
  }

  /** Keeps a reference to a definition, or to the whole. */
  #referenceTo(held: unknown): string | undefined {
    if (held === "#") return held;
    if (typeof held !== "string") return undefined;
    const target = schemaAtPointer(held, this.#root);
    if (!isObject(target)) return undefined;
    if (DEFINITION.test(held)) return held;
    const known = this.#moved.get(held);
    if (known !== undefined) return `#/$defs/${known.name}`;
    this.#left -= JSON.stringify(target).length;
    if (this.#left < 0) return undefined;
    const { $defs = {} } = this.#root as { readonly $defs?: object };
    let name = `part_${this.#moved.size + 1}`;
    while (Object.hasOwn($defs, name)) name = `${name}_`;
    const moved = { name, schema: true as Definition };
    this.#moved.set(held, moved);
    moved.schema = this.#definition(target);
    return `#/$defs/${name}`;
  }

  /** Adds what providers miss in a schema, of which `given` is the original. */
  #complete(schema: Record<string, unknown>, given: Held): Held {
    if (Array.isArray(given.items)) {
      schema.prefixItems = unlessEmpty(given.items.map((part) => this.#definition(part)));
      schema.items = isObject(given.additionalItems) ? this.#definition(given.additionalItems) : {};
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
    const isTold = typeof given.pattern === "string" && given.pattern.length <= MAX_TOLD_CHARS;
    if (isTold && pattern === undefined)
      schema.description = [description ?? [], `Pattern: ${given.pattern}`].flat().join(" ");
    return compact(schema);
  }
}

/** Adds the properties that are required, but not described. */
function withEach(
  required: Iterable<string>,
  properties: Readonly<Record<string, Definition>> | undefined,
): typeof properties {
  const missing = [...required].filter((name) => !Object.hasOwn(properties ?? {}, name));
  if (missing.length === 0) return properties;
  return { ...properties, ...Object.fromEntries(missing.map((name) => [name, {}])) };
}

/** Moonshot wants the type in each alternative, and not beside them. */
function withTypedChoices(schema: Held): Held {
  const type = readType(schema.type);
  const { anyOf } = schema;
  if (type === undefined || !Array.isArray(anyOf)) return schema;
  const typed = anyOf.map((part: unknown) => {
    if (part === true) return { type };
    return isObject(part) && part.type === undefined && part.$ref === undefined
      ? { type, ...part }
      : part;
  });
  return { ...schema, type: undefined, anyOf: typed };
}

/**
 * Returns a schema of an object without choices at its root, for which Anthropic and OpenAI refuse the call: it has the
 * properties of all of them, and requires what all require. Its description says the rest. A root of another type stays.
 */
function plainRoot(schema: JSONSchema7): JSONSchema7 {
  const { anyOf, allOf, enum: listed, $ref, ...rest } = schema;
  const left = compact({ anyOf, allOf, enum: listed });
  if (!isOfObject(schema)) return schema;
  if (Object.keys(left).length === 0 && $ref === undefined)
    return { ...rest, type: "object", properties: schema.properties ?? {} };
  const { properties, required } = foldSchema<ObjectParameters>(schema, schema, {
    own: ownParameters,
    all: (parts) => joinParameters(parts, new Set(parts.flatMap((part) => [...part.required]))),
    any(parts) {
      const objects = parts.filter(({ isObject: isOne }) => isOne);
      const [first, ...others] = objects;
      const all = [...(first?.required ?? [])].filter((name) =>
        others.every((one) => one.required.has(name)),
      );
      return joinParameters(objects, new Set(all));
    },
  });
  const told = JSON.stringify(left);
  const more = told.length > MAX_TOLD_CHARS ? [] : [`It must also fit ${told}.`];
  const merged = Array.from(properties, ([name, kinds]): [string, Definition] => {
    const [only = true, ...others] = kinds.values();
    return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
  });
  return {
    ...rest,
    type: "object",
    ...compact({ description: [schema.description ?? [], more].flat().join("\n") || undefined }),
    properties: withEach(required, Object.fromEntries(merged)) ?? {},
    required: [...required],
  };
}

function isOfObject({ type = "object" }: JSONSchema7): boolean {
  return [type].flat().includes("object");
}

/** The parameters that a schema has, each with its different schemas by their text, and those that it requires. */
interface ObjectParameters {
  readonly isObject: boolean;
  readonly properties: ReadonlyMap<string, ReadonlyMap<string, Definition>>;
  readonly required: ReadonlySet<string>;
}

function ownParameters(schema: Definition): ObjectParameters {
  const isOne = typeof schema === "boolean" || isOfObject(schema);
  const { properties = {}, required = [] } = typeof schema === "object" && isOne ? schema : {};
  const named = Object.entries(properties).map(
    ([name, one]) => [name, new Map([[JSON.stringify(one), one]])] as const,
  );
  return { isObject: isOne, properties: new Map(named), required: new Set(required) };
}

function joinParameters(
  parts: readonly ObjectParameters[],
  required: ReadonlySet<string>,
): ObjectParameters {
  const properties = new Map<string, Map<string, Definition>>();
  for (const part of parts) {
    for (const [name, kinds] of part.properties)
      properties.set(name, new Map([...(properties.get(name) ?? []), ...kinds]));
  }
  return { isObject: parts.some(({ isObject: isOne }) => isOne), properties, required };
}
