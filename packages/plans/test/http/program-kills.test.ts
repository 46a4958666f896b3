import { tool, type ToolExecutionOptions } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../../../src/limits.ts";
import type { SpendLimits } from "../../../../src/turn/spend/spend.ts";
import type { Effects } from "../../../../src/tool/wrapped-tool.ts";
import type { RuntimeOptions } from "../../../../src/edge/create-runtime.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { payingPlanner, planning } from "../../../../test/support/planning.ts";
import { transfers } from "../../../transfer/src/transfers.ts";
import { approve, look, runsOf, viewIn } from "./program-runs.ts";
import { scheduler } from "node:timers/promises";
import { slow } from "../../../../test/support/slow.ts";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const MINUTE_MS = 60_000;

type Options = ToolExecutionOptions<unknown> & { readonly idempotencyKey?: string };
type Work = (number: number, call: string) => unknown;

/** Three calls of `count`, each after the one before it. */
const COUNTING = [1, 2, 3].map((number) => ({
  _tool: "count",
  number,
  before: number === 1 ? 0 : `†state.n${number - 1}`,
  _outputPath: `†state.n${number}`,
}));

/** Returns options of a runtime with the tool `count`, which `work` executes. */
function optionsWith(work: Work, effects: Effects = "once"): RuntimeOptions {
  const count = tool({
    inputSchema: z.object({ before: z.any(), number: z.number() }),
    execute: ({ number }, { idempotencyKey = "" }: Options) => work(number, idempotencyKey),
  });
  const options = planning({ count }, { agent: { effects: { count: effects } } });
  return { ...options, transfer: transfers };
}

const runtimeWith = (work: Work, effects?: Effects) => new NodeRuntime(optionsWith(work, effects));

/** Runs a program of three calls of `count`. */
async function counting(work: Work, effects?: Effects) {
  const runtime = runtimeWith(work, effects);
  return { runtime, run: await started(runtime, COUNTING) };
}

