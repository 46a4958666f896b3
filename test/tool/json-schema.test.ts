import type { JSONSchema7 } from "ai";
import type { AnySchema } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { type Definition, foldSchema, schemaAt, typesIn } from "../../src/tool/json-schema.ts";
import { acceptableSchema } from "../../src/tool/acceptable-schema.ts";
import { widenSchema } from "../../src/tool/shown-schema.ts";
import { isJsonArray, isJsonObject, type Json, typeOfJson } from "../../src/value/json.ts";
import { sampled, samples, slow } from "../support/slow.ts";

const NAMES = ["a", "b", "0"];
const scalar = fc.constantFrom<Json[]>(null, true, 0, 2.5, 7, "", "a", "$x", "long text");
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie("value"), { maxKeys: 3 }),
  ),
})).value;
const object = fc.dictionary(fc.constantFrom(...NAMES), value, { maxKeys: 3 });

const type = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object");
const named = (one: fc.Arbitrary<unknown>) =>
  fc.dictionary(fc.constantFrom(...NAMES), one, { maxKeys: 2 });
const some = (one: fc.Arbitrary<unknown>) => fc.array(one, { minLength: 1, maxLength: 2 });
const DEFINITIONS = ["one", "two"];

/** Keywords whose verdict on a value does not depend on which of its parts are references. */
function plainKeywords(schema: fc.Arbitrary<unknown>) {
  return {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 4 })),
    minimum: fc.constantFrom(0, 3),
    minLength: fc.constantFrom(1, 4),
    pattern: fc.constantFrom("^a", "t$"),
    minItems: fc.constantFrom(0, 1),
    required: fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 }),
    properties: named(schema),
    patternProperties: fc.dictionary(fc.constantFrom("^a", "[0-9]"), schema),
    additionalProperties: schema,
    prefixItems: some(schema),
    items: schema,
    anyOf: some(schema),
    allOf: some(schema),
  };
}

/** Keywords whose verdict on a value may change with a reference in it. */
function otherKeywords(schema: fc.Arbitrary<unknown>) {
  return {
    enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
    const: scalar,
    oneOf: some(schema),
    ...Object.fromEntries(["not", "if", "then", "else"].map((keyword) => [keyword, schema])),
    contains: schema,
    maxContains: fc.constantFrom(1, 2),
    uniqueItems: fc.boolean(),
    propertyNames: schema,
    dependentSchemas: named(schema),
  };
}

/** Picks a few keywords at a time, so that schemas stay small and some values fit them. */
function someOf(keywords: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  const names = fc.uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 3 });
  return names.chain((chosen) =>
    fc.record(Object.fromEntries(Object.entries(keywords).filter(([key]) => chosen.includes(key)))),
  );
}

function schemas(
  keywords: (schema: fc.Arbitrary<unknown>) => Record<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<JSONSchema7> {
  const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true, depthSize: "small" },
      fc.constantFrom(true, true, false),
      type.map((one) => ({ type: one })),
      fc.constantFrom(...DEFINITIONS, "nowhere").map((name) => ({ $ref: `#/$defs/${name}` })),
      someOf(keywords(tie("schema"))),
    ),
  }));
  // Definitions refer to others only below a property. Otherwise, a definition could refer to itself forever.
  const definition = fc
    .tuple(type, named(schema))
    .map(([type, properties]) => ({ type: [...new Set(["object", type])], properties }));
  const root = {
    $defs: fc.record({ one: definition, two: definition, nowhere: fc.constant(true) }),
    type: fc.constant("object"),
    properties: named(schema),
    allOf: fc.array(schema, { minLength: 1, maxLength: 1 }),
  };
  return fc.record(root, {
    requiredKeys: ["$defs", "type", "properties"],
  }) as fc.Arbitrary<unknown> as fc.Arbitrary<JSONSchema7>;
}

const plain = schemas(plainKeywords);
const all = schemas((schema) => ({ ...plainKeywords(schema), ...otherKeywords(schema) }));

const ajv = new Ajv2020({
  strict: false,
  validateFormats: false,
  validateSchema: false,
  inlineRefs: false,
});

function validatorOf(schema: Definition): (value: Json) => boolean {
  const validate = ajv.compile(schema as AnySchema);
  return (one) => {
    try {
      return validate(one) === true;
    } catch (error) {
      // Skips schemas for which ajv compiles failing code (some with `unevaluatedProperties`).
      fc.pre(!(error instanceof TypeError));
      throw error;
    }
  };
}

/** Yields the value with "$x" in place of each property and element, one at a time. */
function* withOneReference(inside: Json): Generator<Json> {
  const put = (key: string | number, one: Json): Json =>
    isJsonArray(inside)
      ? inside.map((element, at) => (at === key ? one : element))
      : { ...(inside as object), [key]: one };
  for (const [key, inner] of entriesOf(inside)) {
    yield put(key, "$x");
    for (const one of withOneReference(inner)) yield put(key, one);
  }
}

function entriesOf(inside: Json): readonly (readonly [string | number, Json])[] {
  if (isJsonArray(inside)) return [...inside.entries()];
  return isJsonObject(inside) ? Object.entries(inside) : [];
}

const runs = { numRuns: samples(200) };

