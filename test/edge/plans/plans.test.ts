import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { PlanView } from "../../../packages/plans/src/http/plan-view.ts";
import { json, problemIn } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import {
  approved,
  planning,
  planOf,
  planTools,
  propose,
  runOf,
  statusesOf,
  streamed,
  variable,
} from "../../support/planning.ts";

const ROOT = "/conversations/c/plans";

const greeting = [
  { _tool: "echo", _id: "name", value: "†input.name", _outputPath: "†state.name" },
  {
    _tool: "echo",
    _id: "greet",
    value: { hello: "†state.name", count: "†orders[0].count" },
    _outputPath: "†state.greeting",
  },
];

describe("a plan that is proposed", () => {
  it("shows what each call would receive, and runs nothing", async () => {
    const seen: unknown[] = [];
    await withRuntime(planning(planTools(seen as never)), async (own) => {
      await own.call("PUT", "/conversations/c/variables/orders", json([{ count: 3 }]));
      const plan = await propose(own, greeting, { name: "Greet" });
      expect(plan).toMatchObject({
        status: "proposed",
        name: "Greet",
        format: "json",
        agent: "planner",
        findings: [],
        runs: [],
      });
      expect(plan.calls).toEqual([
        {
          _id: "name",
          _tool: "echo",
          _outputPath: "†state.name",
          status: "waiting",
          after: [],
          input: { value: "†input.name" },
        },
        {
          _id: "greet",
          _tool: "echo",
          _outputPath: "†state.greeting",
          status: "waiting",
          after: ["name"],
          input: { value: { hello: "†state.name", count: 3 } },
        },
      ]);
      expect(seen).toEqual([]);
      const { plans } = await (await own.call("GET", ROOT)).json<{ plans: PlanView[] }>();
      expect(plans.map(({ id, status }) => [id, status])).toEqual([[plan.id, "proposed"]]);
    });
  });

  it("is refused with all of its findings, and creates no conversation", async () => {
    await withRuntime(planning(), async (own) => {
      const calls = [
        { _tool: "nobody", _id: "a", value: 1 },
        { _tool: "add", _id: "b", a: "x", b: "†state.gone" },
        { _tool: "echo", _id: "c", value: "†state.d", _outputPath: "†state.c" },
        { _tool: "echo", _id: "d", value: "†state.c", _outputPath: "†state.d" },
      ];
      const response = await own.call("POST", ROOT, json({ calls }));
      expect(response.status).toBe(422);
      const problem = await response.json<{ code: string; findings: { code: string }[] }>();
      expect(problem.code).toBe("invalid_plan");
      expect(problem.findings.map(({ code }) => code)).toEqual([
        "unknown_tool",
        "invalid_parameters",
        "no_producer",
        "cycle",
      ]);
      expect((await own.call("GET", "/conversations/c")).status).toBe(404);
    });
  });

  it.each([
    { body: "{", type: "application/json", code: "bad_plan" },
    { body: '<capability name="echo" action="x', type: "application/xml", code: "bad_xml" },
    { body: "@input web:x\nGo.", type: "text/markdown", code: "bad_directive" },
  ])("is refused as unreadable $type", async ({ body, type, code }) => {
    await withRuntime(planning(), async (own) => {
      const headers = { "content-type": type };
      const response = await own.call("POST", ROOT, { body, headers });
      expect(response.status).toBe(422);
      const { findings } = await response.json<{ findings: { code: string }[] }>();
      expect(findings[0]?.code).toBe(code);
    });
  });

  it("is refused with an unsupported content type", async () => {
    await withRuntime(planning(), async (own) => {
      const init = { body: "x", headers: { "content-type": "text/plain" } };
      await problemIn(await own.call("POST", ROOT, init), "unsupported_media_type");
    });
  });

  it("does not run before it is approved, unless a rule of the agent's approves it", async () => {
    const approvesPlan = ({ name }: { name?: string }) => {
      if (name === "Broken") throw new Error("The rule fails.");
      return name === "Harmless";
    };
    await withRuntime(planning(planTools(), { agent: { approvesPlan } }), async (own) => {
      const { id } = await propose(own, [{ _tool: "echo", value: 1 }]);
      const broken = await propose(own, [{ _tool: "echo", value: 1 }], { name: "Broken" });
      for (const plan of [id, broken.id]) {
        const early = await own.call("POST", `${ROOT}/${plan}/run`);
        await problemIn(early, "plan_not_approved");
      }
      const harmless = await propose(own, [{ _tool: "echo", value: 1 }], { name: "Harmless" });
      expect(harmless.status).toBe("approved");
      expect((await runOf(own, harmless.id)).status).toBe("done");
    });
  });

  it("is not found under another id", async () => {
    await withRuntime(planning(), async (own) => {
      for (const path of ["", "/approve", "/cancel", "/run"]) {
        const method = path === "" ? "GET" : "POST";
        await problemIn(await own.call(method, `${ROOT}/x%2Fy${path}`), "not_found");
      }
    });
  });
});

