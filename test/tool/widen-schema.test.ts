import { asSchema, type JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { widenSchema } from "../../src/tool/widen-schema.ts";
import { isJsonArray, isJsonObject, type Json } from "../../src/value/json.ts";
import { fits } from "../support/json-schema.ts";

const REFERENCE = { type: "string", description: "or a $reference" };

/** What a parameter's schema becomes. */
function widened(schema: JSONSchema7): unknown {
  const root = widenSchema({ type: "object", properties: { it: schema } });
  return root.properties?.["it"];
}

function orReference(...schemas: readonly JSONSchema7[]) {
  return { anyOf: [...schemas, REFERENCE] };
}

describe("a parameter that no keyword binds takes a string as well:", () => {
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
      "an object that takes no other properties",
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

describe("a parameter that takes any string stays as it is:", () => {
  it.each<[string, JSONSchema7]>([
    ["a string", { type: "string", description: "A city." }],
    ["a string or null", { type: ["string", "null"] }],
    ["anything", {}],
    ["anything with a description", { description: "What you like." }],
  ])("%s", (_, schema) => {
    expect(widened(schema)).toEqual(schema);
  });

  it("a boolean schema", () => {
    const schema: JSONSchema7 = { type: "object", properties: { yes: true, no: false } };
    expect(widenSchema(schema)).toEqual(schema);
  });
});

describe("a parameter that a keyword binds becomes a choice:", () => {
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

  it("whose description and default stay in front", () => {
    const schema: JSONSchema7 = { enum: ["a"], description: "Which.", default: "a", title: "T" };
    expect(widened(schema)).toEqual({
      description: "Which.",
      default: "a",
      ...orReference({ enum: ["a"], title: "T" }),
    });
  });
});

describe("alternatives", () => {
  const some: JSONSchema7[] = [{ type: "number" }, { type: "string", enum: ["auto"] }];
  const object: JSONSchema7 = { type: "object", properties: { n: { type: "number" } } };
  const inside = { type: "object", properties: { n: { type: ["number", "string"] } } };

  it.each(["anyOf", "oneOf"] as const)("of %s get one more", (keyword) => {
    expect(widened({ [keyword]: some, description: "How many." })).toEqual({
      description: "How many.",
      ...orReference(...some),
    });
  });

  it.each(["anyOf", "oneOf"] as const)("of %s are widened inside", (keyword) => {
    const expected = { anyOf: [inside, { type: "null" }, REFERENCE] };
    expect(widened({ [keyword]: [object, { type: "null" }] })).toEqual(expected);
  });

  it("beside other keywords stay beside them", () => {
    const schema: JSONSchema7 = { type: "object", anyOf: [{ required: ["a"] }] };
    expect(widened(schema)).toEqual(orReference(schema));
  });

  it("of allOf are widened each, so that a string fits all of them", () => {
    const all = { allOf: [{ type: "number" }, { minimum: 3 }] } satisfies JSONSchema7;
    const root = widenSchema({ type: "object", properties: { it: all } });
    for (const it of ["$x", 3, 4.5]) expect(fits(root, { it })).toBe(true);
    for (const it of [2, true]) expect(fits(root, { it })).toBe(false);
  });
});

describe("a pointer", () => {
  it.each(["$defs", "definitions"] as const)(
    "stays, and what it points to in %s is widened",
    (where) => {
      const leaf = { $ref: `#/${where}/leaf`, description: "A leaf." };
      const schema: JSONSchema7 = {
        type: "object",
        properties: { it: leaf },
        [where]: { leaf: { type: "number" } },
      };
      expect(widenSchema(schema)).toEqual({
        ...schema,
        [where]: { leaf: { type: ["number", "string"] } },
      });
    },
  );

  it("to the root becomes a choice, for the root itself takes no reference", () => {
    expect(widened({ $ref: "#" })).toEqual(orReference({ $ref: "#" }));
  });
});

describe("a root", () => {
  it.each<JSONSchema7>([
    { type: "string", enum: ["a"] },
    { type: "array", items: { type: "number" } },
    { anyOf: [{ type: "object", properties: { n: { type: "number" } } }] },
    {},
  ])("that is no object gets nothing added: %j", (schema) => {
    expect(widenSchema(schema)).toEqual(schema);
  });

  it("keeps what it says of itself, and takes no string", () => {
    const about = { $schema: "http://json-schema.org/draft-07/schema#", title: "T" };
    const root = widenSchema({ ...about, type: "object", properties: {}, required: [] });
    expect(root).toEqual({ ...about, type: "object", properties: {}, required: [] });
    expect(fits(root, "$x")).toBe(false);
  });

  it("is not changed itself", () => {
    const schema = z.toJSONSchema(everything.form.schema, { target: "draft-7", io: "input" });
    const before = JSON.stringify(schema);
    widenSchema(schema as JSONSchema7);
    expect(JSON.stringify(schema)).toBe(before);
  });
});

interface Tree {
  readonly name: string;
  readonly size: number;
  readonly children: readonly Tree[];
}

const treeSchema: z.ZodType<Tree> = z.object({
  name: z.string().min(1),
  size: z.number(),
  get children() {
    return z.array(treeSchema);
  },
});

/** Typical tools and an input of each. */
const everything = {
  weather: { schema: z.object({ location: z.string().min(1) }), input: { location: "NYC" } },
  search: {
    schema: z.object({
      query: z.string().max(100),
      limit: z.int().min(1).max(50).default(10),
      sort: z.enum(["newest", "best"]).optional(),
    }),
    input: { query: "byref", limit: 5, sort: "best" },
  },
  mail: {
    schema: z.object({
      to: z.array(z.email()).min(1),
      subject: z.string(),
      cc: z.email().nullable(),
      urgent: z.boolean(),
    }),
    input: { to: ["a@example.com", "b@example.com"], subject: "Hi", cc: null, urgent: true },
  },
  chart: {
    schema: z.object({
      rows: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
      kind: z.literal(["bar", "line"]),
      version: z.literal(2),
    }),
    input: { rows: [{ a: 1, b: "x", c: null }], kind: "bar", version: 2 },
  },
  draw: {
    schema: z.object({
      shape: z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("circle"), radius: z.number().positive() }),
        z.object({ kind: z.literal("box"), size: z.tuple([z.number(), z.number()]) }),
      ]),
    }),
    input: { shape: { kind: "box", size: [1, 2] } },
  },
  schedule: {
    schema: z.object({
      at: z.iso.datetime(),
      id: z.uuid(),
      link: z.url().optional(),
      code: z.string().regex(/^[A-Z]{3}$/u),
    }),
    input: {
      at: "2026-01-01T00:00:00Z",
      id: "123e4567-e89b-42d3-a456-426614174000",
      link: "https://example.com",
      code: "ABC",
    },
  },
  form: {
    schema: z.object({
      person: z.strictObject({ name: z.string(), age: z.number().nullable() }),
      more: z.looseObject({ a: z.number() }),
      both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.number() })),
    }),
    input: { person: { name: "A", age: 3 }, more: { a: 1, z: 2 }, both: { x: 1, y: 2 } },
  },
  tree: {
    schema: z.object({ root: treeSchema, other: treeSchema.optional() }),
    input: { root: { name: "a", size: 1, children: [{ name: "b", size: 2, children: [] }] } },
  },
  recursive: {
    schema: treeSchema,
    input: { name: "a", size: 1, children: [{ name: "b", size: 2, children: [] }] },
  },
  coerced: {
    schema: z.object({
      count: z.coerce.number(),
      when: z.string().transform((text) => text.length),
      any: z.any(),
      either: z.xor([z.object({ a: z.number() }), z.object({ b: z.boolean() })]),
    }),
    input: { count: 3, when: "now", any: { deep: [1] }, either: { b: true } },
  },
} satisfies Record<string, { schema: z.ZodType; input: Json }>;

