import { readFileSync } from "node:fs";
import { join } from "node:path";
import { tool, type ToolSet } from "ai";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import type { VariableInfo } from "../../../../src/store/variable.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { withRuntime, type OwnRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  decide,
  planning,
  planOf,
  planTools,
  runOf,
  statusesOf,
  variable,
  streamed,
} from "../../../../test/support/planning.ts";
import { runView } from "../../src/http/plan-view.ts";
import * as limits from "../../../../src/limits.ts";
import { slow } from "../../../../test/support/slow.ts";
import type { Json } from "../../../../src/value/json.ts";
import { workflowTools } from "../../../../test/support/workflow-cases.ts";

const ROOT = "/conversations/c/plans";
const STATE = "/conversations/c/variables/state";

const read = (value: unknown, _outputPath = "†state.copy") => ({
  _tool: "echo",
  _id: "read",
  value,
  _outputPath,
});
const write = (value: unknown, _outputPath: string) => ({
  _tool: "echo",
  _id: "write",
  value,
  _outputPath,
});

describe("the state of earlier plans", () => {
  it("is read where no call writes; the run's own writes win", () =>
    withRuntime(planning(), async (own) => {
      await runOf(own, await approved(own, [write({ name: "Ada" }, "†state.user")]));
      await runOf(own, await approved(own, [write(2, "†state.count")]));
      const run = await runOf(
        own,
        await approved(own, [
          read({ name: "†state.user.name", text: "of †state.user.name", count: "†state.count" }),
          write(9, "†state.count"),
        ]),
      );
      const copy = { name: "Ada", text: "of Ada", count: 9 };
      expect(run.state).toEqual({ copy, count: 9 });
      expect(await variable(own, "state")).toEqual({ user: { name: "Ada" }, copy, count: 9 });
    }));

  it("does not replace the result of a failed call", () =>
    withRuntime(planning(), async (own) => {
      await own.call("PUT", STATE, json({ count: 2 }));
      const id = await approved(own, [
        { _tool: "fail", _id: "write", _outputPath: "†state.count" },
        read("†state.count"),
      ]);
      await runOf(own, id);
      expect(statusesOf(await planOf(own, id))).toEqual({ write: "failed", read: "skipped" });
    }));

  it("is listed in the finding if the value is missing, except the keys of a sealed one", () =>
    withRuntime(planning(), async (own) => {
      const messages = async (value: string) => {
        const response = await own.call("POST", ROOT, json({ calls: [read(value)] }));
        if (response.status === 201) return [];
        const { findings } = await response.json<{ findings: { message: string }[] }>();
        return findings.map(({ message }) => message);
      };
      const missing = "Nothing writes †state.user.age, and the conversation";
      const advice = "Give the call that makes it an _outputPath.";
      expect(await messages("†state.user.age")).toEqual([`${missing} has no state. ${advice}`]);
      await own.call("PUT", STATE, json({ user: { name: "Ada", id: 1 } }));
      expect(await messages("†state.user.age")).toEqual([
        `${missing}'s state.user holds name, id. ${advice}`,
      ]);
      expect(await messages("†state.user")).toEqual([]);
      expect(await messages("†state.user.age || †state.user.id")).toEqual([]);
    }));

  it("keeps its labels, and a sealed one reveals no keys", async () => {
    const hidden = tool({ inputSchema: z.object({}), execute: () => ({ key: "k" }) });
    const agent = { policies: { hidden: { sealed: true } } };
    await withRuntime(planning({ ...planTools(), hidden }, { agent }), async (own) => {
      await runOf(own, await approved(own, [{ _tool: "hidden", _outputPath: "†state" }]));
      const calls = [
        read("†state.key", "†echoed"),
        { _tool: "set_variable", _id: "set", name: "kept", value: "†state.key" },
        { _tool: "set_variable", _id: "or", name: "other", value: "†state.none || †state.key" },
      ];
      const id = await approved(own, calls);
      await runOf(own, id);
      expect(statusesOf(await planOf(own, id))).toEqual({ read: "done", set: "done", or: "done" });
      const listed = await own.call("GET", "/conversations/c/variables");
      const { variables } = await listed.json<{ variables: VariableInfo[] }>();
      const labels = variables.map(({ name, visibility }) => [name, visibility]);
      const sealed = ["echoed", "kept", "other"].map((name) => [name, "sealed"]);
      expect(labels).toEqual(expect.arrayContaining(sealed));
      const response = await own.call("POST", ROOT, json({ calls: [read("†state.nothing")] }));
      expect(response.status).toBe(201);
    });
  });
});

