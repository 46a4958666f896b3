import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import { wrapTools } from "../../src/tool/tool-call.ts";
import type { CallOptions, RunScope } from "../../src/tool/wrapped-tool.ts";
import { callTool, conversation } from "../support/runtime-tool-calls.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";
import { call, failureOf, run } from "../support/wrapped.ts";

/** Calls from another run, or from no run. */
const outside = { inRun: false } as const;

const called: unknown[] = [];
const echo = tool({
  inputSchema: z.object({ value: z.any() }),
  execute: ({ value }): unknown => {
    called.push(value);
    return value;
  },
});

describe("a run's own variable, for a model outside the run", () => {
  it.each([
    ["read_variable", { name: "state_r1" }],
    ["search_variable", { name: "state_r1", query: "run" }],
    ["delete_variable", { name: "state_r1" }],
  ])("is unknown to %s", async (name, input) => {
    const store = await conversation();
    const { ran } = await callTool(name, input, { store, ...outside });
    expect(failureOf(ran)?.code).toBe("variable_not_found");
    expect(await store.read("state_r1")).toEqual({ x: "the run's" });
  });

  it("cannot be written", async () => {
    const store = await conversation();
    for (const name of ["state_r1", "state_r1.x"]) {
      const input = { name, value: "mallory" };
      await expect(callTool("set_variable", input, { store, ...outside })).rejects.toMatchObject({
        code: "bad_name",
      });
    }
    const tools = await wrapTools({ echo }, { store, outputPath: true });
    const input = { value: "mallory", _outputPath: "$state_r1.x" };
    const ran = await run(required(tools.get("echo")), input);
    expect(failureOf(ran)?.code).toBe("bad_name");
    expect(called).not.toContain("mallory");
    const sandbox = scriptedSandbox(() => ({ assigned: [["state_r1", '"mallory"']] }));
    const code = codeTool({ sandbox, tools: () => new Map() });
    await expect(callTool(code, { code: "…" }, { store, ...outside })).rejects.toMatchObject({
      code: "bad_name",
    });
    expect(await store.read("state_r1")).toEqual({ x: "the run's" });
  });

  it("is not resolved in references, not even in another run", async () => {
    const store = await conversation();
    const tools = await wrapTools({ echo }, { store });
    const other: RunScope = { run: "r2", nameOf: (name) => name };
    for (const scope of [{}, { scope: other }]) {
      const options: CallOptions = { ...call, ...scope };
      await run(required(tools.get("echo")), { value: "$state_r1.x" }, options);
      expect(called.at(-1)).toBe("$state_r1.x");
    }
  });

  it("is not passed to code", async () => {
    const store = await conversation();
    const code = codeTool({ sandbox: scriptedSandbox(() => ({})), tools: () => new Map() });
    const input = { code: "…", variables: ["state_r1"] };
    const { ran } = await callTool(code, input, { store, ...outside });
    expect(failureOf(ran)?.code).toBe("variable_not_found");
  });
});

function required<Given>(given: Given | undefined): Given {
  if (given === undefined) throw new Error("There is no such tool.");
  return given;
}
