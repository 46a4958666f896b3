import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import { approved, decide, planning, planTools, runOf } from "../../../../test/support/planning.ts";

const ROOT = "/conversations/c/plans";

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

  it("a run whose plan is cancelled while it waits for its turn does not begin", () =>
    withRuntime(planning(planTools()), async (own) => {
      const id = await approved(own, gated);
      const { context } = own.conversation().parts;
      const { promise, resolve } = Promise.withResolvers<void>();
      void context.enqueue(() => promise);
      const init = json({}, { accept: "application/json" });
      const running = own.call("POST", `${ROOT}/${id}/run`, init);
      await vi.waitUntil(() => !context.queue.isLast);
      await own.call("POST", `${ROOT}/${id}/cancel`);
      resolve();
      await problemIn(await running, "plan_not_approved");
      const plan = await (await own.call("GET", `${ROOT}/${id}`)).json();
      expect(plan).toMatchObject({ status: "cancelled", runs: [] });
    }));

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
        const response = await own.call("GET", "/conversations/c/variables/e/info");
        expect(await response.json()).toMatchObject({ trusted: true });
      });
    },
  );
});