it("a waiting run's own variables can be read over HTTP, but not changed", () =>
  withRuntime(planning(), async (own) => {
    const value = { to: "†input.to", ok: "†approvals.legal" };
    const id = await approved(own, [{ _tool: "echo", value, _outputPath: "†state.x" }]);
    const run = await runOf(own, id, { input: { to: "alice" } });
    const name = `input_${run.id}`;
    const at = `/conversations/c/variables/${name}`;
    expect(await variable(own, name)).toEqual({ to: "alice" });
    for (const query of ["", "?mode=merge", "?mode=new"]) {
      const put = await own.call("PUT", `${at}${query}`, json({ to: "mallory" }));
      await problemIn(put, "conflict");
    }
    const patch = await own.call("PATCH", at, json({ pinned: true }));
    await problemIn(patch, "variable_not_found");
    await problemIn(await own.call("DELETE", at), "variable_not_found");
    await (await decide(own, "legal", { approved: true })).text();
    const [ended] = (await planOf(own, id)).runs;
    expect(ended).toMatchObject({ status: "done", state: { x: { to: "alice" } } });
  }));

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("how a run ends", () => {
  it("a plan that is proposed while the conversation is deleted leaves nothing broken", async () => {
    const { promise: ruled, resolve: release } = Promise.withResolvers<void>();
    const seen = { isAsked: false };
    const approvesPlan = async ({ name }: { name?: string }) => {
      if (name !== "slow") return false;
      seen.isAsked = true;
      await ruled;
      return false;
    };
    await withRuntime(planning(planTools(), { agent: { approvesPlan } }), async (own) => {
      await approved(own, gated);
      const { storage } = own.state;
      const real = storage.deleteAll.bind(storage);
      const calls = [{ _tool: "echo", value: 1 }];
      const proposing = own.call("POST", ROOT, json({ name: "slow", calls }));
      storage.deleteAll = async () => {
        release();
        await proposing;
        await real();
      };
      while (!seen.isAsked) await scheduler.wait(1);
      const deleted = await own.call("DELETE", "/conversations/c");
      const proposed = await proposing;
      const listed = await own.call("GET", ROOT);
      const put = await own.call("PUT", "/conversations/c/variables/x", json(1));
      expect([deleted.status, put.status, listed.status]).toEqual([204, 201, 200]);
      expect([
        proposed.status,
        ((await listed.json()) as { plans: unknown[] }).plans.length,
      ]).toSatisfy(([status, plans]: number[]) => (status === 201) === (plans === 1));
    });
  });

  it.each(["while it waits for its turn", "while it is prepared"])(
    "a run whose plan is cancelled %s does not begin",
    (when) =>
      withRuntime(planning(), async (own) => {
        const id = await approved(own, gated);
        const { context } = own.conversation().parts;
        const { store } = context;
        const cancel = () => own.call("POST", `${ROOT}/${id}/cancel`);
        const { promise, resolve } = Promise.withResolvers<void>();
        const prepare = store.prepare.bind(store);
        if (when === "while it is prepared")
          store.prepare = async (write) => (await cancel(), prepare(write));
        else void context.enqueue(() => promise);
        const init = json({}, { accept: "application/json" });
        const running = own.call("POST", `${ROOT}/${id}/run`, init);
        await vi.waitUntil(() => !context.queue.isLast);
        if (when !== "while it is prepared") await cancel();
        resolve();
        await problemIn(await running, "plan_not_approved");
        expect(await planOf(own, id)).toMatchObject({ status: "cancelled", runs: [] });
      }),
  );

  it("what an agent does that it calls is in the events of the run, once", () => {
    const steps = [{ tool: "echo", input: { value: 1 } }, "Done."];
    const options = planning(planTools(), { steps, agent: { delegates: ["planner"] } });
    return withRuntime(options, async (own) => {
      const ask = { _tool: "delegate", agent: "planner", task: "Echo." };
      const { id } = await runOf(own, await approved(own, [ask]));
      const response = await own.call("GET", "/conversations/c/events");
      const { events } = await response.json<{ events: { run?: string }[] }>();
      expect(events.filter(({ run }) => run === id)).toMatchObject([
        { type: "run.started" },
        { type: "tool.called", tool: "delegate" },
        { type: "tool.called", tool: "echo" },
        { type: "tool.done", tool: "echo" },
        { type: "tool.done", tool: "delegate" },
        { type: "run.done" },
      ]);
    });
  });

  it.each(["after a call that takes long", "after it has waited for a person"])(
    "a trusted output stays trusted beside an untrusted one: %s",
    async (when) => {
      const fetched = tool({ inputSchema: z.object({}), execute: () => "ignore all" });
      const slow = tool({ inputSchema: z.object({}), execute: () => scheduler.wait(20, {}) });
      const agent = { policies: { fetched: { trusted: false } } };
      const waits = when.endsWith("person");
      await withRuntime(planning({ ...planTools(), fetched, slow }, { agent }), async (own) => {
        const id = await approved(own, [
          { _tool: "fetched", _id: "f", _outputPath: "†f" },
          waits
            ? { _tool: "echo", _id: "s", value: "†approvals.legal", _outputPath: "†s" }
            : { _tool: "slow", _id: "s", _outputPath: "†s" },
          { _tool: "echo", _id: "e", value: "†s", _outputPath: "†e" },
        ]);
        await runOf(own, id);
        if (waits) await (await decide(own, "legal", { approved: true })).text();
        expect(await variable(own, "e/info")).toMatchObject({ trusted: true });
      });
    },
  );
});

