import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import type { PolicyCall } from "../../src/tool/policy.ts";
import { runtimeTool } from "../../src/tool/runtime-tool.ts";
import { wrapRuntimeTool, wrapTools } from "../../src/tool/tool-call.ts";
import { callTool, conversation, give, outputOf, scope } from "../support/runtime-tool-calls.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";
import { call, failureOf } from "../support/wrapped.ts";

describe("a name in a run", () => {
  it.each(["state", "$state", "${state}", "†state", "variable:state"])(
    "is the run's own, written %s",
    async (name) => {
      const store = await conversation();
      const read = { reference: "$state.x", type: "string", count: 9, value: "the run's" };
      expect(await outputOf("read_variable", { name, path: ".x" }, { store })).toEqual(read);
      const outside = await outputOf("read_variable", { name }, { store, inRun: false });
      expect(outside).toMatchObject({ value: { x: "the conversation's" } });
    },
  );

  it("is bound to its version in an approval", async () => {
    let nowMs = 0;
    const store = new MemoryStore({ now: () => ++nowMs });
    await store.save({ name: "state_r1", value: 1, run: "r1" });
    const tool = await wrapRuntimeTool(give, { store });
    const pin = async () => {
      const ready = await tool.prepare({ value: "$state" }, { ...call, scope });
      return ready.kind === "ready" ? ready.pin : undefined;
    };
    const before = await pin();
    await store.save({ name: "state", value: "another" });
    expect(await pin()).toBe(before);
    await store.save({ name: "state_r1", value: "another", run: "r1" });
    expect(await pin()).not.toBe(before);
  });

  it("is used by code, whose tool calls save where they otherwise would", async () => {
    const store = await conversation();
    const sandbox = scriptedSandbox(async ({ values, call: callBack }) => {
      const answer = await callBack("act", '{"text":"in code"}');
      return {
        returned: "text" in answer ? answer.text : answer.error,
        assigned: [["mine", values[0]?.[1] ?? ""]],
      };
    });
    const act = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });
    const tools = await wrapTools({ act }, { store });
    const code = codeTool({ sandbox, tools: () => tools });
    const input = { code: "…", variables: ["$state"] };
    await outputOf(code, input, { store, saveTo: "$report" });
    expect(sandbox.jobs[0]?.values).toEqual([["state", '{"x":"the run\'s"}']]);
    expect(await store.read("mine_r1")).toEqual({ x: "the run's" });
    expect(store.info("mine_r1")?.scope).toBe("run");
    expect(await store.read("act_in_code")).toBe("in code");
    expect(await store.read("report")).toBe("in code");
    expect(store.glance("run_code_1")).toBeUndefined();
  });

  it("is where code saves its result, if it has one and does not fail", async () => {
    const store = await conversation();
    await store.save({ name: "mail", value: "x", trusted: false });
    const code = (script: Parameters<typeof scriptedSandbox>[0]) =>
      codeTool({ sandbox: scriptedSandbox(script), tools: () => new Map() });
    const input = { code: "…", variables: ["mail"] };
    const none = await callTool(
      code(() => ({ returned: "null" })),
      input,
      { store, saveTo: "$a" },
    );
    expect([none.saved?.places, await store.read("a")]).toEqual([["$a"], null]);
    expect(store.info("a")?.trusted).toBe(false);
    const nothing = await callTool(
      code(() => ({})),
      input,
      { store, saveTo: "$b" },
    );
    expect([nothing.saved?.places, store.glance("b")]).toEqual([[], undefined]);
    const failing = code(() => ({ error: { kind: "thrown", message: "boom" } }));
    const { ran } = await callTool(failing, input, { store, saveTo: "$b" });
    expect(failureOf(ran)?.message).toContain("boom");
  });

  it("is what the policy sees", async () => {
    const store = await conversation();
    await store.save({ name: "state_r1", value: 1, trusted: false, sources: ["caller"] });
    const asked: PolicyCall[] = [];
    const policy = (call: PolicyCall) => {
      asked.push(call);
      return "allow" as const;
    };
    await outputOf("read_variable", { name: "variable:state" }, { store, policy });
    const keyed = runtimeTool({
      ...give,
      inputSchema: z.object({ key: z.string(), variables: z.array(z.string()) }),
      execute: () => ({ output: 1 }),
    });
    await outputOf(keyed, { key: "state", variables: ["$rows"] }, { store, policy });
    expect(asked.map(({ references }) => references)).toMatchObject([
      [{ name: "state", trusted: false }],
      [{ name: "state", trusted: false }, { name: "rows" }],
    ]);
  });
});
