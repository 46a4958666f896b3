import { jsonSchema, type JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import { checkPlan } from "../src/plan/check-plan.ts";
import type { Json } from "../../../src/value/json.ts";
import { planOf } from "../../../test/support/plans.ts";

const text: JSONSchema7 = { type: "string" };
const schema: JSONSchema7 = {
  type: "object",
  properties: {
    city: text,
    days: { type: "integer", minimum: 1 },
    unit: { enum: ["c", "f"] },
    tree: { $ref: "#/$defs/node" },
    either: { anyOf: [{ type: "number" }, { type: "array", items: text }] },
    one: { oneOf: [{ const: 1 }, { $ref: "https://elsewhere/schema" }] },
    pair: { prefixItems: [text], items: { type: "number" } } as JSONSchema7,
    odd: { minLength: "x", pattern: "^b" } as unknown as JSONSchema7,
    named: { type: "object", patternProperties: { "^x": {} }, additionalProperties: false },
  },
  required: ["city"],
  additionalProperties: false,
  $defs: {
    node: {
      type: "object",
      properties: { name: text, inner: { $ref: "#/$defs/node" } },
      required: ["name"],
    },
  },
};

async function placesOf(parameters: Readonly<Record<string, Json>>, of = schema) {
  const tools = { weather: { inputSchema: jsonSchema(of) } };
  const plan = planOf([{ _tool: "weather", ...parameters }]);
  const { findings } = await checkPlan(plan, { tools, isKnown: () => true });
  return findings.list().map(({ code, at }) => [code, at]);
}

describe("parameters of a tool with a JSON Schema but no validator, such as an MCP server's", () => {
  it.each<readonly [Readonly<Record<string, Json>>, readonly string[]]>([
    [{ city: "Oslo", days: 2, unit: "c" }, []],
    [{}, ["city"]],
    [{ city: 5, days: 1.5 }, ["city", "days"]],
    [{ city: "†input.city", days: 0, unit: "k" }, ["days", "unit"]],
    [{ city: "Oslo", town: "Oslo" }, ["town"]],
    [{ city: "Oslo", tree: { name: "a", inner: { name: 5 } } }, ["tree.inner.name"]],
    [{ city: "Oslo", tree: "†input.tree" }, []],
    [{ city: "Oslo", tree: { name: "†input.name", inner: {} } }, ["tree.inner.name"]],
    [{ city: "Oslo", either: ["a", 1] }, ["either"]],
    [{ city: "Oslo", either: ["a", "†input.b"] }, []],
  ])("are checked: %j", async (parameters, places) => {
    expect(await placesOf(parameters)).toEqual(places.map((at) => ["invalid_parameters", at]));
  });

  it.each<Readonly<Record<string, Json>>>([
    { one: 2 },
    { pair: ["a", 1] },
    { odd: "a" },
    { named: { xa: 1 } },
  ])("pass if the schema uses keywords that are not checked: %j", async (parameters) => {
    expect(await placesOf({ city: "Oslo", ...parameters })).toEqual([]);
  });
});
