import { describe, expect, it } from "vitest";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import type { PlanView } from "../../src/http/plan-view.ts";
import { planning, planOf, planTools, runOf } from "../../../../test/support/planning.ts";
import { chunksIn } from "../../../../test/support/turn-client.ts";

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
const needsInput = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

it.each<[string, string, object, number, string, readonly string[]]>([
  [
    "is approved and run, and streams",
    "true",
    {},
    200,
    '"status":"done","state":{"x":1}',
    ["done"],
  ],
  [
    "is not stored with findings",
    "true",
    { calls: [SET, { _tool: "a" }] },
    422,
    "unknown_tool",
    [],
  ],
  ["waits if it needs an input", "true", { input: needsInput }, 422, "invalid_plan", ["proposed"]],
  ["is only proposed", "false", {}, 201, '"proposed"', ["proposed"]],
  ["is refused", "yes", {}, 400, "bad_request", []],
])("a plan that %s with ?run=%s", (...[, run, more, status, text, statuses]) =>
  withRuntime(planning({}), async (own) => {
    const response = await own.call("POST", `${ROOT}?run=${run}`, json({ calls: [SET], ...more }));
    expect([response.status, await response.text()]).toEqual([
      status,
      expect.stringContaining(text),
    ]);
    expect((await plansOf(own)).map((plan) => plan.status)).toEqual(statuses);
  }),
);
