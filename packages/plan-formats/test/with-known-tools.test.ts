import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { withKnownTools, readCapabilities } from "../src/capability/capability-workflows.ts";
import type { Plan } from "../../../src/turn/plan.ts";

describe("the tools of a workflow", () => {
  const planOf = (xml: string): Plan => {
    const { plan } = readCapabilities(xml);
    if (plan === undefined) throw new Error("No plan.");
    return plan;
  };
  const taking = (shape: z.ZodRawShape): ToolSet[string] =>
    tool({ inputSchema: z.object(shape), execute: () => null });
  const known = async (xml: string, tools: ToolSet) =>
    (await withKnownTools(planOf(xml), tools)).calls.map(({ tool, parameters }) => [
      tool,
      parameters,
    ]);
  const web = '<capability name="web" action="generate" lines="3">x</capability>';

  it("are found by name and action, or by a name whose tool takes the action", async () => {
    const both = { web_generate: taking({}), web: taking({ action: z.string() }) };
    expect(await known(web, both)).toEqual([["web_generate", { lines: "3", content: "x" }]]);
    expect(await known(web, { web: both.web })).toEqual([
      ["web", { action: "generate", lines: "3", content: "x" }],
    ]);
    const parts = '<capability name="a_b" action="c_d" />';
    const action = taking({ action: z.enum(["c_d", "d"]) });
    expect(await known(parts, { a_b: action, a: action })).toEqual([["a_b", { action: "c_d" }]]);
  });

  it("are found by name alone if they take no action", async () => {
    expect(await known(web, { web: taking({ content: z.string() }) })).toEqual([
      ["web", { lines: "3", content: "x" }],
    ]);
    const whole = '<capability name="web_generate" />';
    expect(await known(whole, { web: taking({}) })).toEqual([["web_generate", {}]]);
    const { calls } = await withKnownTools(planOf(web), {});
    expect(calls[0]).not.toHaveProperty("capability");
  });
});
