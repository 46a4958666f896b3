import type { JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import { widenSchema } from "../../src/tool/widen-schema.ts";

const REFERENCE = { type: "string", description: "or a $reference" };

/** Returns the widened schema of a parameter. */
function widened(schema: JSONSchema7): unknown {
  const root = widenSchema({ type: "object", properties: { it: schema } });
  return root.properties?.["it"];
}

function orReference(...schemas: readonly JSONSchema7[]) {
  return { anyOf: [...schemas, REFERENCE] };
}

describe("a parameter whose keywords do not constrain strings also accepts a string:", () => {
  it.each<[string, JSONSchema7, unknown]>([
    ["a number", { type: "number" }, { type: ["number", "string"] }],
    ["an integer in bounds", { type: "integer", minimum: 1, maximum: 9 }, integerOrString()],
    ["a boolean", { type: "boolean" }, { type: ["boolean", "string"] }],
    ["null", { type: "null" }, { type: ["null", "string"] }],
    ["several types", { type: ["number", "null"] }, { type: ["number", "null", "string"] }],
    ["an array of anything", { type: "array" }, { type: ["array", "string"] }],
    [
      "an array, and so do its elements",
      { type: "array", items: { type: "number" }, minItems: 1, uniqueItems: true },
      {
        type: ["array", "string"],
        items: { type: ["number", "string"] },
        minItems: 1,
        uniqueItems: true,
      },
    ],
    [
      "a tuple, and so do its elements",
      { type: "array", items: [{ type: "number" }, { type: "string", enum: ["a"] }] },
      {
        type: ["array", "string"],
        items: [{ type: ["number", "string"] }, orReference({ type: "string", enum: ["a"] })],
      },
    ],
    [
      "an object, and so do its properties",
      { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
      {
        type: ["object", "string"],
        properties: { n: { type: ["number", "string"] } },
        required: ["n"],
      },
    ],
    [
      "an object whose other properties have a schema",
      {
        type: "object",
        additionalProperties: { type: "number" },
        propertyNames: { pattern: "^a" },
      },
      {
        type: ["object", "string"],
        additionalProperties: { type: ["number", "string"] },
        propertyNames: { pattern: "^a" },
      },
    ],
    [
      "an object that allows no other properties",
      { type: "object", properties: {}, additionalProperties: false },
      { type: ["object", "string"], properties: {}, additionalProperties: false },
    ],
  ])("%s", (_, schema, expected) => {
    expect(widened(schema)).toEqual(expected);
  });
});

function integerOrString() {
  return { type: ["integer", "string"], minimum: 1, maximum: 9 };
}

describe("a parameter that accepts any string is unchanged:", () => {
  it.each<[string, JSONSchema7]>([
    ["a string", { type: "string", description: "A city." }],
    ["a string or null", { type: ["string", "null"] }],
    ["anything", {}],
    ["anything with a description", { description: "What you like." }],
  ])("%s", (_, schema) => {
    expect(widened(schema)).toEqual(schema);
  });
});

describe("a parameter whose keywords constrain strings becomes a choice:", () => {
  it.each<[string, JSONSchema7]>([
    ["enum", { type: "string", enum: ["a", "b"] }],
    ["enum without a type", { enum: [1, "a", null] }],
    ["const", { const: 5 }],
    ["pattern", { type: "string", pattern: "^a" }],
    ["format", { type: "string", format: "uuid" }],
    ["minLength", { type: "string", minLength: 3 }],
    ["maxLength", { type: ["string", "null"], maxLength: 3 }],
  ])("%s", (_, schema) => {
    expect(widened(schema)).toEqual(orReference(schema));
  });

  it("with its description and default first", () => {
    const schema: JSONSchema7 = { enum: ["a"], description: "Which.", default: "a", title: "T" };
    expect(widened(schema)).toEqual({
      description: "Which.",
      default: "a",
      ...orReference({ enum: ["a"], title: "T" }),
    });
  });
});

describe("alternatives", () => {
  const object: JSONSchema7 = { type: "object", properties: { n: { type: "number" } } };
  const inside = { type: "object", properties: { n: { type: ["number", "string"] } } };

  it.each(["anyOf", "oneOf"] as const)("in %s are widened inside", (keyword) => {
    const expected = { anyOf: [inside, { type: "null" }, REFERENCE] };
    expect(widened({ [keyword]: [object, { type: "null" }] })).toEqual(expected);
  });

  it("next to other keywords are not changed", () => {
    const schema: JSONSchema7 = { type: "object", anyOf: [{ required: ["a"] }] };
    expect(widened(schema)).toEqual(orReference(schema));
  });
});

describe("a root", () => {
  it("may have properties and no type", () => {
    expect(widenSchema({ properties: { n: { type: "null" } } })).toEqual({
      properties: { n: { type: ["null", "string"] } },
    });
  });

  it("has a description of references without a dollar for other syntaxes", () => {
    const schema: JSONSchema7 = { type: "object", properties: { it: { const: 5 } } };
    const described = (syntaxes: NonNullable<Parameters<typeof widenSchema>[1]>["syntaxes"]) =>
      JSON.stringify(widenSchema(schema, { syntaxes })).match(/or a [$a-z]+/u)?.[0];
    expect(described(["mustache", "dollar"])).toBe("or a $reference");
    expect(described(["mustache", "dagger"])).toBe("or a reference");
  });
});
