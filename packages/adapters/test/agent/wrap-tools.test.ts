import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { callOnce } from "../../../../test/support/call-once.ts";

describe("a parameter of any type takes a reference, and the tool gets the value:", () => {
  const X = { text: "seven", number: 7, list: [1, 2], item: { id: "a", tags: ["b"] } };
  const variables = { x: X };
  // Each kind of schema: test/tool/widen-schema.test.ts.
  it.each<[string, z.ZodType, unknown, unknown]>([
    ["string with text around", z.string().min(4), "It is $x.number.", "It is 7."],
    ["number", z.number().int().max(9), "$x.number", 7],
    ["element", z.array(z.number()), [0, "$x.list[1]"], [0, 2]],
    ["object", z.object({ id: z.string(), tags: z.array(z.string()) }), "$x.item", X.item],
    ["default", z.number().default(3), undefined, 3],
    ["union", z.union([z.number(), z.array(z.number())]), "$x.list", [1, 2]],
    ["transformed", z.string().transform((text) => text.length), "$x.text", 5],
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
});

describe("the result", () => {
  const anything = z.object({});

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
});
