import type { JSONSchema7 } from "ai";
import * as fc from "fast-check";
import * as limits from "../../../src/limits.ts";
import { codeOf } from "../../../src/errors.ts";
import { readJsonPlan } from "../src/plan/plan-format.ts";
import { requireInput, schemaFaults, issuesIn as issuesOf } from "../src/plan/plan-input.ts";
import type { Json } from "../../../src/value/json.ts";
import { parseExactly } from "../../../src/value/exact-number.ts";
import { describe, expect, it } from "vitest";
import Ajv from "ajv";
import { sampled, samples } from "../../../test/support/slow.ts";

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

const issuesIn = (of: Json, given: Json) =>
  issuesOf(of as unknown as JSONSchema7, given, { at: "input" });

describe("the schema of a plan's input", () => {
  it("agrees with another validator", sampled, () => {
    const ajv = new Ajv({ strict: false, validateSchema: false });
    fc.assert(
      fc.property(schema, value, (schema, value) => {
        const isValid = ajv.validate(schema as object, value);
        expect(issuesIn(schema, value).length === 0).toBe(isValid);
      }),
      { numRuns: samples(500) },
    );
  });

  it("reports each invalid place", () => {
    const schema = {
      type: "object",
      properties: { n: { type: "integer", maximum: 3 }, tags: { items: { enum: ["a", "b"] } } },
      required: ["n", "who"],
      additionalProperties: false,
    };
    expect(issuesIn(schema, { n: 4.5, tags: ["a", "x"], more: 1 })).toEqual([
      { at: "input.who", message: "is missing." },
      { at: "input.n", message: "must be integer, and is number." },
      { at: "input.n", message: "must be at most 3." },
      { at: "input.tags.1", message: 'must be "a" or "b".' },
      { at: "input.more", message: "must not be there: remove it." },
    ]);
  });

  it.each<[number: string, schema: Json, messages: readonly string[]]>([
    ["12345678901234567890123", { type: "integer" }, []],
    ["1234567890123456789012e1", { type: "integer", minimum: 5 }, []],
    ["1234567890123456.75", { type: "integer" }, ["must be integer, and is number."]],
    ["12345678901234567890123", { maximum: 100 }, ["must be at most 100."]],
    ["-1e400", { exclusiveMinimum: 0 }, ["must be more than 0."]],
  ])("checks a number of more digits than a double has: %s for %j", (number, schema, messages) => {
    const value = parseExactly(number) as Json;
    expect(issuesIn(schema, value).map(({ message }) => message)).toEqual(messages);
  });

  it("is refused if it uses unsupported keywords", () => {
    const faults = schemaFaults({
      $schema: "x",
      title: "T",
      properties: {
        pattern: { type: "string" },
        a: { pattern: "(a+)+$" },
        b: { items: { $ref: "#" } },
      },
      anyOf: [{ not: {} }],
      patternProperties: {},
    });
    expect(faults.map(({ at }) => at)).toEqual([
      "input.properties.a.pattern",
      "input.properties.b.items.$ref",
      "input.anyOf.0.not",
      "input.patternProperties",
    ]);
    expect(schemaFaults("object")).toEqual([
      { at: "input", message: expect.stringContaining("JSON Schema") },
    ]);
  });
});

const plan = readJsonPlan({ calls: [{ _tool: "x" }] }).plan;

it("a run's input has a maximum size, whatever the plan's schema", () => {
  if (plan === undefined) throw new Error("No plan.");
  expect(() => requireInput(plan, "x".repeat(limits.maxRecordBytes - 2))).not.toThrow();
  const error = caught(() => requireInput(plan, "x".repeat(limits.maxRecordBytes - 1)));
  expect(codeOf(error)).toBe("body_too_large");
});

function caught(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe("a plan as JSON", () => {
  it("is read as its calls, which get ids", () => {
    const { plan } = readJsonPlan({
      name: "Greet",
      input: { type: "object" },
      calls: [
        { _tool: "greet", name: "†input.name", _outputPath: "†state.greeting" },
        { _tool: "say", _id: "last", text: ["†state.greeting", null, 1] },
      ],
    });
    expect(plan).toMatchObject({ name: "Greet", input: { type: "object" }, order: "data" });
    expect(plan?.calls).toEqual([
      {
        id: "call_1",
        tool: "greet",
        parameters: { name: "†input.name" },
        outputPath: "†state.greeting",
      },
      { id: "last", tool: "say", parameters: { text: ["†state.greeting", null, 1] } },
    ]);
  });

  it.each<[unknown, readonly object[]]>([
    ["text", [{ code: "bad_plan", at: "" }]],
    [{}, [{ code: "bad_plan", at: "calls" }]],
    [{ calls: [] }, [{ code: "bad_plan", at: "calls" }]],
    [
      { calls: [{}, { _tool: 1 }] },
      [
        { call: "call_1", at: "_tool" },
        { call: "call_2", at: "_tool" },
      ],
    ],
    [{ calls: [{ _tool: "a", _outputPath: 1 }] }, [{ call: "call_1", at: "_outputPath" }]],
    [{ calls: [{ _tool: "a" }], more: 1 }, [{ code: "bad_plan" }]],
    [{ calls: [{ _tool: "a", _id: "\ud800" }] }, [{ call: "call_1", at: "_id" }]],
    ...[
      ["_output", "_outputPath"],
      ["_outputpath", "_outputPath"],
      ["_when", "_after"],
      ["_ID", "_id"],
    ].map(([at = "", near = ""]): [unknown, readonly object[]] => [
      { calls: [{ _tool: "a", _id: "x", [at]: "†state.a" }] },
      [
        {
          code: "bad_plan",
          call: "x",
          at,
          message: expect.stringContaining(`nearest is ${near}.`),
        },
      ],
    ]),
  ])("is refused with every place that is wrong: %j", (given, findings) => {
    const read = readJsonPlan(given);
    expect(read.plan).toBeUndefined();
    expect(read.findings).toMatchObject(findings);
    expect(read.findings).toHaveLength(findings.length);
  });

  it("keeps a parameter named __proto__ a parameter", () => {
    const { plan } = readJsonPlan(JSON.parse('{"calls":[{"_tool":"a","__proto__":{"x":1}}]}'));
    expect({}).not.toHaveProperty("x");
    expect(Object.getPrototypeOf(plan?.calls[0]?.parameters)).toBe(Object.prototype);
  });
});
