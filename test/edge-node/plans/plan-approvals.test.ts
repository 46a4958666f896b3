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
  streamed,
} from "../../support/planning.ts";
import { finish, text, toolCall } from "../../support/scripted-model.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "gated", value: "†approvals.legal", _outputPath: "†state.gated" },
];

/** Reads a stream up to where this is in it; the rest is left. */
async function readUntil(response: Response, word: string): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let read = "";
  for (;;) {
    const { done, value = "" } = (await reader?.read()) ?? { done: true };
    read += value;
    if (done || read.includes(word)) return read;
  }
}

describe("what a person decides of a run", () => {
  it.each([
    { tool: "set_variable", what: { value: "mallory" }, place: ".to" },
    { tool: "delete_variable", what: {}, place: "" },
  ])("a model does nothing to what is a run's: $tool", async ({ tool: name, what, place }) => {
    const steps: unknown[] = [];
    const seen: unknown[] = [];
    await withRuntime(
      planning(planTools(seen as never[]), { steps: steps as never }),
      async (own) => {
        await own.call("PUT", "/conversations/c/variables/x", json(1));
        const id = await approved(own, [
          {
            _tool: "echo",
            value: { a: "†input.to", ok: "†approvals.legal" },
            _outputPath: "†state.gated",
          },
        ]);
        const { id: run } = await runOf(own, id, { input: { to: "alice" } });
        steps.push(
          [toolCall("list_variables", {}), finish("tool-calls")],
          [toolCall(name, { name: `input_${run}${place}`, ...what }), finish("tool-calls")],
          [text("Done."), finish()],
        );
        await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
        await (await decide(own, "legal", { approved: true })).text();
        expect(seen).toEqual([{ a: "alice", ok: true }]);
      },
    );
  });

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

  it("what a person approves is shown", async () => {
    const { tools, policy } = payingPlanner();
    await withRuntime(planning(tools, { agent: { policy } }), async (own) => {
      const id = await approved(own, [
        { _tool: "pay", _id: "payment", amount: "†input.amount", _outputPath: "†state.receipt" },
      ]);
      const response = await own.call(
        "POST",
        `${ROOT}/${id}/run`,
        json({ input: { amount: 4711 } }),
      );
      const parts = await streamed(response);
      const { calls } = await planOf(own, id);
      expect(JSON.stringify([parts, calls])).toContain("4711");
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

  for (const written of [
    "†approvals.über",
    "†approvals",
    "†approvals[0]",
    "†approvals.*",
    '†approvals["two words"]',
    "† approvals.x",
    "†approvals.-x",
  ]) {
    it(`a gate written as ${written} does not stand open`, async () => {
      const seen: unknown[] = [];
      await withRuntime(planning(planTools(seen as never[])), async (own) => {
        const response = await own.call(
          "POST",
          ROOT,
          json({
            calls: [
              { _tool: "echo", _id: "a", value: "†approvals.a", _outputPath: "†state.a" },
              {
                _tool: "echo",
                _id: "b",
                value: { gate: written, a: "†state.a" },
                _outputPath: "†state.b",
              },
            ],
          }),
        );
        if (response.status === 422) return;
        const { id } = await response.json<{ id: string }>();
        await own.call("POST", `${ROOT}/${id}/approve`);
        await runOf(own, id);
        await (await decide(own, "a", { approved: true })).text();
        expect(seen).toEqual([true]);
      });
    });
  }

  it("a rule does not approve of what a tainted model has written, unasked", async () => {
    const steps = [
      [toolCall("echo", { value: "$doubted" }), finish("tool-calls")],
      [toolCall("propose_plan", { calls: [{ _tool: "echo", value: 1 }] }), finish("tool-calls")],
      [text("Done."), finish()],
    ];
    const agent = { approvesPlan: () => true, policies: { echo: { trusted: false } } };
    await withRuntime(planning(planTools(), { steps, agent }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/doubted", json("?"));
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      const { plans } = await (await own.call("GET", ROOT)).json<{ plans: { status: string }[] }>();
      expect(plans.map(({ status }) => status)).toEqual(["proposed"]);
    });
  });

  it("a person is told that a plan's writer was tainted", async () => {
    const steps = [
      [toolCall("echo", { value: "$doubted" }), finish("tool-calls")],
      [toolCall("propose_plan", { calls: [{ _tool: "echo", value: 1 }] }), finish("tool-calls")],
      [text("Done."), finish()],
    ];
    const agent = { policies: { echo: { trusted: false } } };
    await withRuntime(planning(planTools(), { steps, agent }), async (own) => {
      await own.call("PUT", "/conversations/c/variables/doubted", json("?"));
      await (await own.call("POST", "/conversations/c/messages", json({ message: "Go" }))).text();
      const { plans } = await (await own.call("GET", ROOT)).json<{ plans: object[] }>();
      expect(plans[0]).toMatchObject({ tainted: true });
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

  it("of two decisions at once the second is told that nothing waits", async () => {
    const held: { release?: () => void } = {};
    const hold = tool({
      inputSchema: z.object({}),
      execute: () => new Promise<number>((resolve) => (held.release = () => resolve(1))),
    });
    await withRuntime(planning({ ...planTools(), hold }), async (own) => {
      const id = await approved(own, [...gated, { _tool: "hold", _id: "hold" }]);
      const running = await own.call("POST", `${ROOT}/${id}/run`);
      while (held.release === undefined) await scheduler.wait(1);
      const [yes, no] = await Promise.all([
        decide(own, "legal", { approved: true }),
        decide(own, "legal", { approved: false }),
      ]);
      await scheduler.wait(20);
      held.release();
      await running.text();
      const { runs } = await planOf(own, id);
      expect([yes.status, no.status, runs[0]?.state]).toEqual([200, 404, { gated: true }]);
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