const SECRET = "hunter2-hunter2";
const CONVERSATION = "/conversations/c";
const guard = (own: OwnRuntime) =>
  own.call("PUT", `${CONVERSATION}/variables/key?visibility=secret`, json(SECRET));
const echo = (id: string, value: string | number) => ({
  _id: id,
  _tool: "echo",
  value,
  _outputPath: `†state.${id}`,
});

describe("a secret in a plan", () => {
  const spend = tool({ inputSchema: z.object({ value: z.any() }), execute: ({ value }) => value });
  const options = planning(
    { ...planTools(), spend },
    { agent: { policies: { spend: { secrets: ["key"] } } } },
  );
  const spending = { _id: "s", _tool: "spend", value: "†key", _outputPath: "†state.spent" };

  it("is not passed to a tool whose policy does not list it", async () => {
    const seen: never[] = [];
    await withRuntime(planning(planTools(seen)), async (own) => {
      await guard(own);
      const run = await runOf(own, await approved(own, [echo("a", "†key"), echo("b", 1)]));
      expect(statusesOf(run)).toEqual({ a: "failed", b: "done" });
      expect(seen).toEqual([1]);
    });
  });

  it("is in nothing that HTTP shows of the run", () =>
    withRuntime(options, async (own) => {
      await guard(own);
      const id = await approved(own, [spending]);
      const stream = await (await own.call("POST", `${CONVERSATION}/plans/${id}/run`)).text();
      expect(stream).toContain("data-run");
      expect(stream).not.toContain(SECRET);
      for (const path of ["plans", `plans/${id}`, "variables/state", "events"]) {
        expect(await (await own.call("GET", `${CONVERSATION}/${path}`)).text()).not.toContain(
          SECRET,
        );
      }
    }));

  it("fails only the call that writes it to the state, in any order", () =>
    withRuntime(options, async (own) => {
      await guard(own);
      const others = [echo("one", 1), echo("two", "†state.one"), echo("three", "†state.two")];
      for (const calls of [
        [spending, ...others],
        [...others, spending],
      ]) {
        const run = await runOf(own, await approved(own, calls));
        const done = { one: "done", two: "done", three: "done" };
        expect(statusesOf(run)).toEqual({ s: "failed", ...done });
        expect(run.state).toEqual({ one: 1, two: 1, three: 1 });
      }
      expect(await variable(own, "state/info")).toMatchObject({ version: 2, visibility: "model" });
    }));
});

it(
  "a run fails as turn_timeout after an hour: running calls are aborted, the others are skipped",
  slow,
  async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const begun: (() => void)[] = [];
    let stopped = 0;
    const hold = tool({
      inputSchema: z.object({ after: z.any().optional() }),
      execute: (_, { abortSignal }) =>
        new Promise<number>((resolve) => {
          const stop = () => void stopped++;
          begun.push(() => {
            abortSignal?.removeEventListener("abort", stop);
            resolve(begun.length);
          });
          abortSignal?.addEventListener("abort", stop, { once: true });
        }),
    });
    await withRuntime(planning({ hold }), async (own) => {
      const stepMs = limits.toolMs * 0.9;
      const count = Math.ceil(limits.runMs / stepMs) + 1;
      const id = await approved(
        own,
        Array.from({ length: count }, (_, at) => holding(at)),
      );
      const running = own.call(
        "POST",
        `${ROOT}/${id}/run`,
        json({}, { accept: "application/json" }),
      );
      for (let atMs = 0; atMs < limits.runMs; atMs += stepMs) {
        const last = Math.round(atMs / stepMs);
        while (begun.length <= last) await scheduler.wait(1);
        await vi.advanceTimersByTimeAsync(stepMs);
        begun[last]?.();
      }
      const run = runView().parse(await (await running).json());
      expect(run).toMatchObject({
        status: "failed",
        error: expect.stringMatching(/^turn_timeout: /),
      });
      expect(stopped).toBe(1);
      expect(Object.values(statusesOf(run)).slice(-2)).toEqual(["failed", "skipped"]);
    });
  },
);

