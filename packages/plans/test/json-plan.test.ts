import { describe, expect, it } from "vitest";
import { readJsonPlan } from "../src/plan/json-plan.ts";

describe("a plan as JSON", () => {
  it("is read as its calls, which get ids", () => {
    const { plan } = readJsonPlan({
      name: "Greet",
      input: { type: "object" },
      calls: [
        { _tool: "greet", name: "†input.name", _outputPath: "†state.greeting" },
        { _tool: "say", _id: "last", text: ["†state.greeting", null, 1] },
      ],
    });
    expect(plan).toMatchObject({ name: "Greet", input: { type: "object" }, order: "data" });
    expect(plan?.calls).toEqual([
      {
        id: "call_1",
        tool: "greet",
        parameters: { name: "†input.name" },
        outputPath: "†state.greeting",
      },
      { id: "last", tool: "say", parameters: { text: ["†state.greeting", null, 1] } },
    ]);
  });

  it.each<[unknown, readonly object[]]>([
    ["text", [{ code: "bad_plan", at: "" }]],
    [{}, [{ code: "bad_plan", at: "calls" }]],
    [{ calls: [] }, [{ code: "bad_plan", at: "calls" }]],
    [
      { calls: [{}, { _tool: 1 }] },
      [
        { call: "call_1", at: "_tool" },
        { call: "call_2", at: "_tool" },
      ],
    ],
    [{ calls: [{ _tool: "a", _outputPath: 1 }] }, [{ call: "call_1", at: "_outputPath" }]],
    [{ calls: [{ _tool: "a" }], more: 1 }, [{ code: "bad_plan" }]],
    ...[
      ["_output", "_outputPath"],
      ["_outputpath", "_outputPath"],
      ["_when", "_after"],
      ["_ID", "_id"],
    ].map(([at = "", near = ""]): [unknown, readonly object[]] => [
      { calls: [{ _tool: "a", _id: "x", [at]: "†state.a" }] },
      [
        {
          code: "bad_plan",
          call: "x",
          at,
          message: expect.stringContaining(`nearest is ${near}.`),
        },
      ],
    ]),
  ])("is refused with every place that is wrong: %j", (given, findings) => {
    const read = readJsonPlan(given);
    expect(read.plan).toBeUndefined();
    expect(read.findings).toMatchObject(findings);
    expect(read.findings).toHaveLength(findings.length);
  });

  it("keeps a parameter named __proto__ a parameter", () => {
    const { plan } = readJsonPlan(JSON.parse('{"calls":[{"_tool":"a","__proto__":{"x":1}}]}'));
    expect({}).not.toHaveProperty("x");
    expect(Object.getPrototypeOf(plan?.calls[0]?.parameters)).toBe(Object.prototype);
  });
});
