import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../../../src/edge/create-runtime.ts";
import { json } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  decide,
  planning,
  planOf,
  planTools,
  runOf,
} from "../../../../test/support/planning.ts";
import { finish, text } from "../../../testing/src/testing.ts";
import { refuseRows } from "../../../../test/support/storage.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("how a run ends", () => {
  it("calls may have the names of inherited properties", async () => {
    await withRuntime(planning(), async (own) => {
      const names = ["constructor", "__proto__", "toString"];
      const calls = names.map((_id) => ({ _tool: "echo", _id, value: 1 }));
      const run = await runOf(own, await approved(own, calls));
      expect(run.calls.map(({ _id, status }) => [_id, status])).toEqual(
        names.map((name) => [name, "done"]),
      );
    });
  });

  it("a run whose end could not be stored is ended before another one starts", async () => {
    await withRuntime(planning(), async (own) => {
      const makeRoom = refuseRows(own.state.storage, "SET state");
      const id = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.x" }]);
      const other = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.y" }]);
      await (await own.call("POST", `${ROOT}/${id}/run`)).text();
      makeRoom();
      await runOf(own, other);
      const { status, runs } = await planOf(own, id);
      expect(status).toBe("done");
      expect(runs).toMatchObject([{ status: "done", state: { x: 1 } }]);
    });
  });

  it("a turn whose end could not be stored is not lost when a run follows", async () => {
    const steps = [[text("Said."), finish()]];
    await withRuntime(planning(planTools(), { steps }), async (own) => {
      const id = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.x" }]);
      const makeRoom = refuseRows(own.state.storage, '"isOpen":false');
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Hi" }))).text();
      makeRoom();
      await runOf(own, id);
      const messages = await own.call("GET", "/conversations/c/messages");
      const { messages: list } = await messages.json<{ messages: { role: string }[] }>();
      expect(list.map(({ role }) => role).toSorted()).toEqual(["assistant", "user"]);
    });
  });

  it("a plan that is proposed while the conversation is deleted leaves nothing broken", async () => {
    let release = () => {};
    const ruled = new Promise<void>((resolve) => {
      release = resolve;
    });
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

  it("a waiting run keeps what it has when the variables are reset", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        { _tool: "echo", _id: "one", value: 1, _outputPath: "†state.one" },
        {
          _tool: "echo",
          _id: "two",
          value: { one: "†state.one", ok: "†approvals.legal" },
          _outputPath: "†state.two",
        },
      ]);
      await runOf(own, id);
      await own.call("DELETE", "/conversations/c/variables");
      await (await decide(own, "legal", { approved: true })).text();
      const { runs } = await planOf(own, id);
      expect([runs[0]?.status, runs[0]?.state, runs[0]?.calls]).toEqual([
        "done",
        { one: 1, two: { one: 1, ok: true } },
        expect.anything(),
      ]);
    });
  });

  it("a run that waits for others is cancelled at once", async () => {
    let release = () => {};
    const slow = new Promise<void>((resolve) => (release = resolve));
    const begun = Promise.withResolvers<void>();
    const steps = [
      async () => {
        begun.resolve();
        await slow;
        return [text("Said."), finish()];
      },
    ];
    await withRuntime(planning(planTools(), { steps: steps as never }), async (own) => {
      const id = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.x" }]);
      const turn = await own.call("POST", "/conversations/c/messages", json({ message: "Hi" }));
      await begun.promise;
      const run = own.call("POST", `${ROOT}/${id}/run`);
      await vi.waitUntil(() => !own.conversation().parts.context.queue.isLast);
      // It does not wait for the turn, which ends after it.
      await own.call("POST", `${ROOT}/${id}/cancel`);
      const { status } = await planOf(own, id);
      release();
      await turn.text();
      await (await run).text();
      expect(status).toBe("cancelled");
    });
  });

  it("a plan that is cancelled while its run is prepared does not run", async () => {
    const seen: never[] = [];
    const held = { isHeld: false, begun: Promise.withResolvers<void>(), release: () => {} };
    const mcp: RuntimeOptions["mcp"] = async (agent) => {
      if (held.isHeld) {
        held.begun.resolve();
        await new Promise<void>((resolve) => (held.release = resolve));
      }
      return { agent, close: () => Promise.resolve() };
    };
    await withRuntime({ ...planning(planTools(seen)), mcp }, async (own) => {
      const id = await approved(own, [{ _tool: "echo", value: 1, _outputPath: "†state.x" }]);
      held.isHeld = true;
      const run = own.call("POST", `${ROOT}/${id}/run`);
      await held.begun.promise;
      const cancelled = await own.call("POST", `${ROOT}/${id}/cancel`);
      held.release();
      await (await run).text();
      const plan = await planOf(own, id);
      expect([cancelled.status, plan.status, plan.runs, seen]).toEqual([200, "cancelled", [], []]);
    });
  });

  it("a waiting run whose variable is deleted can be denied", async () => {
    await withRuntime(planning(), async (own) => {
      await own.call("PUT", "/conversations/c/variables/v", json(1));
      const id = await approved(own, [
        { _tool: "echo", value: { v: "†v", ok: "†approvals.legal" }, _outputPath: "†state.x" },
      ]);
      await runOf(own, id);
      await own.call("DELETE", "/conversations/c/variables/v");
      const first = await decide(own, "legal", { approved: false });
      await first.text();
      const { status, runs } = await planOf(own, id);
      expect([status, runs[0]?.status]).toEqual(["done", "done"]);
    });
  });
});
