import { type JSONSchema7, jsonSchema } from "ai";
import type { AnySchema } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Definition, foldSchema, schemaAt, typesIn } from "../../src/tool/json-schema.ts";
import { acceptableSchema, widenSchema } from "../../src/tool/shown-schema.ts";
import { isJsonArray, isJsonObject, type Json, typeOfJson } from "../../src/value/json.ts";
import { sampled, samples } from "../support/slow.ts";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import { schemaErrors } from "../support/strict-schemas.ts";
import { call, storeWith } from "../support/wrapped.ts";

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

it("a widened schema accepts what the original accepts, according to ajv", sampled, () => {
  let accepted = 0;
  fc.assert(
    fc.property(all, fc.array(object, { minLength: 8, maxLength: 8 }), (schema, values) => {
      const fits = validatorOf(schema);
      const acceptable = widenSchema(acceptableSchema(schema));
      expect(schemaErrors(acceptable)).toEqual([]);
      const shown = [widenSchema(schema), acceptable];
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

it("a widened schema accepts a reference in place of any part", sampled, () => {
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
});

it("the types of a schema are those of the values that ajv accepts", sampled, () => {
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
])("the types of a schema are those of %s", (_title, place, expected) => {
  const root = {
    $defs: { any: true, "a/b c": { type: "null" }, self: { $ref: "#/$defs/self" } },
  } satisfies JSONSchema7;
  const types = [...typesIn(place, root)];
  expect(types.length === 7 ? "everything" : types.join()).toBe(expected);
});

function conditional(unmet: JSONSchema7): JSONSchema7 {
  return { ...unmet, ...(JSON.parse('{"if":{},"then":{"type":"null"}}') as JSONSchema7) };
}

it("reading a schema visits each schema once, however many pointers lead to it", () => {
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

it("reading a schema terminates for deep schemas", () => {
  let deep: JSONSchema7 = { type: "null" };
  for (let depth = 0; depth < 1_000; depth++) deep = { allOf: [deep] };
  expect(typesIn(deep, {}).size).toBe(7);
});

const REFERENCE = { type: "string", description: "or a $reference" };

/** Returns the widened schema of a parameter. */
function widened(schema: JSONSchema7): unknown {
  const root = widenSchema({ type: "object", properties: { it: schema } });
  return root.properties?.["it"];
}

const orReference = (...schemas: readonly JSONSchema7[]) => ({ anyOf: [...schemas, REFERENCE] });
const orText = (schema: object) => ({ anyOf: [schema, { type: "string" }] });

const number: JSONSchema7 = { type: "number" };
const enumOfA: JSONSchema7 = { type: "string", enum: ["a"] };
const ofNumber: JSONSchema7 = { type: "object", properties: { n: number } };
const list: JSONSchema7 = { type: "array", minItems: 1, uniqueItems: true };
const noted = { description: "Which.", default: "a" };

it.each<[string, JSONSchema7, unknown]>([
  ["a number", number, orText(number)],
  [
    "bounds of it",
    { ...number, minimum: 1, maximum: 9 },
    orText({ ...number, minimum: 1, maximum: 9 }),
  ],
  [
    "a list, and its elements",
    { ...list, items: number },
    orText({ ...list, items: orText(number) }),
  ],
  [
    "a tuple, and its elements",
    { ...list, items: [number, enumOfA] },
    orText({ ...list, items: [orText(number), orReference(enumOfA)] }),
  ],
  [
    "an object, and its other properties",
    { type: "object", additionalProperties: number },
    orText({ type: "object", additionalProperties: orText(number) }),
  ],
  [
    "a text",
    { type: "string", description: "A city." },
    { type: "string", description: "A city." },
  ],
  ["a text or null", { type: ["string", "null"] }, { type: ["string", "null"] }],
  ["an enum", enumOfA, orReference(enumOfA)],
  ["a constant", { const: 5 }, orReference({ const: 5 })],
  ["a pattern", { type: "string", pattern: "^a" }, orReference({ type: "string", pattern: "^a" })],
  ["a length", { type: "string", minLength: 3 }, orReference({ type: "string", minLength: 3 })],
  [
    "an enum, with its description and default first",
    { enum: ["a"], title: "T", ...noted },
    { ...noted, ...orReference({ enum: ["a"], title: "T" }) },
  ],
  ...(["anyOf", "oneOf"] as const).map((keyword): [string, JSONSchema7, unknown] => [
    `${keyword}, and what is in it`,
    { [keyword]: [ofNumber, { type: "null" }] },
    orReference({ type: "object", properties: { n: orText(number) } } as JSONSchema7, {
      type: "null",
    }),
  ]),
  [
    "alternatives beside other keywords",
    { type: "object", anyOf: [{ required: ["a"] }] },
    orReference({ type: "object", anyOf: [{ required: ["a"] }] }),
  ],
  // A reference may change the verdict of a condition.
  ...["if", "not", "contains", "propertyNames", "dependencies"].map(
    (keyword): [string, JSONSchema7, unknown] => [
      `${keyword}, which is left out`,
      { ...number, [keyword]: { const: 5 } },
      orText(number),
    ],
  ),
])("a parameter accepts references: %s", (_, schema, expected) => {
  expect(widened(schema)).toEqual(expected);
});

it("a root has a description of references without a dollar for other syntaxes", () => {
  const schema: JSONSchema7 = { type: "object", properties: { it: { const: 5 } } };
  const described = (syntaxes: NonNullable<Parameters<typeof widenSchema>[1]>["syntaxes"]) =>
    JSON.stringify(widenSchema(schema, { syntaxes })).match(/or a [$a-z]+/u)?.[0];
  expect(described(["mustache", "dollar"])).toBe("or a $reference");
  expect(described(["mustache", "dagger"])).toBe("or a reference");
});

it("exactly one of several is any of them, beside other alternatives", () => {
  const [one, other, third] = [1, 2, 3].map((maximum): JSONSchema7 => ({ maximum }));
  const some = { oneOf: [one, other], anyOf: [third], allOf: [{}] } as JSONSchema7;
  expect(widenSchema({ type: "object", ...some })).toEqual({
    type: "object",
    anyOf: [third],
    allOf: [{}, { anyOf: [one, other] }],
  });
});

describe("a schema of many places", () => {
  // A place of a number adds a choice of a text.
  const MAX = Math.floor(limits.maxBlockChars / '{"anyOf":[{"type":"string"}]}'.length);
  const numbers = (count: number): JSONSchema7 => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: count }, (_, at) => [`n${at}`, { type: "number" }]),
    ),
  });
  const wideIn = (schema: JSONSchema7) =>
    Object.values(schema.properties ?? {}).filter((one) => "anyOf" in Object(one));

  it("is widened as far as there is room, its own places before those in them", () => {
    expect(wideIn(widenSchema(numbers(MAX)))).toHaveLength(MAX);
    const first = { type: "object", properties: numbers(9).properties } as const;
    const { properties, ...more } = numbers(MAX);
    const wide = widenSchema({ ...more, properties: { first, ...properties } });
    expect(wideIn(wide)).toHaveLength(MAX);
    expect(wide.properties?.[`n${MAX - 1}`]).toEqual({ type: "number" });
    expect(wide.properties?.["first"]).toEqual(orText(first));
  });

  it.each([
    [8, 1],
    [9, 0],
  ])(
    "that has %i levels of objects is widened in %i of them: providers take ten",
    (levels, count) => {
      let schema = numbers(1);
      for (let above = 1; above < levels; above++) schema = ofProperty(schema);
      const wide = JSON.stringify(widenSchema(schema));
      expect(wide.split('{"anyOf":[{"type":"object"').length - 1).toBe(count);
    },
  );
});

/** What a model is shown of a tool with the schema, and what the tool receives of an input. */
async function shown(schema: object, store = new MemoryStore()) {
  const taken: unknown[] = [];
  const tool = {
    inputSchema: jsonSchema(schema as JSONSchema7),
    execute: (input: unknown) => void taken.push(input),
  };
  const wrapped = await wrapTool("act", tool as unknown as AnyTool, { store });
  const run = async (input: Json) => {
    const prepared = await wrapped.prepare(input, call);
    if (prepared.kind === "failed") return prepared;
    await prepared.run();
    return taken.at(-1);
  };
  const shownSchema = (wrapped.shown.inputSchema as { readonly jsonSchema: JSONSchema7 })
    .jsonSchema;
  return { shown: shownSchema, run };
}

const ofProperty = (it: unknown, more: object = {}) =>
  ({ type: "object", properties: { it }, ...more }) as JSONSchema7;

/** Schemas that servers and generators have published, and where. */
const REPORTED: readonly (readonly [source: string, schema: object])[] = [
  ["mark3labs/mcphost#35", ofProperty({ type: "array", description: "Words" })],
  ["wordpress-mcp#103", ofProperty({ type: ["string", "array", "null"] })],
  ["hyperdx#2925", ofProperty({ type: "array", items: [{ type: "number" }], minItems: 1 })],
  ["mcp-graphql#14", ofProperty({ type: "any" })],
  ["fastapi_mcp#218", ofProperty({ type: "string", nullable: true, example: "a", minLength: "1" })],
  [
    "vscode-unify-chat-provider#162",
    { type: "object", properties: { filePath: { type: "string" }, type: "object" } },
  ],
  ["laravel-mcp-server#74", { type: "object", properties: [], required: [] }],
  ["gemini-cli#23382", { properties: { it: { type: "string" } } }],
  [
    "genkit-dart#253",
    { $ref: "#/$defs/Weather", $defs: { Weather: ofProperty({ type: "string" }) } },
  ],
  ["anytype-mcp#21", ofProperty({ $ref: "#/components/schemas/FilterExpression" })],
  [
    "zod-to-json-schema",
    {
      type: "object",
      properties: {
        a: { type: "object", properties: { b: { enum: ["x"] } } },
        it: { $ref: "#/properties/a/properties/b" },
      },
    },
  ],
  ["actual-mcp-server#293", ofProperty({ type: "string", pattern: "^[\\p{L}\\p{N} ._\\-]+$" })],
  ["vercel/ai#18921", ofProperty({ type: "string" }, { required: ["it", "that"] })],
  ["kimi-code#2661", ofProperty({ type: "string", anyOf: [{ enum: ["a"] }, { maxLength: 3 }] })],
  ["draft-04", ofProperty({ type: "number", minimum: 0, exclusiveMinimum: true, id: "#it" })],
  ["draft-07", ofProperty({ dependencies: { a: 1 }, $id: "#it" })],
  ["alternatives that are none", ofProperty({ anyOf: 3, oneOf: [], allOf: {} })],
  [
    "names in several languages",
    { type: "object", properties: { "user[name]": {}, 名前: {}, "": {} }, required: ["名前"] },
  ],
  ["composio#2330", { type: "object", properties: { [`settings${"__more".repeat(12)}`]: {} } }],
  ["gemini-cli#4127", ofProperty({ type: "integer", enum: [0, 1, 3], description: "Phases." })],
  ["chaos-03x/dsh-agy#4", ofProperty({ type: "boolean", enum: [true] })],
  ["bifrost#25", ofProperty({ const: 1 })],
  ["kimi-cli#2030", ofProperty({ enum: ["START", "END"] })],
  [
    "an enum without items, and one with a text that is empty",
    ofProperty({ anyOf: [{ enum: [] }, { enum: [""] }] }),
  ],
  ["paperless-mcp#138", ofProperty({ type: ["number", "null"], minimum: 1, enum: [1, 2, null] })],
  [
    "adk-python#30",
    ofProperty({
      type: ["object", "null"],
      properties: { a: { type: "string" } },
      required: ["a"],
    }),
  ],
  ["oh-my-pi#5952", ofProperty({ type: "array", items: ofProperty(true) })],
  ["kimi-cli#2061", ofDefinition("definitions", { $ref: "#/definitions/A", description: "It." })],
  ["a description that is none", ofDefinition("$defs", { $ref: "#/$defs/A", description: 5 })],
  [
    "opencode#27054",
    ofDefinition("definitions", { type: "array", items: { $ref: "#/definitions/A" } }),
  ],
  ["vercel/ai#19488", ofDefinition("$defs", { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] })],
  ["bb#1612", z.toJSONSchema(z.object({ it: z.json() }))],
  ["houseCARL#451", ofProperty({ type: "array", items: { $ref: "#" } })],
  ["nanobot#5040", ofProperty({ anyOf: [ofProperty({ $ref: "#/properties/it/anyOf/0" })] })],
  ["opencode#25495", nestedIn(12, (inner) => ofProperty(inner))],
  ["opencode#50297", ofProperty(nestedIn(12, (inner) => ({ type: "array", items: inner })))],
];

/** A schema whose property refers to a definition that contains itself. */
function ofDefinition(keyword: string, it: object): object {
  const $ref = `#/${keyword}/A`;
  const A = { type: "object", description: "A.", properties: { more: { $ref, title: "More" } } };
  return ofProperty(it, { [keyword]: { A } });
}

function nestedIn(levels: number, around: (inner: object) => object): object {
  const number: object = { type: "number", description: "The number." };
  return Array.from({ length: levels }).reduce<object>((inner) => around(inner), number);
}

it.each(REPORTED)("a shown schema is one that providers take: %s", async (_source, schema) => {
  expect(schemaErrors(schema)).not.toEqual([]);
  expect(schemaErrors((await shown(schema)).shown)).toEqual([]);
});

it.each<[string, object, object]>([
  [
    "its values, if Google does not take them",
    { type: ["integer", "null"], enum: [0, 1, null], minimum: 0, description: "How many." },
    {
      description: "How many. One of 0, 1, null.",
      ...orReference({ type: "integer", minimum: 0 }, { type: "null" }),
    },
  ],
  [
    "its form, if it is in itself",
    { $ref: "#/$defs/A" },
    orText({
      type: "array",
      items: {
        description: 'As JSON Schema: {"type":"array","items":{"$ref":"#/$defs/A"}}',
        ...orText({ type: "array", items: {} }),
      },
    }),
  ],
])("the description of a parameter says %s", async (_, it, expected) => {
  const A = { type: "array", items: it };
  const { shown: made } = await shown({ ...ofProperty(it), $defs: { A } });
  expect(made.properties?.["it"]).toEqual(expected);
});

it("a schema of a hostile server is shown in about its own size, whatever its references repeat", async () => {
  let nested: object = { type: "string" };
  let path = "#/properties/a";
  const properties: Record<string, object> = {};
  for (let at = 0; at < 60; at++) {
    nested = { type: "object", description: "x".repeat(200), properties: { a: nested } };
    path += "/properties/a";
    properties[`b${at}`] = { $ref: path };
  }
  const schema = { type: "object", properties: { ...properties, a: nested } };
  const { shown: made } = await shown(schema);
  expect(JSON.stringify(made).length - JSON.stringify(schema).length).toBeLessThan(60_000);
  expect(schemaErrors(made)).toEqual([]);
});

it("a schema of a hostile server has no pattern of over 1,000 characters, which takes long to read", async () => {
  const { shown: made } = await shown(ofProperty({ type: "string", pattern: "\\[".repeat(501) }));
  expect(made.properties?.["it"]).toEqual({ type: "string" });
});

describe("a parameter with a name that a provider refuses", () => {
  const schema = {
    type: "object",
    properties: {
      $filter: { type: "string", description: "What to keep" },
      "StartTime<": { type: "string" },
      "StartTime>": { type: "string" },
      StartTime: { type: "string" },
    },
    required: ["$filter"],
  };

  it("has another name, with its own in the description", async () => {
    expect((await shown(schema)).shown).toMatchObject({
      properties: {
        filter: { description: "$filter: What to keep" },
        StartTime_2: { description: "StartTime<" },
        StartTime_3: { description: "StartTime>" },
        StartTime: { type: "string" },
      },
      required: ["filter"],
    });
  });

  it("reaches the tool by its own name, with its references", async () => {
    const { run } = await shown(schema, await storeWith({ term: "open" }));
    expect(await run({ filter: "$term", StartTime_3: "9:00", StartTime: "x" })).toEqual({
      $filter: "open",
      "StartTime>": "9:00",
      StartTime: "x",
    });
    expect(await run({ $filter: "$term" })).toEqual({ $filter: "open" });
    expect(await run({ $filter: "a", filter: "b" })).toEqual({ $filter: "a", filter: "b" });
  });
});