/** The value with "$x" in place of every leaf; empty lists and objects are leaves. */
function byReference(value: Json): Json {
  if (isJsonArray(value) && value.length > 0) return value.map(byReference);
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, byReference(one)]));
  }
  return "$x";
}

/** The value with "$x" in place of each node but the root, one at a time. */
function* withOneReference(value: Json): Generator<Json> {
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const put = (one: Json): Json =>
      isJsonArray(value)
        ? value.map((element, at) => (String(at) === key ? one : element))
        : { ...value, [key]: one };
    yield put("$x");
    for (const one of withOneReference(inner as Json)) yield put(one);
  }
}

describe("the widened schema of a tool", () => {
  it.each(Object.entries<{ schema: z.ZodType; input: Json }>(everything))(
    "of zod takes references anywhere: %s",
    async (_, one) => {
      const { schema, input } = one;
      const original = await asSchema(schema).jsonSchema;
      const root = widenSchema(original);
      expect(fits(original, input)).toBe(true);
      expect(fits(root, input)).toBe(true);
      expect(fits(root, byReference(input))).toBe(true);
      for (const mixed of withOneReference(input)) expect(fits(root, mixed)).toBe(true);
    },
  );

  it("still refuses what is neither a value nor a string", async () => {
    const root = widenSchema(await asSchema(everything.search.schema).jsonSchema);
    expect(fits(root, { query: "x", limit: true })).toBe(false);
    expect(fits(root, { limit: 5 })).toBe(false);
    expect(fits(root, { query: "x", limit: 51 })).toBe(false);
    expect(fits(root, { query: "x", unknown: 1 })).toBe(false);
  });
});
