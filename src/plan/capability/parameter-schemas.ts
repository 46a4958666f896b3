import type { JSONSchema7 } from "ai";
import { typeOfJson } from "../../value/json.ts";

export type Definition = JSONSchema7 | boolean;

/** A parameter of a tool, as the tool's schema has it. */
export interface Parameter {
  readonly name: string;
  /** What a value has to fit: `anyOf` where alternatives of the tool's schema differ. */
  readonly schema: Definition;
  readonly isRequired: boolean;
}

/** The parameters that a schema names, those of its alternatives included. */
export function parametersIn(schema: JSONSchema7): readonly Parameter[] {
  const { found, required } = collect(schema, schema, new Set());
  return Array.from(found, ([name, one]) => ({
    name,
    schema: one,
    isRequired: required.has(name),
  }));
}

interface Collected {
  readonly found: ReadonlyMap<string, Definition>;
  readonly required: ReadonlySet<string>;
}

const NO_PARAMETERS: Collected = { found: new Map(), required: new Set() };

/** `seen`: pointers that were followed already; each counts once. */
function collect(definition: Definition, root: JSONSchema7, seen: Set<string>): Collected {
  if (typeof definition === "boolean") return NO_PARAMETERS;
  const { $ref, properties = {}, required = [], allOf = [] } = definition;
  if ($ref !== undefined) {
    return seen.has($ref) ? NO_PARAMETERS : collect(pointedTo($ref, root), root, seen.add($ref));
  }
  const own = { found: new Map(Object.entries(properties)), required: new Set(required) };
  const inside = (part: Definition) => collect(part, root, seen);
  const all: readonly Collected[] = [own, ...allOf.map(inside)];
  const alternatives = alternativesOf(definition).map(inside);
  return {
    found: joined("allOf", [
      ...all.map(({ found }) => found),
      joined(
        "anyOf",
        alternatives.map(({ found }) => found),
      ),
    ]),
    // Another alternative may not have a parameter that one requires.
    required: new Set(all.flatMap((part) => [...part.required])),
  };
}

/** The parameters of all parts; one that several parts name has to fit all, or any, of its schemas. */
function joined(
  keyword: "allOf" | "anyOf",
  parts: readonly ReadonlyMap<string, Definition>[],
): ReadonlyMap<string, Definition> {
  const schemas = new Map<string, Definition[]>();
  for (const [name, schema] of parts.flatMap((part) => [...part])) {
    schemas.set(name, [...(schemas.get(name) ?? []), schema]);
  }
  return new Map(
    Array.from(schemas, ([name, all]) => [
      name,
      all.length > 1 ? { [keyword]: all } : (all[0] ?? true),
    ]),
  );
}

export function alternativesOf({ anyOf = [], oneOf = [] }: JSONSchema7): readonly Definition[] {
  return [...anyOf, ...oneOf];
}

/** What `#/$defs/name` and its like lead to; anything where they lead nowhere. */
export function pointedTo(pointer: string, root: JSONSchema7): Definition {
  if (!pointer.startsWith("#")) return true;
  let at: unknown = root;
  for (const part of pointer.slice(1).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return true;
    at = Reflect.get(at, key);
  }
  // A tool's schema is JSON Schema wherever it points to; a wrong one says nothing of types.
  return typeof at === "object" && at !== null ? (at as JSONSchema7) : true;
}

const TYPES = ["string", "number", "integer", "boolean", "null", "array", "object"] as const;
export type TypeName = (typeof TYPES)[number];
const ANY_TYPE: ReadonlySet<TypeName> = new Set(TYPES);

/** The types of the values that fit a schema: all of them, if it does not say. */
export function typesIn(definition: Definition, root: JSONSchema7): ReadonlySet<TypeName> {
  return new TypeReader(root).typesOf(definition) ?? ANY_TYPE;
}

class TypeReader {
  readonly #root: JSONSchema7;
  /** By pointer; undefined while it is read, because schemas point to one another in circles. */
  readonly #known = new Map<string, ReadonlySet<TypeName> | undefined>();

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  /** Undefined where a circle closes: it neither adds a type nor takes one away. */
  typesOf(definition: Definition): ReadonlySet<TypeName> | undefined {
    if (typeof definition === "boolean") return definition ? ANY_TYPE : new Set();
    const { $ref, type, allOf = [], anyOf, oneOf, enum: values, const: value } = definition;
    if ($ref !== undefined) return this.#pointed($ref);
    const said = [
      type === undefined ? undefined : withIntegers([type].flat()),
      values === undefined ? undefined : withIntegers(values.map(typeOfJson)),
      value === undefined ? undefined : withIntegers([typeOfJson(value)]),
      this.#anyOf(anyOf),
      this.#anyOf(oneOf),
      ...allOf.map((part: Definition) => this.typesOf(part)),
    ].filter((types) => types !== undefined);
    return new Set(TYPES.filter((name) => said.every((types) => types.has(name))));
  }

  #pointed(pointer: string): ReadonlySet<TypeName> | undefined {
    if (this.#known.has(pointer)) return this.#known.get(pointer);
    this.#known.set(pointer, undefined);
    const types = this.typesOf(pointedTo(pointer, this.#root));
    this.#known.set(pointer, types);
    return types;
  }

  #anyOf(alternatives: readonly Definition[] = [true]): ReadonlySet<TypeName> | undefined {
    const types = alternatives.flatMap((part) => this.typesOf(part) ?? []);
    return types.length === 0 ? undefined : new Set(types.flatMap((one) => [...one]));
  }
}

/** The types; with `number` also `integer`. */
function withIntegers(types: readonly TypeName[]): ReadonlySet<TypeName> {
  return new Set(types.includes("number") ? [...types, "integer"] : types);
}
