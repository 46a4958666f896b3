import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../../src/store/memory-store.ts";
import type { Policy } from "../../../src/tool/policy.ts";
import type { SandboxAnswer } from "../src/sandbox.ts";
import { wrapTool } from "../../../src/tool/tool-call.ts";
import { failureOf, recordingTool, returnedBy, runCode } from "../../../test/support/run-code.ts";
import { giving, scriptedSandbox } from "../../../test/support/scripted-sandbox.ts";
import { storeWith } from "../../../test/support/wrapped.ts";

const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

/** Returns the answer of the sandbox as text. */
async function textOf(answer: Promise<SandboxAnswer>): Promise<string> {
  return JSON.stringify(JSON.stringify(await answer));
}

describe("the sandbox's input", () => {
  it("excludes variables that the call did not name", async () => {
    const store = await storeWith({ other: 1 });
    const answers: SandboxAnswer[] = [];
    const sandbox = scriptedSandbox(async ({ read }) => {
      answers.push(await read("other", ""), await read("__proto__", ""));
      return {};
    });
    await runCode(sandbox, "1", { store });
    expect(answers).toEqual([
      { error: "variable_not_found: other is not among this call's variables." },
      { error: "variable_not_found: __proto__ is not among this call's variables." },
    ]);
  });
});

it.each([
  ["invalid JSON", { returned: "{" }, "bad_value"],
  ["nothing at all", { returned: "" }, "bad_value"],
  ["a value that is too large", { returned: `"${"x".repeat(17_000_000)}"` }, "limit_exceeded"],
  ["too many arrays", { returned: `[${"[],".repeat(1_000_001)}1]` }, "limit_exceeded"],
  ["brackets nested too deeply", { returned: "[".repeat(300) + "]".repeat(300) }, "limit_exceeded"],
  ["an invalid name", { assigned: [["../x", "1"] as const] }, "bad_name"],
  ["the name input", { assigned: [["input", "1"] as const] }, "bad_name"],
])("the sandbox's answer is refused, and nothing is kept: %s", async (_, answer, code) => {
  const store = new MemoryStore();
  const sandbox = scriptedSandbox(() => answer);
  const outcome = await runCode(sandbox, "1", { store });
  expect(failureOf(outcome).code).toBe(code);
  expect(store.count()).toBe(0);
});

describe("the result of code", () => {
  it("is reported as not kept if there is no room", async () => {
    const store = new MemoryStore({ quotaBytes: 1_000 });
    const outcome = await runCode(giving("x".repeat(2_000), { a: 1 }), "1", { store });
    expect(outcome).toMatchObject({
      output: {
        returned: { notKept: expect.any(String) },
        vars: [{ notKept: expect.any(String) }],
      },
    });
    expect(store.count()).toBe(0);
  });

  it("inherits the sources and trust of all variables that the code receives", async () => {
    const store = new MemoryStore();
    await store.save({ name: "a", value: 1, sources: ["mcp:mail"], trusted: false });
    await store.save({ name: "b", value: 1, sources: ["caller"] });
    await runCode(giving(1, { c: 1 }), "1", { store, variables: ["a", "b"] });
    for (const name of ["run_code_1", "c"]) {
      const sources = ["tool:run_code", "mcp:mail", "caller"];
      expect(store.info(name)).toMatchObject({ sources, trusted: false });
    }
  });
});

describe("tool calls from code", () => {
  it("carry the labels of the code's variables, and contain no references", async () => {
    const store = new MemoryStore();
    await store.save({ name: "mail", value: "x", trusted: false, sources: ["mcp:mail"] });
    await store.save({ name: "mine", value: "y" });
    const given: unknown[] = [];
    const policy: Policy = ({ input, references }) => {
      given.push({ input, names: references.map(({ name }) => name) });
      return references.every(({ trusted }) => trusted) ? "allow" : { ask: "?" };
    };
    const send = await wrapTool("send", echo, { store, policy });
    const sandbox = scriptedSandbox(async ({ call }) => {
      return { returned: await textOf(call("send", '{"text":"$mine and $mail"}')) };
    });
    const trusted = await runCode(sandbox, "1", { store, variables: ["mine"], tools: [send] });
    expect(returnedBy(trusted)).toContain("$mine and $mail");
    expect(store.info("send_mine_and_mail")).toMatchObject({ trusted: true });
    const doubted = await runCode(sandbox, "2", { store, variables: ["mail"], tools: [send] });
    expect(returnedBy(doubted)).toContain("needs a person's approval");
    expect(given).toEqual([
      { input: { text: "$mine and $mail" }, names: ["mine"] },
      { input: { text: "$mine and $mail" }, names: ["mail"] },
    ]);
  });

  it("are not made with sealed values, which the code could write into their input", async () => {
    const store = new MemoryStore();
    await store.save({ name: "pay", value: 1, visibility: "sealed" });
    const ping = await recordingTool(store, "ping", () => 1);
    const answers: SandboxAnswer[] = [];
    const sandbox = scriptedSandbox(async ({ call }) => {
      answers.push(await call("ping", "{}"));
      return {};
    });
    await runCode(sandbox, "1", { store, variables: ["pay"], tools: [ping] });
    const why = "ping cannot be called: the code was given sealed values.";
    expect([answers, ping.inputs]).toEqual([[{ error: `tool_failed: ${why}` }], []]);
  });

  it("are not made once the run is over or stopped", async () => {
    const store = new MemoryStore();
    const ping = await recordingTool(store, "ping", () => 1);
    const stop = new AbortController();
    const stopped = scriptedSandbox(async ({ call }) => {
      stop.abort();
      const answer = await call("ping", "{}");
      return { returned: JSON.stringify(answer) };
    });
    await runCode(stopped, "1", { store, tools: [ping], signal: stop.signal });
    const sandbox = giving(1);
    await runCode(sandbox, "1", { store, tools: [ping] });
    const late = await sandbox.jobs[0]?.call("ping", "{}");
    expect(late).toEqual({ error: "tool_failed: The run is over." });
    expect(ping.inputs).toEqual([]);
  });
});

const failing = (code: string) => ({
  code,
  message: "run_code failed; details are withheld, because its input is sealed.",
});
const TOO_LARGE = `"${"4711".repeat(5_000_000)}"`;

it.each([
  ["a broken sandbox", () => Promise.reject(new Error("4711")), failing("tool_failed")],
  ["invalid JSON", () => ({ returned: "4711 {" }), failing("tool_failed")],
  ["a result that is too large", () => ({ returned: TOO_LARGE }), failing("tool_failed")],
  [
    "a name",
    () => ({ assigned: [["n4711", "1"] as const] }),
    {
      code: "tool_failed",
      message: "run_code failed: on sealed input, it only returns a value.",
    },
  ],
  [
    "a timeout",
    () => ({ error: { kind: "timeout" as const, message: "4711" } }),
    failing("tool_timeout"),
  ],
])("code with a guarded value reveals nothing through %s", async (_, script, expected) => {
  const store = new MemoryStore();
  await store.save({ name: "pin", value: 4_711, visibility: "sealed" });
  const sandbox = scriptedSandbox(script);
  const outcome = await runCode(sandbox, "1", { store, variables: ["pin"] });
  expect(sandbox.jobs).toMatchObject([{ values: [["pin", "4711"]] }]);
  expect(outcome).toMatchObject(expected);
  expect(JSON.stringify([outcome, store.list().map(({ name }) => name)])).not.toContain("4711");
  expect(store.list().map(({ visibility }) => visibility)).not.toContain("model");
});
