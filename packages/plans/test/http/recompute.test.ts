import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import { decide, payingPlanner, planning, variable } from "../../../../test/support/planning.ts";
import type { Step } from "../../../testing/src/testing.ts";
import { recomputation, runView } from "../../src/http/plan-view.ts";

afterEach(() => vi.useRealTimers());

const MINUTE_MS = 60_000;
const call = (name: string, input: object) => ({ tool: name, input });
const steps: readonly Step[] = [
  call("add", { a: "$x", b: "$y", _outputPath: "$sum" }),
  call("add", { a: "$sum", b: "$y", _outputPath: "$more" }),
  call("pay", { amount: "$more", _outputPath: "$receipt" }),
  call("set_variable", { name: "note", value: { of: "$sum" } }),
  call("edit_variable", { name: "note", edits: [{ op: "add", path: "/by", value: 1 }] }),
  call("set_variable", { name: "hen", value: { of: "$sum" } }),
  call("set_variable", { name: "egg", value: { of: "$hen" } }),
  call("set_variable", { name: "hen", value: { of: "$egg", and: "$sum" } }),
  "Done.",
];

const at = "/conversations/c";
const put = (own: Pick<OwnRuntime, "call">, name: string, value: number, query = "") =>
  own.call("PUT", `${at}/variables/${name}${query}`, json(value));

/** A conversation whose values are made, and whose `$y` is then another. */
function changed(work: (own: OwnRuntime, paid: number[]) => Promise<void>, query = "") {
  const { tools, paid, policy } = payingPlanner();
  const effects = { add: "none" } as const;
  const options = planning(tools, { steps, agent: { outputPath: true, effects, policy } });
  // Not the default agent: calls are made again by the one that made them.
  const other = { name: "other", description: "", instructions: "", tools: {} };
  return withRuntime({ ...options, agents: [other, ...options.agents] }, async (own) => {
    await put(own, "x", 1);
    await put(own, "y", 10, query);
    const init = json({ message: "Add.", agent: "planner" }, { accept: "application/json" });
    const asked = await own.call("POST", `${at}/messages`, init);
    const { message } = await asked.json<{
      message: { parts: { toolCallId?: string; state?: string; approval?: { id: string } }[] };
    }>();
    const waiting = message.parts.find(({ state }) => state === "approval-requested");
    const id = waiting?.approval?.id ?? "";
    await (await decide(own, id, { approved: true })).text();
    await put(own, "y", 20);
    await work(own, paid);
  });
}

const recompute = (own: Pick<OwnRuntime, "call">, body: object = {}) =>
  own.call("POST", `${at}/recompute`, json(body, { accept: "application/json" }));

const info = async (own: OwnRuntime, name: string) =>
  (await own.call("GET", `${at}/variables/${name}/info`)).json<Record<string, unknown>>();

