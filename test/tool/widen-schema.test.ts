import type { JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { widenSchema } from "../../src/tool/shown-schema.ts";

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
  ])("%s", (_, schema) => {
    expect(widened(schema)).toEqual(schema);
  });
});

describe("a parameter whose keywords constrain strings becomes a choice:", () => {
  it.each<[string, JSONSchema7]>([
    ["enum", { type: "string", enum: ["a", "b"] }],
    ["const", { const: 5 }],
    ["pattern", { type: "string", pattern: "^a" }],
    ["minLength", { type: "string", minLength: 3 }],
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

type Definition = JSONSchema7 | boolean;

/** Returns a schema with a condition; undefined leaves a keyword out. */
function when(condition?: Definition, met?: Definition, unmet?: Definition): JSONSchema7 {
  const keywords = Object.entries({ if: condition, else: unmet }).concat([["then", met]]);
  return Object.fromEntries(keywords.filter(([, schema]) => schema !== undefined));
}

describe("a condition", () => {
  const number: JSONSchema7 = { type: "number" };

  it.each<[string, JSONSchema7]>([
    ["then refuses some", when({ minLength: 3 }, { pattern: "^a" })],
    ["else refuses some", { if: { minLength: 3 }, else: { const: "a" } }],
    ["then has a condition itself", when({ minLength: 3 }, when(true, false))],
  ])("becomes a choice where strings are refused: %s", (_, schema) => {
    const [choice] = (widened(schema) as { anyOf: JSONSchema7[] }).anyOf;
    expect(widened(schema)).toEqual(orReference(choice ?? {}));
    expect(choice?.if).toEqual(schema.if);
  });

  it("beside a type is a choice only if it refuses strings", () => {
    expect(widened({ ...number, ...when({ minimum: 1 }, { maximum: 5 }) })).toMatchObject({
      type: ["number", "string"],
    });
    const refusing: JSONSchema7 = { ...number, if: { minimum: 1 }, else: false };
    expect(widened(refusing)).toEqual(orReference(refusing));
  });

  it("is not widened, but its branches are inside", () => {
    const object: JSONSchema7 = { properties: { n: number } };
    const wide: JSONSchema7 = { properties: { n: { type: ["number", "string"] } } };
    expect(widened(when(object, object, object))).toEqual(when(object, wide, wide));
    expect(widened({ dependentSchemas: { n: object } } as JSONSchema7)).toEqual({
      dependentSchemas: { n: wide },
    });
    expect(widened({ dependencies: { n: object, m: ["n"] } })).toEqual({
      dependencies: { n: wide, m: ["n"] },
    });
  });

  it("that refers to a widened schema is left out", () => {
    const pointer = { properties: { n: { $ref: "#/$defs/n" } } };
    const [one, other] = [{ minimum: 1 }, { minimum: 2 }];
    expect(widened({ title: "T", ...when(pointer, one, other) })).toEqual({ title: "T" });
    expect(widened(when(number, pointer, other))).toEqual(when(number, pointer, other));
  });

  it("of not is a choice, and left out if it refers to a widened schema", () => {
    expect(widened({ ...number, not: { const: 5 } })).toEqual(
      orReference({ ...number, not: { const: 5 } }),
    );
    expect(widened({ not: number })).toEqual(orReference({ not: number }));
    expect(widened({ ...number, not: { $ref: "#" } })).toEqual(orReference(number));
  });

  it("of exactly one alternative is one of any, beside others", () => {
    const [one, other, third] = [1, 2, 3].map((maximum): JSONSchema7 => ({ maximum }));
    const some = { oneOf: [one, other], anyOf: [third] } as JSONSchema7;
    const inner = widenSchema({ type: "object", ...some });
    expect(inner).toEqual({ type: "object", anyOf: [third], allOf: [{ anyOf: [one, other] }] });
    expect(widenSchema({ type: "object", ...some, allOf: [third ?? {}] })).toEqual({
      type: "object",
      anyOf: [third],
      allOf: [third, { anyOf: [one, other] }],
    });
  });
});

describe("a schema of many places", () => {
  // A place of a number adds `["string"],`.
  const MAX = Math.floor(limits.maxBlockChars / '["string"],'.length);
  const numbers = (count: number): JSONSchema7 => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`n${at}`, { type: "number" }]),
    ),
  });
  const wideIn = (schema: JSONSchema7) =>
    Object.values(schema.properties ?? {}).filter((one) =>
      Array.isArray((one as JSONSchema7).type),
    );

  it("is widened as far as there is room", () => {
    expect(wideIn(widenSchema(numbers(MAX)))).toHaveLength(MAX);
    const wide = widenSchema(numbers(MAX + 1));
    expect(wideIn(wide)).toHaveLength(MAX);
    expect(wide.properties?.[`n${MAX}`]).toEqual({ type: "number" });
  });

  it.each([
    [1, 1],
    [4, 2],
    [5, 4],
    [10, 8],
  ])("at level %i is widened to level %i", (level, depth) => {
    let schema = numbers(MAX + 1);
    for (let above = 1; above < level; above++) {
      schema = { type: "object", properties: { in: schema } };
    }
    let at: JSONSchema7 | undefined = widenSchema(schema);
    for (let above = 1; above < level; above++) {
      at = at?.properties?.["in"] as JSONSchema7 | undefined;
      expect([above, Array.isArray(at?.type)]).toEqual([above, above <= depth]);
    }
    expect(wideIn(at ?? {}).length > 0).toBe(level === 1);
  });
});
