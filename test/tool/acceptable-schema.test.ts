import "../support/property-seed.ts";
import { jsonSchema, type JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool } from "../../src/tool/wrapped-tool.ts";
import type { Json } from "../../src/value/json.ts";
import { schemaErrors } from "../support/strict-schemas.ts";
import { call, storeWith } from "../support/wrapped.ts";

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

const ofProperty = (it: unknown, more: object = {}) => ({
  type: "object",
  properties: { it },
  ...more,
});

/** Schemas that servers and generators have published, and where. */
const REPORTED: readonly (readonly [source: string, schema: object])[] = [
  ["mark3labs/mcphost#35", ofProperty({ type: "array", description: "Words" })],
  ["wordpress-mcp#103", ofProperty({ type: ["string", "array", "null"] })],
  ["nocobase#9411", ofProperty({ anyOf: [{ type: "array" }, { type: "null" }] })],
  ["hyperdx#2925", ofProperty({ type: "array", items: [{ type: "number" }], minItems: 1 })],
  [
    "Mapbox in claude-code#586",
    ofProperty({ type: "string" }, { $schema: "http://json-schema.org/draft-07/schema#" }),
  ],
  ["mcp-graphql#14", ofProperty({ type: "any" })],
  ["fastapi_mcp#218", ofProperty({ type: "string", nullable: true, example: "a", minLength: "1" })],
  [
    "vscode-unify-chat-provider#162",
    { type: "object", properties: { filePath: { type: "string" }, type: "object" } },
  ],
  ["laravel-mcp-server#74", { type: "object", properties: [], required: [] }],
  ["wordpress-mcp#58", ofProperty({ type: "string" }, { required: {} })],
  ["xiaohongshu-mcp#677", { type: "object" }],
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
  [
    "a definition inside",
    ofProperty({ definitions: { d: { type: "string" } }, $ref: "#/properties/it/definitions/d" }),
  ],
  ["actual-mcp-server#293", ofProperty({ type: "string", pattern: "^[\\p{L}\\p{N} ._\\-]+$" })],
  ["oh-my-pi#2784", ofProperty({ type: "string", pattern: "^(?!undefined$|null$)" })],
  ["dokploy/mcp#72", ofProperty({ type: "string", pattern: "^[a-z\\-=[\\]{}]*$" })],
  ["opencode#35679", ofProperty({ type: "string", pattern: "^(?P<id>[a-z]+)$" })],
  ["vercel/ai#18921", ofProperty({ type: "string" }, { required: ["it", "that"] })],
  ["kimi-code#2661", ofProperty({ type: "string", anyOf: [{ enum: ["a"] }, { maxLength: 3 }] })],
  ["qwen-code#9869", ofProperty({ type: "array", items: { type: "string" }, uniqueItems: true })],
  ["draft-04", ofProperty({ type: "number", minimum: 0, exclusiveMinimum: true, id: "#it" })],
  ["draft-03", ofProperty({ type: "string", required: true })],
  ["draft-07", ofProperty({ dependencies: { a: 1 }, $id: "#it" })],
  ["alternatives that are none", ofProperty({ anyOf: 3, oneOf: [], allOf: {} })],
  ["null for a schema", ofProperty(null, { additionalProperties: null })],
  [
    "names in several languages",
    { type: "object", properties: { "user[name]": {}, 名前: {}, "": {} }, required: ["名前"] },
  ],
  ["composio#2330", { type: "object", properties: { [`settings${"__more".repeat(12)}`]: {} } }],
];

describe("the schema that a model is shown", () => {
  it.each(REPORTED)("is one that providers take: %s", async (_source, schema) => {
    expect(schemaErrors(schema)).not.toEqual([]);
    expect(schemaErrors((await shown(schema)).shown)).toEqual([]);
  });
});

describe("a schema of a hostile server", () => {
  it("is shown in about its own size, whatever its references repeat", async () => {
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

  it("has no pattern of over 1,000 characters, which takes long to read", async () => {
    const { shown: made } = await shown(ofProperty({ type: "string", pattern: "\\[".repeat(501) }));
    expect(made.properties?.["it"]).toEqual({ type: "string" });
  });
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