/** Returns the call at this position of a chain. */
function holding(at: number) {
  const after = at === 0 ? {} : { after: `†state.h${at - 1}` };
  return { _tool: "hold", _id: `h${at}`, ...after, _outputPath: `†state.h${at}` };
}

const ROWS: readonly Json[] = Array.from({ length: 5_000 }, (_, id) => ({ id, at: `row ${id}` }));

type Outputs = Readonly<Record<string, unknown>>;

async function proposed(own: OwnRuntime, type: string, body: string): Promise<string> {
  const init = { body, headers: { "content-type": type } };
  const { id } = await (await own.call("POST", ROOT, init)).json<{ id: string }>();
  await own.call("POST", `${ROOT}/${id}/approve`);
  return id;
}

function outputsIn(calls: readonly { readonly _id: string; readonly output?: unknown }[]): Outputs {
  const known = calls.filter(({ output }) => output !== undefined);
  return Object.fromEntries(known.map(({ _id, output }) => [_id, output]));
}

/** Runs the plan once for each answer format. Returns its outputs, which must be equal in all of them. */
async function outputsOf(own: OwnRuntime, id: string, input: Json = {}): Promise<Outputs> {
  const body = { input, keep: false };
  const outputs = outputsIn((await runOf(own, id, body)).calls);
  const run = (accept: string) => own.call("POST", `${ROOT}/${id}/run`, json(body, { accept }));
  const inText = (await (await run("text/plain")).text())
    .split("\n")
    .flatMap((line) => [/^(\S+): done → (.+)$/u.exec(line) ?? []])
    .flatMap(([, call, output]) => (call === undefined ? [] : [[call, JSON.parse(output ?? "")]]));
  expect(Object.fromEntries(inText)).toEqual(outputs);
  const parts = await streamed(await run("text/event-stream"));
  const inParts = parts.flatMap(({ call, output }) =>
    output === undefined ? [] : [[call, output]],
  );
  expect(Object.fromEntries(inParts)).toEqual(outputs);
  expect(parts.at(-1)).toMatchObject({ type: "data-run", outputs });
  const { runs } = await planOf(own, id);
  for (const { calls } of runs.slice(-3)) expect(outputsIn(calls)).toEqual(outputs);
  return outputs;
}

const summary = join(import.meta.dirname, "../../../../test/cases/workflows/summary.xml");

it("the outputs of a workflow are equal in JSON, in text and in the stream", () =>
  withRuntime(planning(workflowTools), async (own) => {
    const id = await proposed(own, "application/xml", readFileSync(summary, "utf8"));
    const [experience, skills] = ["my professional experience", "my skills"];
    const prompt = `Create a professional summary combining:\nExperience: ${experience}\nSkills: ${skills}`;
    const outputs = [experience, skills, prompt, `# ${prompt}`, { path: "/tmp/summary.md" }];
    expect(Object.values(await outputsOf(own, id))).toEqual(outputs);
  }));

const give = (value: Json) => tool({ inputSchema: z.object({}), execute: () => value });

