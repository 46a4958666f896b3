import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { callOnce } from "../../../../test/support/call-once.ts";

describe("a parameter of any type takes a reference, and the tool gets the value:", () => {
  const variables = {
    x: {
      text: "seven",
      number: 7,
      flag: true,
      none: null,
      list: [1, 2],
      item: { id: "a", tags: ["b"] },
      when: "2026-01-01T00:00:00Z",
    },
  };
  it.each<[string, z.ZodType, unknown, unknown]>([
    ["string", z.string(), "$x.text", "seven"],
    ["string with text around", z.string(), "It is $x.number.", "It is 7."],
    ["bound string", z.string().min(4).max(6), "$x.text", "seven"],
    ["date", z.iso.datetime(), "$x.when", variables.x.when],
    ["number", z.number().int().max(9), "$x.number", 7],
    ["boolean", z.boolean(), "$x.flag", true],
    ["null", z.null(), "$x.none", null],
    ["enum", z.enum(["six", "seven"]), "$x.text", "seven"],
    ["literal", z.literal(7), "$x.number", 7],
    ["array", z.array(z.number()), "$x.list", [1, 2]],
    ["element", z.array(z.number()), [0, "$x.list[1]"], [0, 2]],
    [
      "object",
      z.object({ id: z.string(), tags: z.array(z.string()) }),
      "$x.item",
      variables.x.item,
    ],
    [
      "nested",
      z.object({ deep: z.object({ n: z.number() }) }),
      { deep: { n: "$x.number" } },
      { deep: { n: 7 } },
    ],
    ["record", z.record(z.string(), z.number()), { a: "$x.number" }, { a: 7 }],
    ["optional", z.number().optional(), "$x.number", 7],
    ["nullable", z.number().nullable(), "$x.number", 7],
    ["default", z.number().default(3), undefined, 3],
    ["union", z.union([z.number(), z.array(z.number())]), "$x.list", [1, 2]],
    [
      "discriminated union",
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("a"), n: z.number() }),
        z.object({ kind: z.literal("b"), s: z.string() }),
      ]),
      { kind: "a", n: "$x.number" },
      { kind: "a", n: 7 },
    ],
    ["transformed", z.string().transform((text) => text.length), "$x.text", 5],
    ["anything", z.unknown(), "$x.item", variables.x.item],
  ])("%s", async (...row) => {
    const [, schema, written, received] = row;
    const got: unknown[] = [];
    const act = tool({
      inputSchema: z.object({ it: schema }),
      execute: (input) => void got.push(input.it),
    });
    const { error } = await callOnce(act, { it: written }, { variables });
    expect(error).toBeUndefined();
    expect(got).toEqual([received]);
  });

  it("an error that the model reads, if the value does not fit", async () => {
    const act = tool({ inputSchema: z.object({ n: z.number() }), execute: () => "never" });
    const { error, shown } = await callOnce(act, { n: "$x.text" }, { variables });
    expect(error).toContain("invalid_tool_input: The input does not fit the tool: n:");
    expect(JSON.stringify(shown)).toContain("invalid_tool_input");
  });
});

describe("the result", () => {
  const anything = z.object({});

  it("is a handle if it is large, for the model, the records and the client", async () => {
    const act = tool({ inputSchema: anything, execute: () => "long ".repeat(5_000) });
    const { output, shown } = await callOnce(act, {});
    expect(output).toMatchObject({ $var: "act_1", type: "string", count: 25_000 });
    expect(JSON.stringify(shown).length).toBeLessThan(1_500);
  });

  it("is what a tool's own toModelOutput makes of it while it is small", async () => {
    const act = tool({
      inputSchema: anything,
      execute: () => ({ celsius: 21 }),
      toModelOutput: ({ output }) => ({ type: "text", value: `${output.celsius} degrees` }),
    });
    const { output, shown } = await callOnce(act, {});
    expect(output).toMatchObject({ value: { celsius: 21 } });
    expect(shown).toMatchObject({ output: { type: "text", value: "$act_1: 21 degrees" } });
  });

  it("is a handle if it is large, even with toModelOutput", async () => {
    const act = tool({
      inputSchema: anything,
      execute: () => "long ".repeat(5_000),
      toModelOutput: ({ output }) => ({ type: "text", value: output }),
    });
    const { shown } = await callOnce(act, {});
    expect(shown).toMatchObject({ output: { type: "json", value: { $var: "act_1" } } });
  });
});
