import type { JSONSchema7 } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { parseExactly } from "../../../src/value/exact-number.ts";
import { coerceParameters } from "../src/capability/capability-tools.ts";
import type { Json } from "../../../src/value/json.ts";

function schemaOf(schema: z.ZodType): JSONSchema7 {
  return z.toJSONSchema(schema, { target: "draft-07" }) as JSONSchema7;
}

function coerced(type: z.ZodType, value: Json): Json | undefined {
  return coerceParameters({ value }, schemaOf(z.object({ value: type })))["value"];
}

const LONG = "12345678901234567890123";

interface Case {
  readonly text: string;
  readonly value: Json;
}

describe("a parameter that was written as text", () => {
  it.each<[string, z.ZodType, Case]>([
    ["a number with whitespace", z.number(), { text: " -1.5e3 ", value: -1500 }],
    ["a long integer", z.int(), { text: LONG, value: parseExactly(LONG) as Json }],
    ["an object", z.object({ a: z.string() }), { text: '{"a": "$x"}', value: { a: "$x" } }],
    ["one of some numbers", z.literal([1, 2]), { text: "2", value: 2 }],
  ])("becomes %s", (_title, type, { text, value }) => {
    expect(coerced(type, text)).toEqual(value);
  });

  it.each<[string, z.ZodType, string]>([
    ["where the schema wants a string", z.string(), "5"],
    ["where it may be anything", z.unknown(), "5"],
    ["that is one of some strings", z.enum(["1", "2"]), "1"],
    ["that is a dollar reference", z.array(z.number()), "$rows[0:5]"],
    ["that is a dagger reference", z.number(), "†state.n"],
  ])("stays text %s", (_title, type, text) => {
    expect(coerced(type, text)).toBe(text);
  });

  it.each<[string, JSONSchema7, Json]>([
    ["2", { enum: [1, 2] }, 2],
    ["null", { enum: [null, "a number"] }, "null"],
    ["null", { enum: [null, 1] }, null],
    ["5", { allOf: [{ type: ["number", "string"] }, { type: ["number", "boolean"] }] }, 5],
    ["5", { allOf: [{ type: ["number", "string"] }, { title: "Any" }] }, "5"],
    ["5", { $ref: "#/$defs/nowhere" }, "5"],
    ["5", { anyOf: [{ type: "number" }, true] }, "5"],
  ])("%j is read by a server's schema that states no type: %j", (text, schema, value) => {
    const asked: JSONSchema7 = { type: "object", properties: { value: schema } };
    expect(coerceParameters({ value: text }, asked)).toEqual({ value });
    const parted: JSONSchema7 = { allOf: [{ required: ["value"] }, asked] };
    expect(coerceParameters({ value: text }, parted)).toEqual({ value });
  });
});