describe("a recompute", () => {
  it("says what would run and what would not, and changes nothing", () =>
    changed(async (own) => {
      const shown = recomputation().parse(await (await recompute(own)).json());
      expect(shown).toEqual({
        calls: [
          { _id: "sum", _tool: "add", after: [], effects: "none", approval: "perhaps" },
          { _id: "more", _tool: "add", after: ["sum"], effects: "none", approval: "perhaps" },
          { _id: "receipt", _tool: "pay", after: ["more"], effects: "once", approval: "perhaps" },
        ],
        left: [
          { name: "note", reason: expect.stringContaining("edited") },
          ...["hen", "egg"].map((name) => ({
            name,
            reason: expect.stringContaining("made of itself, through"),
          })),
        ],
      });
      const { calls } = recomputation().parse(
        await (await recompute(own, { names: ["more"] })).json(),
      );
      expect(calls.map(({ _id }) => _id)).toEqual(["sum", "more"]);
      expect((await recompute(own, { names: ["none"] })).status).toBe(404);
      expect(await (await own.call("GET", `${at}/plans`)).json()).toEqual({ plans: [] });
      expect(await variable(own, "sum")).toBe(11);
    }));

  it("makes new versions under the same names, and asks before a call with effects", () =>
    changed(async (own, paid) => {
      await own.call(
        "PATCH",
        `${at}/variables/sum`,
        json({ pinned: true, description: "of both" }),
      );
      const run = runView().parse(await (await recompute(own, { run: true })).json());
      expect(run.status).toBe("waiting");
      expect([await variable(own, "sum"), await variable(own, "more"), paid]).toEqual([
        21,
        41,
        [21],
      ]);
      const gate = run.calls.find(({ _id }) => _id === "receipt")?.gate ?? "";
      await (await decide(own, gate, { approved: true })).text();
      expect(paid).toEqual([21, 41]);
      expect(await info(own, "sum")).toMatchObject({
        version: 2,
        pinned: true,
        description: "of both",
        madeOf: { x: 1, y: 2 },
      });
      const events = await (
        await own.call("GET", `${at}/events`)
      ).json<{ events: { stale?: string[] }[] }>();
      expect(events.events.flatMap(({ stale = [] }) => [stale])).toContainEqual([
        "sum",
        "more",
        "receipt",
        "note",
        "hen",
      ]);
      expect(await (await recompute(own)).json()).toMatchObject({ calls: [] });
    }));

  it("leaves what is made of sealed values sealed", () =>
    changed(async (own) => {
      await (await recompute(own, { names: ["more"], run: true })).text();
      expect(await info(own, "more")).toMatchObject({ version: 2, visibility: "sealed" });
      expect(await variable(own, "more")).toBe(41);
    }, "?visibility=sealed"));

  it("that is asked for twice at once runs each call once", () =>
    changed(async (own) => {
      const both = await Promise.all(
        [1, 2].map(() => recompute(own, { names: ["more"], run: true })),
      );
      for (const response of both) expect(await response.json()).toMatchObject({ status: "done" });
      expect(await info(own, "sum")).toMatchObject({ version: 2 });
      expect(await info(own, "more")).toMatchObject({ version: 2 });
    }));
});

it("a recompute leaves what a call of a plan made, whose references are written otherwise", () =>
  withRuntime(planning(), async (own) => {
    await put(own, "x", 1);
    const calls = [{ _tool: "echo", value: { of: "†x" }, _outputPath: "†copy" }];
    await (await own.call("POST", `${at}/plans?run=true`, json({ calls }))).text();
    await put(own, "x", 2);
    const left = [{ name: "copy", reason: expect.stringContaining("run the plan again") }];
    expect(await (await recompute(own, { run: true })).json()).toEqual({ calls: [], left });
    expect(await variable(own, "copy")).toEqual({ of: 1 });
  }));

it("a recompute that is killed goes on, and repeats no call that was done", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const done: number[] = [];
  let dies = false;
  const slow = tool({
    inputSchema: z.object({ of: z.number() }),
    execute: ({ of }) => {
      if (dies && of > 20) return new Promise<number>(() => {});
      done.push(of);
      return of * 2;
    },
  });
  const script: Step[] = [
    call("slow", { of: "$x", _outputPath: "$a" }),
    call("slow", { of: "$a", _outputPath: "$b" }),
    "Done.",
  ];
  const agent = { outputPath: true, effects: { slow: "none" } } as const;
  const options = planning({ slow }, { steps: script, agent });
  const runtime = new NodeRuntime(options);
  await runtime.ask("PUT", `${at}/variables/x`, json(1));
  await (await runtime.ask("POST", `${at}/messages`, json({ message: "Go." }))).text();
  await runtime.ask("PUT", `${at}/variables/x`, json(20));
  done.length = 0;
  dies = true;
  void runtime.ask("POST", `${at}/recompute`, json({ run: true })).catch(() => undefined);
  await vi.waitUntil(() => done.length === 1);
  await vi.advanceTimersByTimeAsync(1_000);
  runtime.kill();
  dies = false;
  runtime.start(options);
  await runtime.ask("GET", at);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  const value = async () => (await runtime.ask("GET", `${at}/variables/b`)).text();
  await vi.waitUntil(async () => (await value()) === "80", { timeout: 5_000 });
  expect(done).toEqual([20, 40]);
});
