import { describe, expect, it } from "vitest";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import type { PlanView } from "../../src/http/plan-view.ts";
import { planning, planOf, planTools, runOf, streamed } from "../../../../test/support/planning.ts";
import { chunksIn } from "../../../../test/support/turn-client.ts";
import type { Json } from "../../../../src/value/json.ts";

const ROOT = "/conversations/c/plans";

const calls = [
  { _tool: "echo", _id: "one", value: "†orders[0]", _outputPath: "†state.one" },
  { _tool: "echo", _id: "two", value: "†state.one" },
];

async function ask(own: OwnRuntime) {
  const response = await own.call("POST", "/conversations/c/messages", json({ message: "Plan" }));
  return chunksIn(await response.text());
}

async function plansOf(own: OwnRuntime): Promise<readonly PlanView[]> {
  const { plans } = await (await own.call("GET", ROOT)).json<{ plans: PlanView[] }>();
  return plans;
}

describe("a plan that a model proposes", () => {
  it("waits for a person, who sees it, approves it and lets it run", async () => {
    const steps = [{ tool: "propose_plan", input: { name: "Both", calls } }, "Look at the plan."];
    const seen: never[] = [];
    await withRuntime(planning(planTools(seen), { steps }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/orders", json([7]));
      const chunks = await ask(own);
      const [plan] = await plansOf(own);
      expect(plan).toMatchObject({ name: "Both", status: "proposed", agent: "planner" });
      const shown = await planOf(own, plan?.id ?? "");
      expect(shown.calls.map(({ input }) => input)).toEqual([
        { value: "†orders[0]" },
        { value: "†state.one" },
      ]);
      const told = chunks.find(({ type }) => type === "tool-output-available");
      expect(told).toMatchObject({
        output: { plan: plan?.id, status: "proposed", calls: ["one", "two"] },
      });
      expect(seen).toEqual([]);
      const id = plan?.id ?? "";
      await own.call("POST", `${ROOT}/${id}/approve`);
      expect((await runOf(own, id)).status).toBe("done");
      expect(seen).toEqual([7, 7]);
      const { events } = await (
        await own.call("GET", "/conversations/c/events")
      ).json<{ events: { type: string; plan?: string; run?: string; tool?: string }[] }>();
      const types = events.filter(({ plan, run }) => plan !== undefined || run !== undefined);
      expect(types.map(({ type }) => type)).toEqual([
        "plan.proposed",
        "plan.approved",
        "run.started",
        "tool.called",
        "tool.done",
        "tool.called",
        "tool.done",
        "run.done",
      ]);
    });
  });

  it("is refused with all findings, which the model receives, and is not stored", async () => {
    const wrong = [
      { _tool: "echo", value: "$orders" },
      { _tool: "nobody", value: "†state.gone" },
    ];
    const steps = [{ tool: "propose_plan", input: { calls: wrong } }, "Oh."];
    await withRuntime(planning(planTools(), { steps }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/orders", json([7]));
      const failed = (await ask(own)).find(({ type }) => type === "tool-output-error");
      const { errorText } = failed as { errorText: string };
      expect(errorText).toMatch(/^invalid_plan: /u);
      expect(errorText).toContain("write †orders, not $orders");
      expect(errorText).toContain("There is no tool nobody");
      expect(errorText).toContain("Nothing writes †state.gone");
      expect(await plansOf(own)).toEqual([]);
    });
  });

  it("runs as tainted if its model was tainted, and no rule approves it", async () => {
    const steps = [
      { tool: "echo", input: { value: "$doubted" } },
      { tool: "propose_plan", input: { calls: [{ _tool: "echo", value: 1 }] } },
      "Done.",
    ];
    const policy = ({ tainted }: { tainted: boolean }) =>
      tainted ? ({ ask: "It has read what is not trusted." } as const) : ("allow" as const);
    const policies = { echo: { trusted: false } };
    const agent = { policies, approvesPlan: () => true };
    await withRuntime(planning(planTools(), { steps, agent }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/doubted", json("?"));
      await ask(own);
      const [plan] = await plansOf(own);
      expect(plan).toMatchObject({ status: "proposed", tainted: true });
      const id = plan?.id ?? "";
      await own.call("POST", `${ROOT}/${id}/approve`);
      const agents = [{ name: "planner", description: "", instructions: "", tools: planTools() }];
      own.wakeAgain({ agents: [{ ...agents[0], policy } as never] });
      const run = await runOf(own, id);
      expect(run).toMatchObject({
        status: "waiting",
        calls: [{ reason: "It has read what is not trusted." }],
      });
      expect((await planOf(own, id)).status).toBe("running");
    });
  });
});

const SET = { _tool: "set_variable", _id: "set", name: "state.x", value: 1 };

function propose(own: OwnRuntime, query: string, plan: Json): Promise<Response> {
  return own.call("POST", `${ROOT}${query}`, json(plan));
}

async function plansIn(own: OwnRuntime): Promise<unknown> {
  const { plans } = await (await own.call("GET", ROOT)).json<{ plans: { status: string }[] }>();
  return plans.map(({ status }) => status);
}

describe("a plan that is proposed with ?run=true", () => {
  it("is approved and run, and streams its run", () =>
    withRuntime(planning({}), async (own) => {
      const response = await propose(own, "?run=true", { calls: [SET] });
      expect(response.status).toBe(200);
      const parts = await streamed(response);
      expect(parts.at(-1)).toMatchObject({ type: "data-run", status: "done", state: { x: 1 } });
      expect(await plansIn(own)).toEqual(["done"]);
    }));

  it("is neither stored nor run if there are findings", () =>
    withRuntime(planning({}), async (own) => {
      const response = await propose(own, "?run=true", { calls: [SET, { _tool: "nope" }] });
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ findings: [{ code: "unknown_tool" }] });
      expect(await plansIn(own)).toEqual([]);
    }));

  it("waits for approval if it needs an input", () =>
    withRuntime(planning({}), async (own) => {
      const input = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
      const response = await propose(own, "?run=true", { input, calls: [SET] });
      expect([response.status, await plansIn(own)]).toEqual([422, ["proposed"]]);
      expect(await response.json()).toMatchObject({ code: "invalid_plan" });
    }));

  it("is only proposed with ?run=false; other values are refused", () =>
    withRuntime(planning({}), async (own) => {
      expect((await propose(own, "?run=false", { calls: [SET] })).status).toBe(201);
      expect((await propose(own, "?run=yes", { calls: [SET] })).status).toBe(400);
      expect(await plansIn(own)).toEqual(["proposed"]);
    }));
});
