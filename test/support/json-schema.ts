import type { JSONSchema7 } from "ai";
import { Ajv, type AnySchema, type Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import type { Json } from "../../src/value/json.ts";

type Definition = JSONSchema7 | boolean;

/**
 * A pattern and an example of each format in the tests' schemas, because Ajv checks only formats that it
 * knows.
 */
const FORMATS: Readonly<Record<string, readonly [RegExp, string]>> = {
  email: [/^[^@$]+@[^@]+$/u, "a@example.com"],
  uri: [/^[a-z]+:/u, "https://example.com/"],
  "date-time": [/^\d{4}-\d\d-\d\dT/u, "2026-01-01T00:00:00Z"],
  uuid: [/^[0-9a-f-]{36}$/u, "123e4567-e89b-42d3-a456-426614174000"],
};

const OPTIONS: Options = {
  strict: true,
  // Widened parameters accept their own type or a reference.
  allowUnionTypes: true,
  formats: Object.fromEntries(Object.entries(FORMATS).map(([name, [shape]]) => [name, shape])),
};

/**
 * Returns a validator for the draft that the schema names, or for draft 7. Throws if the schema has an
 * unknown keyword or format, or a keyword without the type that it applies to.
 */
export function validator(schema: JSONSchema7): (value: Json) => boolean {
  const ajv =
    schema.$schema?.includes("2020-12") === true ? new Ajv2020(OPTIONS) : new Ajv(OPTIONS);
  const validate = ajv.compile(schema as AnySchema);
  return (value) => validate(value) === true;
}

/** Generates values that fit the schema. Keywords that are not generated are checked by the validator. */
export function valuesOf(schema: JSONSchema7): fc.Arbitrary<Json> {
  return new Values(schema).of(schema, 0).filter(validator(schema));
}

/** Deeper than this, recursive schemas get the shortest lists. */
const MAX_DEPTH = 8;

class Values {
  readonly #root: JSONSchema7;

  constructor(root: JSONSchema7) {
    this.#root = root;
  }

  of(schema: Definition | undefined, depth: number): fc.Arbitrary<Json> {
    if (typeof schema !== "object") return fc.constantFrom<Json>(1, "any", { deep: [true] });
    const { $ref, anyOf = [], oneOf = [], allOf, enum: options, const: only } = schema;
    const alternatives = [...anyOf, ...oneOf];
    if ($ref !== undefined) return this.of(this.#resolve($ref), depth);
    if (options !== undefined) return fc.constantFrom(...(options as Json[]));
    if (only !== undefined) return fc.constant(only as Json);
    if (alternatives.length > 0) {
      return fc.oneof(...alternatives.map((one) => this.of(one, depth)));
    }
    if (allOf !== undefined) {
      const parts = allOf.map((one: Definition) => this.of(one, depth));
      return fc.tuple(...parts).map((values) => Object.assign({}, ...values) as Json);
    }
    const types = schema.type === undefined ? ["null"] : [schema.type].flat();
    return fc.oneof(...types.map((type) => this.#ofType(type, schema, depth)));
  }

  #resolve(pointer: string): Definition {
    const keys = pointer.split("/").slice(1);
    return keys.reduce<never>((at, key) => at[key], this.#root as never);
  }

  #ofType(type: string, schema: JSONSchema7, depth: number): fc.Arbitrary<Json> {
    if (type === "array") return this.#list(schema, depth + 1);
    if (type === "object") return this.#object(schema, depth + 1);
    if (type === "boolean") return fc.boolean();
    if (type === "string") return text(schema);
    if (type === "null") return fc.constant(null);
    const least = schema.minimum ?? schema.exclusiveMinimum ?? -9;
    return fc.integer({ min: Math.ceil(least) + 1, max: Math.min(schema.maximum ?? 99, 99) });
  }

  #list(schema: JSONSchema7 & { prefixItems?: Definition[] }, depth: number): fc.Arbitrary<Json> {
    const { items, prefixItems = items, minItems = 0 } = schema;
    if (Array.isArray(prefixItems)) {
      return fc.tuple(...prefixItems.map((item) => this.of(item, depth)));
    }
    const maxLength = depth > MAX_DEPTH ? minItems : minItems + 2;
    return fc.array(
      lazily(() => this.of(Array.isArray(items) ? true : items, depth)),
      { minLength: minItems, maxLength },
    );
  }

  #object(schema: JSONSchema7, depth: number): fc.Arbitrary<Json> {
    const { properties = {}, additionalProperties: others, required = [] } = schema;
    const keys = Object.keys(properties).filter(
      (key) => depth <= MAX_DEPTH || required.includes(key),
    );
    const model = Object.fromEntries(keys.map((key) => [key, this.of(properties[key], depth)]));
    if (others !== undefined && others !== false) model["other"] = this.of(others, depth);
    return fc.record<Record<string, Json>>(model, { requiredKeys: required });
  }
}

function lazily(make: () => fc.Arbitrary<Json>): fc.Arbitrary<Json> {
  return fc.constant(null).chain(make);
}

function text({ pattern, format, minLength = 0, maxLength = minLength + 9 }: JSONSchema7) {
  if (format !== undefined) return fc.constant(FORMATS[format]?.[1] ?? format);
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 9) });
}
