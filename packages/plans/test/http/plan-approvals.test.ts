import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { json } from "../../../../test/support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  decide,
  payingPlanner,
  planning,
  planOf,
  planTools,
  runOf,
  streamed,
} from "../../../../test/support/planning.ts";
import { finish, text, toolCall } from "../../../testing/src/testing.ts";
import { slow } from "../../../../test/support/slow.ts";
import { readUntil } from "../../../../test/support/turn-client.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

describe("a person's decisions on a run", () => {
  it("an approval in one run does not let another run pay", async () => {
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

  it("a gate that was opened before the input was known does not replace the policy's approval", async () => {
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

  it("a decision that arrives just after the run starts to wait is not lost", async () => {
    await withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      const { storage } = own.state;
      const real = storage.setAlarm.bind(storage);
      let release = () => {};
      let isHeld = false;
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      // The platform is slow to set the alarm at the end of the run.
      storage.setAlarm = async (...given: Parameters<typeof real>) => {
        await real(...given);
        if (isHeld) await held;
      };
      const first = await own.call("POST", `${ROOT}/${id}/run`);
      isHeld = true;
      await readUntil(first, "data-run");
      const answer = await decide(own, "legal", { approved: true });
      isHeld = false;
      release();
      await answer.text();
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

  describe("a gate is opened for the input that was shown", () => {
    const calls = (gates: readonly string[]) => [
      { _tool: "pay", _id: "payment", amount: "†sum", _after: gates, _outputPath: "†state.paid" },
    ];
    const put = (own: OwnRuntime, sum: number) =>
      own.call("PUT", "/conversations/c/variables/sum", json(sum));
    const paying = async (
      gates: readonly string[],
      work: (own: OwnRuntime, paid: readonly number[]) => Promise<void>,
    ) => {
      const { paid, tools } = payingPlanner();
      await withRuntime(planning(tools), async (own) => {
        await put(own, 50);
        const run = await runOf(own, await approved(own, calls(gates)));
        expect(run.calls[0]).toMatchObject({ gate: "legal", asked: '{"amount":50}' });
        await work(own, paid);
      });
    };

    it("a changed input needs approval again, and runs as it was shown then", () =>
      paying(["†approvals.legal"], async (own, paid) => {
        await put(own, 9_000);
        const asked = (await streamed(await decide(own, "legal", { approved: true }))).at(-2);
        expect(asked).toMatchObject({
          status: "waiting",
          asked: '{"amount":9000}',
          reason: "Its input has changed since it was shown for approval.",
        });
        await put(own, 10_000);
        own.wakeAgain();
        const again = await streamed(await decide(own, asked?.gate ?? "", { approved: true }));
        expect([again.at(-2)?.asked, paid]).toEqual(['{"amount":10000}', []]);
        const gate = again.at(-2)?.gate ?? "";
        const done = await streamed(await decide(own, gate, { approved: true }));
        expect([done.at(-1)?.status, paid]).toEqual(["done", [10_000]]);
      }));

    it("an input that is the same again needs no second approval", slow, () =>
      paying(["†approvals.legal"], async (own, paid) => {
        await put(own, 9_000);
        await put(own, 50);
        const done = await streamed(await decide(own, "legal", { approved: true }));
        expect([done.at(-1)?.status, paid]).toEqual(["done", [50]]);
      }),
    );

    it("of several gates, the first one's input counts", () =>
      paying(["†approvals.legal", "†approvals.money"], async (own, paid) => {
        await put(own, 9_000);
        const next = (await streamed(await decide(own, "legal", { approved: true }))).at(-2);
        expect(next).toMatchObject({ gate: "money", asked: '{"amount":9000}' });
        const last = (await streamed(await decide(own, "money", { approved: true }))).at(-2);
        expect([last?.asked, paid]).toEqual(['{"amount":9000}', []]);
        await streamed(await decide(own, last?.gate ?? "", { approved: true }));
        expect(paid).toEqual([9_000]);
      }));
  });
});