describe("a widened schema", () => {
  it("accepts what the original accepts, according to ajv", sampled, () => {
    let accepted = 0;
    fc.assert(
      fc.property(all, fc.array(object, { minLength: 8, maxLength: 8 }), (schema, values) => {
        const fits = validatorOf(schema);
        const shown = [widenSchema(schema), widenSchema(acceptableSchema(schema))];
        const fitsShown = shown.map(validatorOf);
        for (const one of values.filter(fits)) {
          accepted++;
          expect(fitsShown.map((fitsOne) => fitsOne(one))).toEqual([true, true]);
        }
      }),
      runs,
    );
    expect(accepted).toBeGreaterThan(runs.numRuns / 4);
  });

  it(
    "accepts a reference in place of any part, where no keyword compares or counts parts",
    sampled,
    () => {
      let accepted = 0;
      fc.assert(
        fc.property(plain, fc.array(object, { minLength: 8, maxLength: 8 }), (schema, values) => {
          const [fits, fitsWidened] = [validatorOf(schema), validatorOf(widenSchema(schema))];
          for (const one of values.filter(fits)) {
            for (const mixed of withOneReference(one)) {
              accepted++;
              expect(fitsWidened(mixed)).toBe(true);
            }
          }
        }),
        runs,
      );
      expect(accepted).toBeGreaterThan(runs.numRuns / 4);
    },
  );

  it.each([
    ["definitions", { $ref: "#/properties/n/anyOf/1" }],
    ["a pointer with siblings", { $ref: "#/$defs/text", enum: ["a"] }],
    ["the elements of a tuple", { prefixItems: [{ type: "number" }], items: false }],
  ])("accepts references where it points to %s", (_title, it) => {
    const schema = {
      $defs: { text: { type: "string" } },
      type: "object",
      properties: { n: { anyOf: [{ type: "null" }, { type: "number" }] }, it },
    } as JSONSchema7;
    const fits = validatorOf(widenSchema(schema));
    expect(fits({ it: "$x" })).toBe(true);
    expect(fits({ it: ["$x"] })).toBe("prefixItems" in it);
  });

  it.each([
    ["alternatives", (one: object) => ({ anyOf: Array.from({ length: 700 }, () => one) })],
    ["parameters", (one: object) => ({ properties: numbered(700, one) })],
    ["both, deeply", (one: object) => nested(one, 200)],
  ])("grows by a limited amount for very many %s", slow, (_title, schemaOf) => {
    const one = { properties: { kind: { const: "a" }, n: { enum: [1, 2] } } };
    const schema = { type: "object", properties: { it: schemaOf(one), plain: { type: "number" } } };
    const widened = widenSchema(schema as JSONSchema7);
    const grown = JSON.stringify(widened).length - JSON.stringify(schema).length;
    expect(grown).toBeLessThanOrEqual(limits.maxBlockChars);
    expect(validatorOf(widened)({ it: "$x", plain: "$x" })).toBe(true);
  });
});

function numbered(count: number, one: object) {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, one]));
}

function nested(one: object, count: number): object {
  return count === 0 ? one : { anyOf: [one, { properties: { next: nested(one, count - 1) } }] };
}

describe("the types of a schema", () => {
  it("are those of the values that ajv accepts", sampled, () => {
    fc.assert(
      fc.property(all, fc.array(object, { minLength: 8, maxLength: 8 }), (schema, values) => {
        const fits = validatorOf(schema);
        const check = (place: Definition, inside: Json): void => {
          const types = typesIn(place, schema);
          const isInteger = Number.isInteger(inside) && types.has("integer");
          expect(types.has(typeOfJson(inside)) || isInteger).toBe(true);
          for (const [key, inner] of entriesOf(inside)) check(schemaAt(key, place, schema), inner);
        };
        for (const one of values.filter(fits)) check(schema, one);
      }),
      runs,
    );
  });

  it.each<[string, JSONSchema7, string]>([
    ["a pointer's siblings", { $ref: "#/$defs/any", type: "number" }, "number,integer"],
    ["an escaped pointer", { $ref: "#/$defs/a~1b%20c" }, "null"],
    ["then and else", conditional({ else: { type: "array" } }), "null,array"],
    ["a condition without else", conditional({}), "everything"],
    ["a pointer by name", { $ref: "#name" }, "everything"],
    ["a pointer to itself", { $ref: "#/$defs/self" }, "everything"],
    ["false", { allOf: [false] }, ""],
  ])("are those of %s", (_title, place, expected) => {
    const root = {
      $defs: { any: true, "a/b c": { type: "null" }, self: { $ref: "#/$defs/self" } },
    } satisfies JSONSchema7;
    const types = [...typesIn(place, root)];
    expect(types.length === 7 ? "everything" : types.join()).toBe(expected);
  });
});

function conditional(unmet: JSONSchema7): JSONSchema7 {
  return { ...unmet, ...(JSON.parse('{"if":{},"then":{"type":"null"}}') as JSONSchema7) };
}

describe("reading a schema", () => {
  it("visits each schema once, however many pointers lead to it", () => {
    const $defs: Record<string, JSONSchema7> = { d0: { type: "null" } };
    for (let index = 1; index < 100; index++) {
      const before: JSONSchema7 = { $ref: `#/$defs/d${index - 1}` };
      $defs[`d${index}`] = { anyOf: [before, { ...before }] };
    }
    let read = 0;
    const count = { own: () => ++read, all: () => 0, any: () => 0 };
    foldSchema({ $ref: "#/$defs/d99" }, { $defs }, count);
    expect(read).toBeLessThan(310);
  });

  it("terminates for deep schemas", () => {
    let deep: JSONSchema7 = { type: "null" };
    for (let depth = 0; depth < 1_000; depth++) deep = { allOf: [deep] };
    expect(typesIn(deep, {}).size).toBe(7);
  });
});