describe("a run", () => {
  it("streams the status of each call, and finally its result", async () => {
    await withRuntime(planning(), async (own) => {
      await own.call("PUT", "/conversations/c/variables/orders", json([{ count: 3 }]));
      const id = await approved(own, greeting);
      const response = await own.call(
        "POST",
        `${ROOT}/${id}/run`,
        json({ input: { name: "Ada" } }),
      );
      expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
      const parts = await streamed(response);
      expect(parts.map(({ call, status }) => [call, status])).toEqual([
        ["name", "waiting"],
        ["greet", "waiting"],
        ["name", "running"],
        ["name", "done"],
        ["greet", "running"],
        ["greet", "done"],
        [undefined, "done"],
      ]);
      const state = { name: "Ada", greeting: { hello: "Ada", count: 3 } };
      expect(parts.at(-1)).toMatchObject({ type: "data-run", status: "done", state });
      const plan = await planOf(own, id);
      expect(plan.status).toBe("done");
      expect(plan.runs).toMatchObject([
        { id: parts.at(-1)?.run, status: "done", input: { name: "Ada" }, state },
      ]);
      expect(await variable(own, "state")).toEqual(state);
      const { variables } = await (
        await own.call("GET", "/conversations/c/variables")
      ).json<{ variables: { name: string }[] }>();
      expect(variables.map(({ name }) => name)).toEqual(["orders", "state"]);
    });
  });

  it("writes the status of each call as a line of plain text", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        { _tool: "fail", _id: "bad", _outputPath: "†state.a" },
        { _tool: "echo", _id: "after", value: "†state.a" },
      ]);
      const init = json({}, { accept: "text/plain" });
      const response = await own.call("POST", `${ROOT}/${id}/run`, init);
      expect((await response.text()).split("\n")).toEqual([
        "bad: waiting",
        "after: waiting",
        "bad: running",
        "bad: failed (tool_failed: boom)",
        "after: skipped (†state.a is not there: bad failed.)",
        "run: failed",
        "",
      ]);
    });
  });

  it("has its own input and state each time, and merges its result", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        { _tool: "echo", value: "†input.value", _outputPath: "†state.of.one" },
      ]);
      await own.call("PUT", "/conversations/c/variables/state2", json(1));
      expect((await runOf(own, id, { input: { value: 1 } })).state).toEqual({ of: { one: 1 } });
      const other = await approved(own, [
        { _tool: "echo", value: 2, _outputPath: "†state.of.two" },
      ]);
      expect((await runOf(own, other)).state).toEqual({ of: { two: 2 } });
      expect(await variable(own, "state")).toEqual({ of: { one: 1, two: 2 } });
      expect((await runOf(own, id, { input: { value: 7 }, keep: false })).state).toEqual({
        of: { one: 7 },
      });
      expect(await variable(own, "state")).toEqual({ of: { one: 1, two: 2 } });
      expect((await planOf(own, id)).runs.map(({ state }) => state)).toEqual([
        { of: { one: 1 } },
        { of: { one: 7 } },
      ]);
    });
  });

  it("fails a failing call, skips the calls that need it, and runs the rest", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        { _tool: "fail", _id: "bad", _outputPath: "†state.a" },
        { _tool: "echo", _id: "after", value: "†state.a" },
        { _tool: "echo", _id: "free", value: 5, _outputPath: "†state.b" },
      ]);
      const run = await runOf(own, id);
      expect(run.status).toBe("failed");
      expect(run.state).toEqual({ b: 5 });
      expect(run.calls).toMatchObject([
        { _id: "bad", status: "failed", reason: "tool_failed: boom" },
        { _id: "after", status: "skipped", reason: "†state.a is not there: bad failed." },
        { _id: "free", status: "done" },
      ]);
      expect((await planOf(own, id)).status).toBe("failed");
    });
  });

  it("accepts only an input that its schema allows", async () => {
    await withRuntime(planning(), async (own) => {
      const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
      const calls = [{ _tool: "echo", value: "†input.n", _outputPath: "†state.n" }];
      const id = await approved(own, calls, { input });
      const wrong = await own.call("POST", `${ROOT}/${id}/run`, json({ input: { n: "x" } }));
      const { detail } = await problemIn(wrong, "invalid_plan");
      expect(detail).toContain("input.n must be number");
      expect((await runOf(own, id, { input: { n: 2 } })).state).toEqual({ n: 2 });
      const bad = json({ calls, input: { type: "string", pattern: "(a+)+$" } });
      await problemIn(await own.call("POST", ROOT, bad), "invalid_plan");
    });
  });

  it("waits for the run before it, and can be watched", async () => {
    const waits: (() => void)[] = [];
    const hold = tool({
      inputSchema: z.object({}),
      execute: () => new Promise<number>((resolve) => waits.push(() => resolve(1))),
    });
    await withRuntime(planning({ ...planTools(), hold }), async (own) => {
      const id = await approved(own, [{ _tool: "hold", _id: "h", _outputPath: "†state.h" }]);
      const first = await own.call("POST", `${ROOT}/${id}/run`);
      const second = await own.call("POST", `${ROOT}/${id}/run`);
      while (waits.length < 1) await scheduler.wait(1);
      const watched = await own.call("GET", "/conversations/c/stream");
      expect(own.conversation().about().status).toBe("running");
      waits[0]?.();
      const parts = await streamed(first);
      expect(await streamed(watched)).toEqual(parts);
      while (waits.length < 2) await scheduler.wait(1);
      waits[1]?.();
      expect((await streamed(second)).at(-1)).toMatchObject({ status: "done" });
      expect((await planOf(own, id)).runs.map(({ status }) => status)).toEqual(["done", "done"]);
    });
  });

  it("is cancelled while it runs: running calls are stopped, the others are skipped", async () => {
    const seen = { isStopped: false, hasBegun: false };
    const hold = tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) =>
        new Promise<number>(() => {
          seen.hasBegun = true;
          abortSignal?.addEventListener("abort", () => {
            seen.isStopped = true;
          });
        }),
    });
    await withRuntime(planning({ ...planTools(), hold }), async (own) => {
      const id = await approved(own, [
        { _tool: "hold", _id: "h", _outputPath: "†state.h" },
        { _tool: "echo", _id: "e", value: "†state.h" },
      ]);
      const response = await own.call("POST", `${ROOT}/${id}/run`);
      while (!seen.hasBegun) await scheduler.wait(1);
      const cancelled = await (await own.call("POST", `${ROOT}/${id}/cancel`)).json<PlanView>();
      expect([cancelled.status, seen.isStopped]).toEqual(["cancelled", true]);
      expect((await streamed(response)).at(-1)).toMatchObject({ status: "cancelled" });
      expect(cancelled.runs[0]?.status).toBe("cancelled");
      expect(statusesOf(cancelled)).toEqual({ h: "failed", e: "skipped" });
      await problemIn(await own.call("POST", `${ROOT}/${id}/run`), "plan_not_approved");
    });
  });

  it("stays done, or cancelled", async () => {
    await withRuntime(planning(), async (own) => {
      const done = await approved(own, [{ _tool: "echo", value: 1 }]);
      await runOf(own, done);
      await own.call("POST", `${ROOT}/${done}/cancel`);
      expect((await planOf(own, done)).status).toBe("done");
      const { id } = await propose(own, [{ _tool: "echo", value: 1 }]);
      await own.call("POST", `${ROOT}/${id}/cancel`);
      await problemIn(await own.call("POST", `${ROOT}/${id}/approve`), "plan_not_approved");
      expect((await planOf(own, id)).status).toBe("cancelled");
    });
  });
});
