import type { JSONSchema7 } from "ai";
import { typeOfJson } from "../../value/json.ts";

export type Definition = JSONSchema7 | boolean;

/** A parameter of a tool, as the tool's schema has it. */
export interface Parameter {
  readonly name: string;
  /** One for each alternative that has it. */
  readonly schemas: readonly Definition[];
  readonly isRequired: boolean;
}

/** The parameters that a schema names, those of its alternatives included. */
export function parametersIn(schema: JSONSchema7): readonly Parameter[] {
  const found = new Map<string, Definition[]>();
  const required = new Set<string>();
  collect(schema, { schema, found, required, seen: new Set() });
  return Array.from(found, ([name, schemas]) => ({
    name,
    schemas,
    isRequired: required.has(name),
  }));
}

interface Collecting {
  /** The root, to which pointers lead. */
  readonly schema: JSONSchema7;
  readonly found: Map<string, Definition[]>;
  readonly required: Set<string>;
  /** Pointers that were followed: schemas point to one another in circles. */
  readonly seen: Set<string>;
}

function collect(definition: Definition, into: Collecting): void {
  const { schema, found, required, seen } = into;
  if (typeof definition === "boolean") return;
  const { $ref } = definition;
  if ($ref !== undefined) {
    if (!seen.has($ref)) collect(pointedTo($ref, schema), { ...into, seen: seen.add($ref) });
    return;
  }
  for (const [name, one] of Object.entries(definition.properties ?? {})) {
    found.set(name, [...(found.get(name) ?? []), one]);
  }
  for (const name of definition.required ?? []) required.add(name);
  for (const part of definition.allOf ?? []) collect(part, into);
  // What one alternative requires another may not know.
  const optional = { ...into, required: new Set<string>() };
  for (const part of alternativesOf(definition)) collect(part, optional);
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

/** The types that a schema takes: all of them, if it does not say. */
export function typesIn(definition: Definition, root: JSONSchema7): ReadonlySet<TypeName> {
  return typesBelow(definition, root, new Set());
}

function typesBelow(
  definition: Definition,
  root: JSONSchema7,
  seen: Set<string>,
): ReadonlySet<TypeName> {
  if (typeof definition === "boolean") return new Set(TYPES);
  const { $ref, type, allOf = [], enum: values, const: value } = definition;
  const inner = (part: Definition): ReadonlySet<TypeName> => typesBelow(part, root, seen);
  if ($ref !== undefined) {
    return seen.has($ref) ? new Set() : typesBelow(pointedTo($ref, root), root, seen.add($ref));
  }
  if (type !== undefined) return new Set(typeof type === "string" ? [type] : type);
  const alternatives = alternativesOf(definition);
  if (alternatives.length > 0) return new Set(alternatives.flatMap((part) => [...inner(part)]));
  if (values !== undefined) return new Set(values.map(typeOfJson));
  if (value !== undefined) return new Set([typeOfJson(value)]);
  const all = allOf.map(inner);
  return new Set(
    TYPES.filter((name) => all.every((types: ReadonlySet<TypeName>) => types.has(name))),
  );
}
