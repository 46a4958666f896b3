import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { CallState } from "../src/plan/plan-record.ts";
import type { Effects } from "../../../src/tool/wrapped-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { runRecord, Runs, specified } from "../../../test/support/plan-runs.ts";
import { cases, planOf, type PlanRun, planWith } from "../../../test/support/plans.ts";

const call = (id: string, parameters: Record<string, Json>, outputPath = `†state.${id}`) => ({
  id,
  tool: "act",
  parameters,
  outputPath,
});

const runnable = cases.filter(({ rejected }) => rejected === undefined);

it.each(runnable.map((one) => [one.name, one] as const))(
  "a plan of the specification: %s",
  async (_, one) => {
    const runs = new Runs();
    const plan = planOf(one.calls);
    for (const wanted of one.runs ?? [one as PlanRun]) {
      const { id, calls, status } = await runs.run(plan, wanted.input ?? {});
      expect(await runs.stateOf(id)).toEqual(wanted.state);
      const toolsOf = (kind: CallState["status"]) =>
        plan.calls.filter((one) => calls[one.id]?.status === kind).map(({ tool }) => tool);
      expect(toolsOf("skipped")).toEqual(wanted.skipped ?? []);
      expect(toolsOf("failed")).toEqual(wanted.failed ?? []);
      expect(status).toBe(wanted.failed === undefined ? "done" : "failed");
    }
  },
);

describe("a run", () => {
  it("runs at most four ready calls at a time", async () => {
    let running = 0;
    let most = 0;
    const gates: (() => void)[] = [];
    const act = tool({
      inputSchema: z.object({}),
      execute: async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => {
          // A fifth call would have begun until four are let go.
          if (gates.push(resolve) === 4)
            setTimeout(() => gates.splice(0).forEach((open) => open()), 20);
        });
        running--;
        return 1;
      },
    });
    const runs = new Runs({ tools: { act } });
    const calls = Array.from({ length: 12 }, (_, index) => call(`c${index}`, {}));
    const { status } = await runs.run(planWith(calls));
    expect([status, most]).toEqual(["done", 4]);
  });

  it("starts a ready call while others of its level still run", async () => {
    let release = () => {};
    const released = new Promise<number>((resolve) => (release = () => resolve(1)));
    const slow = tool({ inputSchema: z.object({}), execute: () => released });
    const act = tool({ inputSchema: z.object({ value: z.any() }), execute: () => release() });
    const runs = new Runs({ tools: { ...specified, slow, act } });
    const plan = planOf([
      { _tool: "slow" },
      { _tool: "echo", value: 1, _outputPath: "†state.one" },
      { _tool: "echo", value: "†state.one", _outputPath: "†state.two" },
      { _tool: "act", value: "†state.two" },
    ]);
    expect((await runs.run(plan)).status).toBe("done");
  });

  it("is cancelled: no further call starts, and running calls are aborted", async () => {
    const controller = new AbortController();
    let told = false;
    const act = tool({
      inputSchema: z.object({ value: z.any() }),
      execute: (_, { abortSignal }) =>
        new Promise<number>((resolve) => {
          abortSignal?.addEventListener("abort", () => {
            told = true;
            resolve(1);
          });
          queueMicrotask(() => controller.abort());
        }),
    });
    const runs = new Runs({ tools: { act } });
    const plan = planWith([call("a", { value: 1 }), call("b", { value: "†state.a" })]);
    runs.records.set("r", runRecord("r"));
    const { status, calls } = await runs.goOn(plan, "r", controller.signal);
    expect([status, told, calls["b"]?.status]).toEqual(["cancelled", true, "skipped"]);
  });
});

describe("a run that a crash interrupts", () => {
  const cutOff = async (effects: Effects, meanwhile: (runs: Runs) => unknown = () => {}) => {
    const keys: unknown[] = [];
    const act = tool({
      inputSchema: z.object({ value: z.any(), after: z.any().optional() }),
      execute: ({ value }, options) => {
        keys.push((options as { idempotencyKey?: string }).idempotencyKey);
        return keys.length === 2 ? new Promise<never>(() => {}) : (value as Json);
      },
    });
    const runs = new Runs({ tools: { act }, effects });
    await runs.store.save({ name: "rate", value: 1 });
    const plan = planWith([
      call("a", { value: 1 }),
      call("b", { value: "†rate", after: "†state.a" }),
      call("c", { value: "†state.b" }),
    ]);
    void runs.run(plan);
    while (keys.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await meanwhile(runs);
    return { keys, runs, record: await runs.goOn(plan, "run_1") };
  };

  it.each(["none", "idempotent"] as const)(
    "repeats calls that had begun, with the same key: %s",
    async (effects) => {
      const { keys, runs, record } = await cutOff(effects);
      expect(keys).toEqual(["c/run_1/a", "c/run_1/b", "c/run_1/b", "c/run_1/c"]);
      expect(record.status).toBe("done");
      expect(await runs.stateOf("run_1")).toEqual({ a: 1, b: 1, c: 1 });
    },
  );

  it("does not repeat a call that may run once only: its outcome is unknown, and dependent calls are skipped", async () => {
    const { keys, record } = await cutOff("once");
    expect(keys).toHaveLength(2);
    expect(record).toMatchObject({
      status: "failed",
      calls: {
        a: { status: "done" },
        b: { status: "failed", reason: expect.stringMatching(/^outcome_unknown: /) },
        c: { status: "skipped" },
      },
    });
  });

  it("does not reuse a key for another input, except for a call without effects", async () => {
    const replace = ({ store }: Runs) => store.save({ name: "rate", value: 2 });
    const idempotent = await cutOff("idempotent", replace);
    expect(idempotent.keys).toHaveLength(2);
    expect(idempotent.record.calls["b"]).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^outcome_unknown: /),
    });
    const harmless = await cutOff("none", replace);
    expect(harmless.record.status).toBe("done");
    expect(await harmless.runs.stateOf("run_1")).toEqual({ a: 1, b: 2, c: 2 });
  });
});