/** Lets everything happen that can without time. */
async function settle(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Does what it is told, but the `fails`-th time. */
function failing(fails: number, how: () => unknown) {
  const done: number[] = [];
  let calls = 0;
  const work: Work = (number) => {
    if (++calls === fails) return how();
    done.push(number);
    return number;
  };
  return { work, done };
}
const boom = () => {
  throw new Error("boom");
};
const hangs = () => {
  setImmediate(() => vi.advanceTimersByTime(limits.toolMs));
  return new Promise(() => {});
};

async function started({ ask }: NodeRuntime, calls: readonly object[]) {
  await ask("PUT", "/programs/p", json({ calls }));
  return viewIn(await ask("POST", "/programs/p/runs", json({})));
}

const retry = ({ ask }: NodeRuntime, id: string) => ask("POST", `/programs/p/runs/${id}/retry`);

describe("a failed run that is retried", () => {
  it.each([1, 2, 3])("goes on at call %i, which has failed", async (fails) => {
    const { work, done } = failing(fails, boom);
    const { runtime, run } = await counting(work);
    expect(run).toMatchObject({ status: "failed", error: `call_${fails}: tool_failed: boom` });
    const state = { n1: 1, n2: 2, n3: 3 };
    const { id, conversation } = run;
    const view = await viewIn(await retry(runtime, id));
    expect(view).toMatchObject({ id, conversation, status: "done", state });
    expect([done, view.error]).toEqual([[1, 2, 3], undefined]);
    expect(await look(runtime, "p", id)).toMatchObject({ status: "done", state });
    await problemIn(await retry(runtime, id), "conflict");
    const at = `/conversations/${conversation}/variables/state`;
    expect(await (await runtime.ask("GET", at)).json()).toEqual(state);
  });

  it("asks for approval again only for what has not run", async () => {
    const { tools, policy, paid } = payingPlanner();
    const { work } = failing(2, boom);
    const pay = tool({
      inputSchema: z.object({ amount: z.number() }),
      execute: ({ amount }) => (work(amount, ""), paid.push(amount)),
    });
    const runtime = new NodeRuntime(planning({ ...tools, pay }, { agent: { policy } }));
    const calls = [1, 2, 3].map((amount) => ({
      _tool: "pay",
      amount,
      _after: amount === 1 ? "†approvals.all" : ["†approvals.all", "†approvals.more"],
      _outputPath: `†state.n${amount}`,
    }));
    let view = await started(runtime, calls);
    const approveAll = async () => {
      for (let times = 0; view.status === "waiting" && times < 6; times++) {
        for (const gate of new Set(view.calls?.flatMap((call) => call.gate ?? []))) {
          await approve(runtime, view.conversation, gate);
        }
        view = await look(runtime, "p", view.id);
      }
    };
    await approveAll();
    expect(view.status).toBe("failed");
    const [first, ...left] = view.calls?.map(({ status }) => status) ?? [];
    view = await viewIn(await retry(runtime, view.id));
    const again = left.map((status) => (status === "failed" ? "waiting" : status));
    expect(view.calls?.map(({ status }) => status)).toEqual([first, ...again]);
    await approveAll();
    expect([view.status, paid.toSorted()]).toEqual(["done", [1, 2, 3]]);
  });

  it.each([
    ["times out", hangs],
    ["returns what cannot be saved", () => new Response(new Uint8Array(101_000_000))],
  ])("calls a tool that %s again only if that has no second effect", async (_, how) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    for (const effects of ["once", "idempotent"] as const) {
      const { work, done } = failing(2, how);
      const { runtime, run } = await counting(work, effects);
      expect(run.status).toBe("failed");
      const response = await retry(runtime, run.id);
      if (effects === "once") {
        expect((await problemIn(response, "outcome_unknown")).detail).toContain("call_2");
      } else expect(await viewIn(response)).toMatchObject({ status: "done" });
      expect(done).toEqual(effects === "once" ? [1] : [1, 2, 3]);
    }
  });

  it("does not start on results that have changed or are gone, and stays as it was", async () => {
    const { work, done } = failing(2, boom);
    const { runtime, run } = await counting(work);
    await problemIn(await retry(runtime, "none"), "not_found");
    const at = `/conversations/${run.conversation}`;
    const file = await (await runtime.ask("GET", `${at}/export`)).text();
    await runtime.ask("DELETE", `${at}/variables/state`);
    await runtime.ask("PUT", `${at}/variables/state`, json({ n1: 100 }));
    expect((await problemIn(await retry(runtime, run.id), "conflict")).detail).toContain("changed");
    await runtime.ask("DELETE", at);
    await problemIn(await retry(runtime, run.id), "not_found");
    // What a file says of a run may be forged.
    const as = `id=${run.conversation}&labels=keep`;
    await runtime.ask("POST", `/conversations/import?${as}`, { body: file });
    await problemIn(await retry(runtime, run.id), "conflict");
    const { status, error } = await look(runtime, "p", run.id);
    expect([status, error, done]).toEqual(["failed", run.error, [1]]);
  });

  it("starts if it never has, once its tool is as before", async () => {
    const { runtime } = await counting((number) => number);
    const texts = tool({ inputSchema: z.object({ text: z.string() }), execute: () => 1 });
    const deploy = (tools?: Parameters<typeof planning>[0]) => {
      runtime.start(planning(tools));
      runtime.kill();
    };
    deploy();
    await runtime.ask("PUT", "/programs/q", json({ calls: [{ _tool: "echo", value: 1 }] }));
    deploy({ echo: texts });
    await problemIn(await runtime.ask("POST", "/programs/q/runs"), "invalid_plan");
    const runs = runtime.directoryNamed().sql.all(`SELECT id FROM program_run ORDER BY seq`);
    const id = String(runs.at(-1)?.["id"]);
    const at = `/programs/q/runs/${id}/retry`;
    await problemIn(await runtime.ask("POST", at), "invalid_plan");
    deploy();
    // Another plan in its conversation, under the id of the run, is not the program.
    const forged = json({ calls: [{ _tool: "fail" }] });
    await runtime.ask("POST", `/conversations/q.${id}/plans`, forged);
    const { sql } = runtime.objectOf(`q.${id}`);
    sql.run(`UPDATE plan SET id = ?1, data = json_set(data, '$.id', ?1)`, id);
    sql.run(`UPDATE plan_head SET id = ?, status = 'approved'`, id);
    expect(await viewIn(await runtime.ask("POST", at))).toMatchObject({ status: "done" });
  });

  it("has each effect once and ends, wherever the process dies", async () => {
    const ends = new Set<number>();
    for (let turns = 0; turns < 32; turns += 2) {
      let isBroken = true;
      const effects = new Map<string, number>();
      const { runtime, run } = await counting(async (number, key) => {
        if (isBroken && number === 2) boom();
        await settle(4);
        effects.set(key, number);
        return number;
      }, "idempotent");
      isBroken = false;
      void retry(runtime, run.id).catch(() => undefined);
      await settle(turns);
      ends.add(effects.size);
      runtime.kill();
      runtime.start();
      let view = run;
      await vi.waitFor(async () => {
        view = await look(runtime, "p", run.id);
        expect(view.status).not.toBe("running");
      });
      // Killed before it had begun, it has failed as before, and is retried again.
      if (view.status === "failed") view = await viewIn(await retry(runtime, run.id));
      const state = { n1: 1, n2: 2, n3: 3 };
      expect([turns, view.state, [...effects.values()]]).toEqual([turns, state, [1, 2, 3]]);
    }
    expect([...ends].sort()).toEqual([1, 2, 3]);
  });
});