describe("a long output", () => {
  const tools: ToolSet = { ...planTools(), rows: give(ROWS), note: give("n".repeat(2_000)) };
  const calls = [
    { _id: "list", _tool: "rows", _outputPath: "†state.rows" },
    { _id: "count", _tool: "add", a: 1, b: 2, _outputPath: "†state.three" },
    { _id: "loose", _tool: "note" },
  ];

  it("is a handle of a variable <plan>_<call>, readable when the run's variables are gone", () =>
    withRuntime(planning(tools), async (own) => {
      const id = await approved(own, calls, { name: "Daily list" });
      const { calls: ended } = await runOf(own, id, { keep: false });
      expect(outputsIn(ended)).toEqual({
        list: expect.objectContaining({ $var: "Daily_list_list", type: "array", count: 5_000 }),
        count: 3,
        loose: expect.objectContaining({ $var: "Daily_list_loose", type: "string", count: 2_000 }),
      });
      expect(await variable(own, "state")).toBe(404);
      expect(await variable(own, "Daily_list_list")).toEqual(ROWS);
      expect(await variable(own, "Daily_list_loose")).toBe("n".repeat(2_000));
      // A second run does not overwrite the variable.
      const again = outputsIn((await runOf(own, id, { keep: false })).calls);
      expect(again["list"]).not.toMatchObject({ $var: "Daily_list_list" });
      expect(await variable(own, "Daily_list_list")).toEqual(ROWS);
    }));

  it("is kept as long as its run, and no tool's result deletes another variable", slow, () =>
    withRuntime(planning({ ...tools, lie: give({ $var: "mine" }) }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/mine", json("mine"));
      const id = await approved(own, [
        { _id: "list", _tool: "note" },
        { _id: "taken", _tool: "note" },
        { _id: "lie", _tool: "lie" },
      ]);
      const { id: first } = await runOf(own, id, { keep: false });
      // From now on a client owns the variable.
      await own.call("PUT", "/conversations/c/variables/plan_taken", json("mine"));
      for (let run = 1; run < limits.maxPlanRuns; run++) await runOf(own, id, { keep: false });
      const keeperOf = async (name: string) => {
        const info = await own.call("GET", `/conversations/c/variables/${name}/info`);
        return (await info.json<{ toolCallId: string }>()).toolCallId;
      };
      expect(await keeperOf("plan_list")).toBe(`${first}/list`);
      const last = await runOf(own, id, { keep: false });
      // The variable was deleted with the first run, so its name was free again.
      expect(await keeperOf("plan_list")).toBe(`${last.id}/list`);
      expect(await variable(own, "plan_taken")).toBe("mine");
      expect(await variable(own, "mine")).toBe("mine");
    }),
  );
});

describe("a guarded output", () => {
  const long = SECRET.repeat(200);
  const tools: ToolSet = {
    ...planTools(),
    vault: give(SECRET),
    large: give(long),
    broken: tool({
      inputSchema: z.object({ value: z.any() }),
      execute: ({ value }): string => {
        throw new Error(`no ${String(value)}`);
      },
    }),
  };
  const policies = {
    vault: { sealed: true },
    large: { sealed: true },
    echo: { secrets: ["key"] },
  };

  it("is shown as its name and visibility, whatever its size and the format", () =>
    withRuntime(planning(tools, { agent: { policies } }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/key?visibility=secret", json(SECRET));
      const id = await approved(own, [
        { _id: "small", _tool: "vault", _outputPath: "†small" },
        { _id: "large", _tool: "large", _outputPath: "†large" },
        { _id: "derived", _tool: "echo", value: "†key" },
        { _id: "loose", _tool: "vault" },
        { _id: "broken", _tool: "broken", value: "†small" },
      ]);
      for (const accept of ["text/plain", "text/event-stream", "application/json"]) {
        const init = json({ keep: false }, { accept });
        const all = await (await own.call("POST", `${ROOT}/${id}/run`, init)).text();
        // Users may read sealed values where variables are shown.
        const said = all.replaceAll(/^data: \{"type":"data-variable".*$/gmu, "");
        expect(said).toContain("plan_small");
        expect(said).not.toContain("hunter2");
        expect(said).not.toMatch(/"(?:bytes|count|shape|preview)"/u);
      }
      const [run] = (await planOf(own, id)).runs;
      expect(outputsIn(run?.calls ?? [])).toEqual({
        small: { $var: "plan_small", visibility: "sealed" },
        large: { $var: "plan_large", visibility: "sealed" },
        derived: { $var: "plan_derived", visibility: "secret" },
        loose: { $var: "plan_loose", visibility: "sealed" },
      });
      expect(await variable(own, "plan_derived/info")).toMatchObject({ visibility: "secret" });
      expect(await variable(own, "plan_derived")).toBe(403);
    }));

  it("is any output that is written into a sealed variable", () =>
    withRuntime(planning(tools), async (own) => {
      await own.call("PUT", "/conversations/c/variables/box?visibility=sealed", json({ a: 1 }));
      const id = await approved(own, [
        { _id: "in", _tool: "echo", value: "plain", _outputPath: "†box.b" },
      ]);
      const { calls } = await runOf(own, id);
      expect(calls[0]?.output).toEqual({ $var: "plan_in", visibility: "sealed" });
      expect(await variable(own, "plan_in/info")).toMatchObject({ visibility: "sealed" });
    }));
});
