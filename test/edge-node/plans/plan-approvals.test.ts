import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../support/edge.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import {
  approved,
  decide,
  payingPlanner,
  planning,
  planOf,
  planTools,
  runOf,
} from "../../support/planning.ts";
import { finish, text, toolCall } from "../../support/scripted-model.ts";
import { readUntil } from "../../support/turn-client.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("what a person decides of a run", () => {
  it("what is approved of one run does not let another one pay", async () => {
    const { paid, tools, policy } = payingPlanner();
    await withRuntime(planning(tools, { agent: { policy } }), async (own) => {
      const id = await approved(own, [
        { _tool: "pay", _id: "payment", amount: "†input.amount", _outputPath: "†state.receipt" },
      ]);
      await runOf(own, id, { input: { amount: 1_000_000 } });
      const asked = await runOf(own, id, { input: { amount: 1 } });
      const gate = asked.calls[0]?.gate ?? "";
      await (await decide(own, gate, { approved: true })).text();
      expect(paid).not.toContain(1_000_000);
    });
  });

  it("a gate that was opened before the input was known does not stand for the policy", async () => {
    const { paid, tools, policy } = payingPlanner();
    const fetched = tool({ inputSchema: z.object({}), execute: () => 1_000_000 });
    const agent = { policy, policies: { fetched: { trusted: false } } };
    await withRuntime(planning({ ...tools, fetched }, { agent }), async (own) => {
      const id = await approved(own, [
        { _tool: "echo", _id: "a", value: "†approvals.go", _outputPath: "†state.a" },
        { _tool: "fetched", _id: "f", ignored: "†state.a", _outputPath: "†state.f" },
        { _tool: "pay", _id: "pay", amount: "†state.f", why: "†approvals.go" },
      ]);
      await runOf(own, id);
      await (await decide(own, "go", { approved: true })).text();
      expect(paid).toEqual([]);
    });
  });

  it("a rule does not approve a plan that a tainted model wrote, and a person sees the taint", async () => {
    const steps = [
      [toolCall("echo", { value: "$doubted" }), finish("tool-calls")],
      [toolCall("propose_plan", { calls: [{ _tool: "echo", value: 1 }] }), finish("tool-calls")],
      [text("Done."), finish()],
    ];
    const agent = { approvesPlan: () => true, policies: { echo: { trusted: false } } };
    await withRuntime(planning(planTools(), { steps, agent }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/doubted", json("?"));
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      const { plans } = await (await own.call("GET", ROOT)).json<{ plans: object[] }>();
      expect(plans).toMatchObject([{ status: "proposed", tainted: true }]);
    });
  });

  it("a decision that comes when the run has just begun to wait is not lost", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      const { storage } = own.state;
      const real = storage.setAlarm.bind(storage);
      let release = () => {};
      let isHeld = false;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      // The platform takes its time over the alarm at the end of the run.
      storage.setAlarm = async (...given: Parameters<typeof real>) => {
        await real(...given);
        if (isHeld) await held;
      };
      const first = await own.call("POST", `${ROOT}/${id}/run`);
      isHeld = true;
      await readUntil(first, "data-run");
      const answer = decide(own, "legal", { approved: true });
      await scheduler.wait(20);
      isHeld = false;
      release();
      await (await answer).text();
      await scheduler.wait(20);
      const { runs } = await planOf(own, id);
      const again = await decide(own, "legal", { approved: true });
      expect([again.status, runs.map(({ status }) => status)]).toEqual([404, ["done"]]);
    });
  });

  it("each decision of a post counts", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        ...gated,
        { _tool: "echo", _id: "second", value: "†approvals.two", _outputPath: "†state.two" },
      ]);
      await runOf(own, id);
      const part = (gate: string) => ({
        type: "tool-x",
        state: "approval-responded",
        approval: { id: gate, approved: true },
      });
      const response = await own.call(
        "POST",
        "/conversations",
        json({ id: "c", messages: [{ role: "assistant", parts: [part("legal"), part("two")] }] }),
      );
      await response.text();
      const { runs } = await planOf(own, id);
      expect([response.status, runs[0]?.status]).toEqual([200, "done"]);
    });
  });
});
