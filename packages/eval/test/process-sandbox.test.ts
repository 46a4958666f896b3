import { describe, expect, it } from "vitest";
import { processSandbox } from "../src/arms/process-sandbox.ts";
import type { SandboxJob } from "../../../src/tool/code/sandbox.ts";
import { slow } from "../../../test/support/slow.ts";

function run(code: string, more: Partial<SandboxJob> = {}) {
  return processSandbox.run({
    code,
    values: [["x", "[1,2]"]],
    large: [["big", '{"type":"array","count":3}']],
    call: async (tool, input) =>
      tool === "add" ? { text: input } : { error: `unknown_tool: ${tool}` },
    read: async (name, path) => ({ text: JSON.stringify([name, path]) }),
    signal: new AbortController().signal,
    timeMs: 600_000,
    ...more,
  });
}

describe("the sandbox of the evaluation", () => {
  it("returns the result, the assignments and the output of the code", async () => {
    expect(
      await run('vars.y = x.length; console.log("hi", { a: 1 }); return x.concat(3);'),
    ).toEqual({
      returned: "[1,2,3]",
      assigned: [["y", "2"]],
      console: 'hi {"a":1}',
    });
    expect(await run("")).toEqual({ assigned: [], console: "" });
  });

  it("forwards tool calls and reads of large values", async () => {
    const code = "return [await tools.add({ a: 1 }), await big.slice(0, 2), big.count];";
    expect((await run(code)).returned).toBe('[{"a":1},["big","[0:2]"],3]');
    const failed = await run("await tools.nothing();");
    expect(failed.error?.message).toContain("unknown_tool: nothing");
  });

  it("exposes no Node APIs, files, network or settings", slow, async () => {
    const names = "process require fetch setTimeout Buffer WebSocket module global".split(" ");
    const { returned } = await run(`return [${names.map((name) => `typeof ${name}`).join()}];`);
    expect(JSON.parse(returned ?? "")).toEqual(names.map(() => "undefined"));
    for (const way of ["console.log", "tools.add", "(await tools.add({}))", "vars"]) {
      const { error } = await run(`return ${way}.constructor.constructor("return process")().pid;`);
      expect(error?.kind).toBe("thrown");
    }
  });

  it("ends an endless run and an aborted one", slow, async () => {
    expect((await run("for (;;) {}", { timeMs: 300 })).error).toMatchObject({ kind: "timeout" });
    const stopping = new AbortController();
    const running = run("await new Promise(() => {});", { signal: stopping.signal });
    stopping.abort();
    expect((await running).error).toMatchObject({ kind: "timeout" });
  });
});