/** Runs a program of three calls whose process dies in the `dies`-th, and comes back, with `next` if given. */
async function killedAt(dies: number, spend: SpendLimits = {}, next?: RuntimeOptions) {
  let began = 0;
  const { work, done } = failing(dies, () => new Promise(() => {}));
  const options = { ...optionsWith((...given) => (began++, work(...given)), "none"), spend };
  const runtime = new NodeRuntime(options);
  await runtime.ask("PUT", "/programs/p", json({ calls: COUNTING }));
  void runtime.ask("POST", "/programs/p/runs", json({})).catch(() => undefined);
  await vi.waitUntil(() => began === dies);
  runtime.kill();
  runtime.start(next);
  /** Waits until the run has ended. */
  const end = async () => {
    const [run] = await runsOf(runtime);
    return vi.waitFor(async () => {
      const view = await look(runtime, "p", run?.id);
      expect(view.status).not.toBe("running");
      return view;
    });
  };
  return { runtime, options, done, end };
}

it.each([
  [2, "failed", [1, 2]],
  [3, "done", [1, 2, 3]],
])(
  "a run that is killed and may call %i tools in all is then %s",
  async (toolCalls, status, calls) => {
    const { done, end } = await killedAt(2, { turn: { toolCalls } });
    expect([(await end()).status, done]).toEqual([status, calls]);
  },
);

it("a run that could not go on is retried without its error", async () => {
  const { runtime, options, end } = await killedAt(2, {}, planning());
  const { id, status, error } = await end();
  expect([status, error]).toEqual(["failed", expect.stringContaining("invalid_plan: ")]);
  runtime.kill();
  runtime.start(options);
  const view = await viewIn(await retry(runtime, id));
  expect([view.status, view.error]).toEqual(["done", undefined]);
});

it("a run whose conversation was deleted has failed, and does not start again", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const { runtime, done } = await killedAt(2);
  const [row] = runtime.directoryNamed().sql.all(`SELECT conversation FROM program_run`);
  const at = `/conversations/${String(row?.["conversation"])}`;
  expect((await runtime.ask("DELETE", at)).status).toBe(204);
  const error = expect.stringContaining("outcome_unknown");
  expect(await runsOf(runtime)).toMatchObject([{ status: "failed", error }]);
  await vi.advanceTimersByTimeAsync(2 * MINUTE_MS);
  runtime.directoryNamed().tick();
  await vi.advanceTimersByTimeAsync(MINUTE_MS);
  expect(done).toEqual([1]);
});

const DAY_MS = 86_400_000;

it(
  "a kill anywhere in a scheduled run loses nothing and repeats nothing; the next one comes",
  slow,
  async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const ends = new Set<string>();
    for (let turns = 0; turns < 44; turns++) {
      vi.setSystemTime("2026-11-29T22:00:00Z");
      /** What a receiver that knows the keys of its requests has done. */
      const effects = new Map<string, number>();
      const runtime = runtimeWith(async (number, key) => {
        await settle(3);
        effects.set(key, number);
        return number;
      }, "idempotent");
      await runtime.ask("PUT", "/programs/p", json({ calls: COUNTING }));
      const daily = json({ cron: "0 0 * * *", timeZone: "UTC" });
      await runtime.ask("PUT", "/programs/p/schedules/s", daily);
      const runs = () => runsOf(runtime);
      vi.setSystemTime(Date.now() + DAY_MS);
      runtime.start();
      const rows = () => runtime.directoryNamed().sql.all(`SELECT 1 FROM program_run`).length;
      const state = () => `${rows()} ${effects.size}`;
      // At any point, and then at those that a busy machine may miss.
      const point = ["1 0", "1 1", "1 2", "1 3"][turns - 40];
      if (point === undefined) await settle(turns);
      else while (state() !== point) await settle(1);
      ends.add(state());
      runtime.kill();
      const passed = async (what: () => Promise<boolean>) => {
        for (let minutes = 0; !(await what()); minutes++) {
          expect(minutes, `after ${turns}`).toBeLessThan(90);
          vi.setSystemTime(Date.now() + MINUTE_MS);
          runtime.start();
          await scheduler.wait(10);
        }
      };
      await passed(async () => (await runs())[0]?.status === "done");
      expect([turns, [...effects.values()]]).toEqual([turns, [1, 2, 3]]);
      vi.setSystemTime(Date.now() + DAY_MS);
      await passed(
        async () => (await runs()).filter(({ status }) => status === "done").length === 2,
      );
      expect([turns, [...effects.values()]]).toEqual([turns, [1, 2, 3, 1, 2, 3]]);
    }
    // It was killed before the firing was stored, and before, between and after all calls.
    expect([...ends].sort()).toEqual(["0 0", "1 0", "1 1", "1 2", "1 3"]);
  },
);
