import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import { wrapTools } from "../../src/tool/wrap-tool.ts";
import type { CallOptions, RunScope } from "../../src/tool/wrapped-tool.ts";
import { callTool, conversation, outputOf } from "../support/runtime-tool-calls.ts";
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
    expect(failureOf(ran)?.code).toBe("variable_unknown");
    expect(await store.read("state_r1")).toEqual({ x: "the run's" });
  });

  it("is not listed", async () => {
    const listed = await outputOf(
      "list_variables",
      {},
      { store: await conversation(), ...outside },
    );
    expect(listed).toMatchObject({ variables: [{ name: "state" }, { name: "rows" }] });
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
    expect(failureOf(ran)?.code).toBe("variable_unknown");
  });
});

describe("a result without a name, in a run that owns its results", () => {
  const owning: RunScope = { run: "r1", ownsResults: true, nameOf: (name) => name };
  const calling: CallOptions = { ...call, scope: owning };

  it("belongs to the run, and is known by its short name there", async () => {
    const store = await conversation();
    const tools = await wrapTools({ echo }, { store });
    const ran = await run(required(tools.get("echo")), { value: [1, 2] }, calling);
    const saved = ran.kind === "done" ? await ran.save() : undefined;
    expect(saved?.output).toMatchObject({ $var: "echo_1", value: [1, 2] });
    expect(saved?.info).toMatchObject({ name: "echo_1_r1", scope: "run" });
    await run(required(tools.get("echo")), { value: "$echo_1[1]" }, calling);
    expect(called.at(-1)).toBe(2);
    store.endRun("r1");
    expect(store.list().map(({ name }) => name)).toEqual(["state", "rows"]);
  });
});

function required<Given>(given: Given | undefined): Given {
  if (given === undefined) throw new Error("There is no such tool.");
  return given;
}