type Calls = readonly Readonly<Record<string, Json>>[];

const echo = (id: string, value: Json, path?: string) => ({
  _id: id,
  _tool: "echo",
  value,
  ...(path === undefined ? {} : { _outputPath: path }),
});
const verify = (userId: string, _outputPath: string) => ({
  _id: "v",
  _tool: "verify",
  userId,
  _outputPath,
});
async function outcomeOf(calls: Calls, input: Json = {}) {
  const runs = new Runs();
  const record = await runs.run(planOf(calls), input);
  const ended = Object.entries(record.calls);
  return {
    state: await runs.stateOf(record.id),
    statuses: Object.fromEntries(ended.map(([id, { status }]) => [id, status])),
    reasonOf: (id: string) => record.calls[id]?.reason,
  };
}

const name = { first: "Ada", last: "L" };
const either = "†state.user.verified || †state.user.failed";

describe("the state of a run", () => {
  it.each<readonly [string, Calls, Json]>([
    [
      "a path, its prefix and its parts can be read",
      [
        echo("prefix", "†state.user", "†state.p"),
        echo("same", "†state.user.name", "†state.s"),
        echo("below", "†state.user.name.first", "†state.b"),
        echo("text", "Dear †state.user.name.first, †state.user.name.last!", "†state.t"),
        echo("nested", { list: [{ deep: "†state.user.name.first" }] }, "†state.n"),
        echo("writer", name, "†state.user.name"),
      ],
      {
        user: { name },
        p: { name },
        s: name,
        b: "Ada",
        t: "Dear Ada, L!",
        n: { list: [{ deep: "Ada" }] },
      },
    ],
    [
      "a reader of a prefix waits for all writers below it",
      [
        echo("read", "†state.user", "†state.copy"),
        echo("b", "†state.first", "†state.user.b"),
        echo("a", 1, "†state.user.a"),
        echo("c", 2, "†state.first"),
      ],
      { copy: { a: 1, b: 2 }, user: { a: 1, b: 2 }, first: 2 },
    ],
    [
      "a reader of a prefix of two alternatives gets the one that was written",
      [verify("stranger", either), echo("read", "†state.user", "†state.copy")],
      { copy: { failed: { id: "stranger" } }, user: { failed: { id: "stranger" } } },
    ],
    ...["stranger", "friend"].map((id): readonly [string, Calls, Json] => [
      `a reader of either alternative runs with the one that was written: ${id}`,
      [verify(id, either), echo("read", either, "†state.copy")],
      {
        copy: { id },
        user: id === "friend" ? { verified: { id } } : { failed: { id } },
      },
    ]),
    [
      "the tool may name an alternative in another spelling",
      [
        {
          _id: "c",
          _tool: "choose",
          at: '["y"]',
          value: 7,
          _outputPath: "†state.x || †state.y",
        },
        echo("read", "†state.y", "†state.copy"),
      ],
      { y: 7, copy: 7 },
    ],
  ])("%s", async (_, calls, expected) => {
    const { state, statuses } = await outcomeOf(calls);
    expect(state).toEqual(expected);
    expect(new Set(Object.values(statuses))).toEqual(new Set(["done"]));
  });
});

it.each<readonly [string, Calls, Json, Readonly<Record<string, string>>]>([
  [
    "a missing path fails its reader",
    [echo("write", { id: 1 }, "†state.user"), echo("read", "†state.user.name", "†state.copy")],
    { user: { id: 1 } },
    { write: "done", read: "failed" },
  ],
  ["a missing input fails its reader", [echo("x", "†input.who", "†state.a")], {}, { x: "failed" }],
  [
    "a branch that was not chosen is skipped to its end",
    [
      verify("friend", "†state.ok || †state.user.failed"),
      echo("one", "†state.user.failed", "†state.one"),
      echo("two", "†state.one", "†state.two"),
      echo("free", "†state.ok.id", "†state.free"),
    ],
    { ok: { id: "friend" }, free: "friend" },
    { v: "done", one: "skipped", two: "skipped", free: "done" },
  ],
  [
    "dependents of a failure are skipped; the rest runs",
    [
      { _id: "f", _tool: "fail", _outputPath: "†state.user.a" },
      echo("sibling", 1, "†state.user.b"),
      echo("prefix", "†state.user", "†state.p"),
      echo("next", "†state.p", "†state.n"),
      echo("free", "ok", "†state.free"),
      echo("after", "†state.free", "†state.after"),
    ],
    { user: { b: 1 }, free: "ok", after: "ok" },
    {
      f: "failed",
      sibling: "done",
      prefix: "skipped",
      next: "skipped",
      free: "done",
      after: "done",
    },
  ],
  [
    "a value that the tool does not accept fails only its call",
    [
      echo("w", "no number", "†state.a"),
      { _id: "x", _tool: "add", a: "†state.a", b: 1, _outputPath: "†state.sum" },
      echo("free", 1, "†state.free"),
    ],
    { a: "no number", free: 1 },
    { w: "done", x: "failed", free: "done" },
  ],
])("calls that fail or are skipped: %s", async (...[, calls, expected, ends]) => {
  const { state, statuses, reasonOf } = await outcomeOf(calls);
  expect(state).toEqual(expected);
  expect(statuses).toEqual(ends);
  for (const [id, status] of Object.entries(ends)) {
    if (status !== "done") expect(reasonOf(id)).toMatch(/\S/);
  }
});
