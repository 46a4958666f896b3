import type { JSONSchema7 } from "ai";
import * as limits from "../limits.ts";
import { compact, isObject } from "../value/json.ts";
import {
  DEFINITION,
  type Definition,
  LIST_KEYWORDS,
  NAMED_SCHEMA_KEYWORDS,
  SCHEMA_KEYWORDS,
  schemaAtPointer,
} from "./json-schema.ts";

/**
 * Makes of any schema of a tool's input one that providers take. They check the schemas of all tools with each call, and
 * refuse the call for one: it would end every turn. The result is a schema of draft 2020-12 for an object, without
 * choices at its root, that accepts at least as much; the tool's own schema checks the input. A keyword that does not hold
 * what it must is left out. Cost: linear.
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
const isNamesByName = (held: unknown) =>
  isObject(held) && Object.values(held).every((names) => uniqueIn(names)?.every(isText) === true);

function keywords(names: string, read: Read): readonly (readonly [string, Read])[] {
  return names.split(" ").map((name) => [name, read]);
}

const onlyIf = (fits: (held: unknown) => boolean) => (held: unknown) =>
  fits(held) ? held : undefined;

/** Other keywords stay as they are. The last ones are left out: another draft has them, or a provider refuses them. */
const READERS: ReadonlyMap<string, Read> = new Map([
  ...keywords("title description $comment format contentEncoding contentMediaType", onlyIf(isText)),
  ...keywords("minimum maximum exclusiveMinimum exclusiveMaximum", onlyIf(isNumber)),
  ...keywords("multipleOf", onlyIf(isPositive)),
  ...keywords(
    "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains",
    onlyIf(isCount),
  ),
  ...keywords("deprecated readOnly writeOnly", onlyIf(isFlag)),
  ...keywords("enum examples", onlyIf(Array.isArray)),
  ...keywords("required", (held) => uniqueIn(held)?.filter(isText)),
  ...keywords("dependentRequired", onlyIf(isNamesByName)),
  ...keywords("pattern", onlyIf(isPlainPattern)),
  ...keywords("type", readType),
  ...keywords(
    "$schema $id $anchor $dynamicAnchor $dynamicRef $vocabulary additionalItems dependencies uniqueItems",
    () => undefined,
  ),
]);

/** What is left out of these would let the schema around them accept less. */
const NARROWING: ReadonlySet<string> = new Set(["if", "not"]);
/** They apply to what the patterns of names leave. */
const OTHERS = ["additionalProperties", "unevaluatedProperties"] as const;

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
    // A root has no alternatives in the end.
    const schema = given === this.#root ? given : withTypedChoices(given);
    const entries = Object.entries(schema).map(([keyword, held]) => [
      keyword,
      this.#valueOf(keyword, held),
    ]);
    return this.#complete(compact(Object.fromEntries(entries) as Held), schema);
  }

  #valueOf(keyword: string, held: unknown): unknown {
    if (keyword === "$ref") return this.#referenceTo(held);
    if (NARROWING.has(keyword)) return this.#same(held);
    const read = READERS.get(keyword);
    if (read !== undefined) return read(held);
    if (LIST_KEYWORDS.has(keyword))
      return Array.isArray(held)
        ? unlessEmpty(held.map((part) => this.#definition(part)))
        : undefined;
    if (NAMED_SCHEMA_KEYWORDS.has(keyword))
      return isObject(held) ? this.#named(keyword, held) : undefined;
    if (!SCHEMA_KEYWORDS.has(keyword)) return held;
    return isFlag(held) || isObject(held) ? this.#definition(held) : undefined;
  }

  #definition(held: unknown): Definition {
    return isObject(held) ? this.#read(held) : typeof held === "boolean" ? held : {};
  }

  /** Returns nothing for a schema that has to change. */
  #same(held: unknown): Definition | undefined {
    const read = this.#definition(held);
    return JSON.stringify(read) === JSON.stringify(held) ? read : undefined;
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
      if (!isWhole) for (const rest of OTHERS) delete schema[rest];
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
  const choices = (["anyOf", "oneOf"] as const).filter((keyword) => Array.isArray(schema[keyword]));
  if (type === undefined || choices.length === 0) return schema;
  const typed = (part: unknown) => {
    if (part === true) return { type };
    return isObject(part) && part.type === undefined && part.$ref === undefined
      ? { type, ...part }
      : part;
  };
  const entries = choices.map((keyword) => [keyword, (schema[keyword] as unknown[]).map(typed)]);
  return { ...schema, type: undefined, ...Object.fromEntries(entries) };
}

