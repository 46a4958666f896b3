import Ajv from "ajv";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { issuesIn, unknownKeywords } from "../../src/plan/input-schema.ts";
import type { Json } from "../../src/value/json.ts";

const scalar = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer({ min: -3, max: 12 }),
  fc.constantFrom(0.5, 2.5),
  fc.constantFrom("", "a", "abc", "€€"),
);
const value = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("value"), { maxKeys: 3 }),
  ),
})).value;

const types = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object");
const small = fc.integer({ min: 0, max: 4 });
const schema = fc.letrec<{ schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.boolean(),
    fc.record(
      {
        type: fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 })),
        enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
        const: scalar,
        minimum: small,
        exclusiveMaximum: small,
        minLength: small,
        maxLength: small,
        minItems: small,
        maxItems: small,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        properties: fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
        required: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 2 }),
        additionalProperties: tie("schema"),
        items: tie("schema"),
        anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      },
      { requiredKeys: [] },
    ) as fc.Arbitrary<Json>,
  ),
})).schema;

describe("the schema of a plan's input", () => {
  it("says what another validator says", () => {
    const ajv = new Ajv({ strict: false });
    fc.assert(
      fc.property(schema, value, (schema, value) => {
        const isValid = ajv.validate(schema as object, value);
        expect(issuesIn(schema, value).length === 0).toBe(isValid);
      }),
      { numRuns: 2_000 },
    );
  });

  it("names each place that is wrong", () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer", maximum: 3 }, tags: { items: { enum: ["a", "b"] } } },
      required: ["n", "who"],
      additionalProperties: false,
    };
    expect(issuesIn(schema, { n: 4.5, tags: ["a", "x"], more: 1 })).toEqual([
      { at: "input.n", message: "must be integer, and is number." },
      { at: "input.n", message: "must be at most 3." },
      { at: "input.tags.1", message: 'must be "a" or "b".' },
      { at: "input.who", message: "is missing." },
      { at: "input.more", message: "must not be there." },
    ]);
  });

  it("is refused where it asks what is not checked", () => {
    expect(
      unknownKeywords({
        $schema: "x",
        title: "T",
        properties: {
          pattern: { type: "string" },
          a: { pattern: "(a+)+$" },
          b: { items: { $ref: "#" } },
        },
        anyOf: [{ not: {} }],
        patternProperties: {},
      }),
    ).toEqual([
      "input.properties.pattern",
      "input.properties.items.$ref",
      "input.anyOf.not",
      "input.patternProperties",
    ]);
    expect(unknownKeywords("object")).toEqual(["input"]);
  });
});
