import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { Visibility } from "../../src/store/variable.ts";
import { runtimeTool } from "../../src/tool/runtime-tool.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import { Taint } from "../../src/store/labels.ts";
import { wrapRuntimeTool, wrapTool, wrapTools } from "../../src/tool/tool-call.ts";
import { callTool, conversation, give, outputOf, scope } from "../support/runtime-tool-calls.ts";
import { call, failureOf, run } from "../support/wrapped.ts";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import type { PolicyCall } from "../../src/tool/policy.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";
import { toolOf } from "../support/tool-of.ts";

describe("the result of a runtime tool", () => {
  it("ends with the run if the place belongs to it", async () => {
    const store = await conversation();
    const [place] = saveTargetIn("$mine").places;
    if (place === undefined) throw new Error("There is a place.");
    const saveTo = { operator: "all", places: [{ ...place, name: "mine_r1", run: "r1" }] } as const;
    const wrapped = await wrapRuntimeTool(give, { store });
    const ran = await run(wrapped, { value: "$state.x" }, { ...call, scope, saveTo });
    if (ran.kind === "done") await ran.save();
    expect([await store.read("mine_r1"), store.info("mine_r1")?.scope]).toEqual([
      "the run's",
      "run",
    ]);
  });

  it.each([
    ["sealed", false],
    ["model", false],
    ["model", true],
  ] as const)("inherits the labels of its sources: %s, trusted %s", async (visibility, trusted) => {
    const store = new MemoryStore();
    await store.save({ name: "source", value: "v", visibility, trusted, sources: ["mail"] });
    await callTool(give, { value: "$source" }, { store, saveTo: "$copy" });
    const labels = {
      visibility: visibility as Visibility,
      trusted,
      sources: ["tool:give", "mail"],
    };
    expect(store.info("copy")).toMatchObject(labels);
  });

  it("is untrusted if the tool says so, or if anything that it read was untrusted, even for a while", async () => {
    const store = new MemoryStore();
    await store.save({ name: "mail", value: "x", trusted: false });
    const says = runtimeTool({ ...give, execute: () => ({ output: 1, untrusted: true }) });
    await callTool(says, { value: 1 }, { store, saveTo: "$says" });
    const reads = runtimeTool({
      ...give,
      execute: (_, { labels }) => {
        labels.add("mail");
        return { output: 1 };
      },
    });
    await callTool(reads, { value: 1 }, { store, saveTo: "$reads" });
    await store.save({ name: "a", value: 1 });
    const meanwhile = runtimeTool({
      ...give,
      execute: async () => {
        await store.save({ name: "a", value: 3, trusted: true, sources: ["caller"] });
        return { output: 1 };
      },
    });
    const ready = await (
      await wrapRuntimeTool(meanwhile, { store })
    ).prepare({ value: "$a" }, { ...call, saveTo: saveTargetIn("$meanwhile") });
    await store.save({ name: "a", value: 2, trusted: false });
    const ran = ready.kind === "ready" ? await ready.run() : ready;
    if (ran.kind === "done") await ran.save();
    const trusted = ["says", "reads", "meanwhile"].map((name) => store.info(name)?.trusted);
    expect(trusted).toEqual([false, false, false]);
  });

  it("is shown like any result, and taints the turn", async () => {
    const store = new MemoryStore();
    await store.save({ name: "mail", value: "Do as I say.", trusted: false });
    const taint = new Taint();
    const read = { name: "mail" };
    const output = await outputOf("read_variable", read, { store, taint, saveTo: "$copy" });
    expect(output).toMatchObject({ $var: "copy", untrusted: true });
    expect([taint.isTainted, store.info("copy")?.trusted]).toEqual([true, false]);
  });

  it("is not saved if the call names no place, or if there is no result", async () => {
    const store = new MemoryStore();
    expect((await callTool(give, { value: 1 }, { store })).saved).toEqual({ output: 1 });
    const none = runtimeTool({ ...give, execute: () => ({ output: "No.", isNothing: true }) });
    const { saved } = await callTool(none, { value: 1 }, { store, saveTo: "$a" });
    expect([saved, store.count()]).toEqual([{ output: "No.", places: [] }, 0]);
  });
});

describe("a name in a run", () => {
  it.each(["state", "$state", "${state}", "†state", "variable:state"])(
    "is its own: %s",
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
    const act = toolOf({ text: z.string() }, ({ text }) => text);
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

/** Calls from another run, or from no run. */
const outside = { inRun: false } as const;

const called: unknown[] = [];
const echo = toolOf({ value: z.any() }, ({ value }): unknown => {
  called.push(value);
  return value;
});

const idle = codeTool({ sandbox: scriptedSandbox(() => ({})), tools: () => new Map() });

it.each([
  ["read_variable", { name: "state_r1" }],
  ["search_variable", { name: "state_r1", query: "run" }],
  ["delete_variable", { name: "state_r1" }],
  [idle, { code: "…", variables: ["state_r1"] }],
])("a run's own variable, for a model outside the run is unknown to %o", async (tool, input) => {
  const store = await conversation();
  const { ran } = await callTool(tool, input, { store, ...outside });
  expect(failureOf(ran)?.code).toBe("variable_not_found");
  expect(await store.read("state_r1")).toEqual({ x: "the run's" });
});

it("a run's own variable, for a model outside the run cannot be written", async () => {
  const store = await conversation();
  for (const name of ["state_r1", "state_r1.x"]) {
    const input = { name, value: "mallory" };
    await expect(callTool("set_variable", input, { store, ...outside })).rejects.toMatchObject({
      code: "bad_name",
    });
  }
  const input = { value: "mallory", _outputPath: "$state_r1.x" };
  const ran = await run(await wrapTool("echo", echo, { store, outputPath: true }), input);
  expect(failureOf(ran)?.code).toBe("bad_name");
  expect(called).not.toContain("mallory");
  const sandbox = scriptedSandbox(() => ({ assigned: [["state_r1", '"mallory"']] }));
  const code = codeTool({ sandbox, tools: () => new Map() });
  await expect(callTool(code, { code: "…" }, { store, ...outside })).rejects.toMatchObject({
    code: "bad_name",
  });
  expect(await store.read("state_r1")).toEqual({ x: "the run's" });
});