/** What Anthropic and OpenAI refuse at the root of a tool's schema, and with it the call. */
const CHOICES = ["anyOf", "oneOf", "allOf"] as const;

/**
 * Returns a schema of an object without choices at its root: it has the properties of all of them, and requires what all
 * require. Its description says the rest. A root of another type stays.
 */
function plainRoot(schema: JSONSchema7): JSONSchema7 {
  const { anyOf, oneOf, allOf, not, enum: listed, $ref, ...rest } = schema;
  const left = compact({ anyOf, oneOf, allOf, not, enum: listed });
  if (!isOfObject(schema)) return schema;
  if (Object.keys(left).length === 0 && $ref === undefined)
    return { ...rest, type: "object", properties: schema.properties ?? {} };
  const required = requiredOf(schema, schema);
  const told = JSON.stringify(left);
  const more = told.length > MAX_TOLD_CHARS ? [] : [`It must also fit ${told}.`];
  return {
    ...rest,
    type: "object",
    ...compact({ description: [schema.description ?? [], more].flat().join("\n") || undefined }),
    properties: withEach(required, propertiesOf(partsOf(schema, schema))) ?? {},
    required: [...required],
  };
}

function isOfObject({ type = "object" }: JSONSchema7): boolean {
  return [type].flat().includes("object");
}

/** The schemas that an object's schema is made of, each once: itself, and those of its choices. */
function partsOf(
  schema: JSONSchema7,
  root: JSONSchema7,
  parts = new Set<JSONSchema7>(),
): readonly JSONSchema7[] {
  if (parts.has(schema)) return [];
  parts.add(schema);
  for (const part of [
    targetOf(schema, root),
    ...CHOICES.flatMap((keyword) => schema[keyword] ?? []),
  ])
    if (typeof part !== "boolean") partsOf(part, root, parts);
  return [...parts];
}

function targetOf({ $ref }: JSONSchema7, root: JSONSchema7): Definition {
  return $ref === undefined ? true : schemaAtPointer($ref, root);
}

function propertiesOf(parts: readonly JSONSchema7[]): Record<string, Definition> {
  const all = new Map<string, Map<string, Definition>>();
  for (const { properties = {} } of parts.filter(isOfObject)) {
    for (const [name, one] of Object.entries(properties)) {
      const known = all.get(name) ?? new Map<string, Definition>();
      all.set(name, known.set(JSON.stringify(one), one));
    }
  }
  return Object.fromEntries(
    Array.from(all, ([name, kinds]) => {
      const [only = true, ...others] = kinds.values();
      return [name, others.length === 0 ? only : { anyOf: [only, ...others] }];
    }),
  );
}

/** Of a part that comes again, nothing is required: to require less is never wrong in what is shown. */
function requiredOf(
  schema: Definition,
  root: JSONSchema7,
  seen = new Set<JSONSchema7>(),
): ReadonlySet<string> {
  if (typeof schema === "boolean" || seen.has(schema)) return new Set();
  seen.add(schema);
  const { required = [], anyOf = [], oneOf = [], allOf = [] } = schema;
  const of = (part: Definition) => requiredOf(part, root, seen);
  const ofEach = [anyOf, oneOf].flatMap((parts) => {
    const objects = parts.filter((part) => typeof part === "boolean" || isOfObject(part));
    const [first = new Set<string>(), ...others] = objects.map(of);
    return [...first].filter((name) => others.every((one) => one.has(name)));
  });
  const ofAll = [targetOf(schema, root), ...allOf].flatMap((part) => [...of(part)]);
  return new Set([...required, ...ofAll, ...ofEach]);
}
