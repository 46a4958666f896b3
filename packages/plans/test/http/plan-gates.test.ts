import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { APPROVAL_CASES, FIRST, play } from "../../../../test/contract/approval-cases.ts";
import { digestOf } from "../../../../src/tool/tool-input.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { withRuntime } from "../../../../test/support/own-runtime.ts";
import {
  approved,
  decide,
  payingPlanner,
  planning,
  planOf,
  planTools,
  propose,
  runOf,
  statusesOf,
  streamed,
  variable,
} from "../../../../test/support/planning.ts";
import { approvalIn } from "../../../../test/support/paying.ts";
import { finish, toolCall } from "../../../testing/src/testing.ts";
import { readUntil } from "../../../../test/support/turn-client.ts";

const ROOT = "/conversations/c/plans";

const gated = [
  { _tool: "echo", _id: "free", value: 1, _outputPath: "†state.free" },
  {
    _tool: "echo",
    _id: "gated",
    value: { ok: "†approvals.legal", free: "†state.free" },
    _outputPath: "†state.gated",
  },
];

describe("_after", () => {
  const after = (_after: unknown) => [
    { _tool: "echo", _id: "orders", value: [1, 2], _outputPath: "†state.orders" },
    { _tool: "exact", _id: "last", value: "†state.orders", _after, _outputPath: "†state.done" },
  ];
  const exact = tool({
    inputSchema: z.strictObject({ value: z.any() }),
    execute: ({ value }) => value as string,
  });

  it("makes the call wait for each gate, is not passed to its tool, and shows what would run", () =>
    withRuntime(planning({ ...planTools(), exact }), async (own) => {
      const gates = ["†approvals.legal", "†approvals.money"];
      const plan = await propose(own, after(gates));
      expect(plan.calls.map(({ _after, input }) => [_after, input])).toEqual([
        [undefined, { value: [1, 2] }],
        [gates, { value: "†state.orders" }],
      ]);
      await own.call("POST", `${ROOT}/${plan.id}/approve`);
      const run = await runOf(own, plan.id);
      const asked = '{"value":[1,2]}';
      expect(run.calls[1]).toMatchObject({ status: "waiting", gate: "legal", asked });
      const next = await streamed(await decide(own, "legal", { approved: true }));
      expect(next.at(-1)).toMatchObject({ status: "waiting" });
      const last = await streamed(await decide(own, "money", { approved: true }));
      expect(last.at(-1)).toMatchObject({ status: "done", state: { done: [1, 2] } });
      const events = await (await own.call("GET", "/conversations/c/events")).text();
      expect(events.match(/"approval.granted","run":"/g)).toHaveLength(2);
    }));

  it.each(["†approvals.legal, †approvals.money", "{{approvals.legal}} {{ approvals.money }}"])(
    "makes a tag and the tags after it wait: %s",
    async (gates) => {
      await withRuntime(planning(planTools()), async (own) => {
        const body = `<capability name="variable" action="set" key="a" value="one" />
          <capability name="echo" value="{{a}}" output_var="b" _after="${gates}" />
          <capability name="variable" action="get" key="b" />`;
        const init = { body, headers: { "content-type": "application/xml" } };
        const { id } = await (await own.call("POST", ROOT, init)).json<{ id: string }>();
        await own.call("POST", `${ROOT}/${id}/approve`);
        const run = await runOf(own, id);
        expect(Object.values(statusesOf(run))).toEqual(["done", "waiting", "waiting"]);
        expect(run.calls[1]).toMatchObject({ gate: "legal", asked: '{"value":"one"}' });
        await streamed(await decide(own, "legal", { approved: true }));
        const last = await streamed(await decide(own, "money", { approved: true }));
        expect(last.at(-1)).toMatchObject({ status: "done", outputs: { call_3: "one" } });
      });
    },
  );
});

describe("a run that waits for a gate", () => {
  it("says so, keeps its results across an eviction, and continues when the gate opens", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      const parts = await streamed(await own.call("POST", `${ROOT}/${id}/run`));
      expect(parts.at(-1)).toMatchObject({ status: "waiting", state: { free: 1 } });
      expect(parts.at(-2)).toMatchObject({
        call: "gated",
        status: "waiting",
        reason: "Waits for approvals.legal.",
      });
      expect(own.conversation().about().status).toBe("waiting");
      own.wakeAgain();
      await own.awake();
      expect(own.conversation().about().status).toBe("waiting");
      const before = await planOf(own, id);
      expect([before.status, before.runs[0]?.status]).toEqual(["running", "waiting"]);
      expect(before.runs[0]?.state).toEqual({ free: 1 });
      const after = await streamed(await decide(own, "legal", { approved: true }));
      const state = { free: 1, gated: { ok: true, free: 1 } };
      expect(after.at(-1)).toMatchObject({ type: "data-run", status: "done", state });
      expect(after.filter(({ call }) => call === "free")).toEqual([]);
      expect(await variable(own, "state")).toEqual(state);
      await problemIn(await decide(own, "legal", { approved: true }), "approval_not_found");
    }));

  it("skips the calls behind the gate when it is denied, and says why", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      await runOf(own, id);
      await streamed(await decide(own, "legal", { approved: false, reason: "Not now" }));
      const plan = await planOf(own, id);
      expect([plan.status, statusesOf(plan)]).toEqual(["done", { free: "done", gated: "skipped" }]);
      expect(plan.calls[1]?.reason).toBe("approvals.legal was denied: Not now");
    }));

  it("takes one of two decisions while other calls still run", async () => {
    let release: (() => void) | undefined;
    const hold = tool({
      inputSchema: z.object({}),
      execute: () =>
        new Promise<number>((resolve) => {
          release = () => resolve(1);
        }),
    });
    await withRuntime(planning({ ...planTools(), hold }), async (own) => {
      const id = await approved(own, [...gated, { _tool: "hold", _id: "hold" }]);
      const running = await own.call("POST", `${ROOT}/${id}/run`);
      for (;;) {
        const { calls } = await planOf(own, id);
        if (calls[1]?.gate === "legal" && release !== undefined) break;
        await scheduler.wait(1);
      }
      const [opened, denied] = await Promise.all([
        decide(own, "legal", { approved: true }),
        decide(own, "legal", { approved: false }),
      ]);
      await problemIn(denied, "approval_not_found");
      for (;;) {
        if (statusesOf(await planOf(own, id))["gated"] === "done") break;
        await scheduler.wait(1);
      }
      release();
      const rest = await streamed(opened);
      expect(rest.map(({ call, status }) => [call, status])).toContainEqual(["gated", "done"]);
      expect(rest.at(-1)).toMatchObject({ status: "done" });
      expect((await streamed(running)).at(-1)).toEqual(rest.at(-1));
      const events = await (await own.call("GET", "/conversations/c/events")).text();
      expect(events.match(/"approval\.\w+","run":"/gu)).toEqual(['"approval.granted","run":"']);
    });
  });

  it("loses its variables and its gate when it is cancelled", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      const { id: run } = await runOf(own, id);
      expect(await variable(own, `state_${run}`)).toEqual({ free: 1 });
      await own.call("POST", `${ROOT}/${id}/cancel`);
      const plan = await planOf(own, id);
      expect([plan.status, plan.runs[0]?.status]).toEqual(["cancelled", "cancelled"]);
      expect(plan.runs[0]?.state).toEqual({ free: 1 });
      expect([await variable(own, `state_${run}`), await variable(own, "state")]).toEqual([
        410, 404,
      ]);
      expect(own.conversation().about().status).toBe("idle");
      await problemIn(await decide(own, "legal", { approved: true }), "approval_not_found");
    }));

  it("needs the run's id if several runs wait for the gate", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, gated);
      await runOf(own, id);
      const { id: run } = await runOf(own, id);
      const { detail } = await problemIn(
        await decide(own, "legal", { approved: true }),
        "conflict",
      );
      expect(detail).toContain(run);
      await streamed(await decide(own, "legal", { approved: true, run }));
      const { runs } = await planOf(own, id);
      expect(runs.map(({ status }) => status)).toEqual(["waiting", "done"]);
    }));
});

describe.each([
  ["policy", {}, "Money goes."],
  ["_after", { _after: "†approvals.legal" }, "Waits for approvals.legal."],
])("a call of a plan that needs approval by %s", (kind, more, reason) => {
  it.each(APPROVAL_CASES)("%s", async (_rule, acts, values) => {
    const { paid, tools, policy } = payingPlanner();
    await withRuntime(
      planning(tools, kind === "policy" ? { agent: { policy } } : {}),
      async (own) => {
        const save = (value: number) =>
          own.call("PUT", "/conversations/c/variables/sum", json(value));
        const restart = async () => {
          own.wakeAgain();
          await own.awake();
        };
        await save(FIRST);
        const id = await approved(own, [{ _tool: "pay", amount: "†sum", ...more }]);
        const ask = async () => {
          const [call] = (await runOf(own, id)).calls;
          expect(call).toMatchObject({ reason, asked: '{"amount":50}' });
          return call?.gate;
        };
        const answer = async (gate: string, isApproved: boolean) =>
          (await streamed(await decide(own, gate, { approved: isApproved }))).at(-2)?.gate;
        await play({ save, restart, ask, answer }, acts);
        expect(paid).toEqual(values);
      },
    );
  });
});

it("a gate that a person opened for one input is closed for another one, also if it was searched for", async () => {
  // Found among 30 million inputs in a minute: their digests have the same first 12 digits.
  const inputs = [{ to: "ada992801" }, { to: "ada20444031" }];
  const [first, other] = await Promise.all(inputs.map((input) => digestOf(input)));
  expect(first?.slice(0, 12)).toBe(other?.slice(0, 12));
  const sent: string[] = [];
  const mail = tool({
    inputSchema: z.object({ to: z.string() }),
    execute: ({ to }) => sent.push(to),
  });
  const agent = { policies: { mail: { approval: true } } };
  await withRuntime(planning({ mail }, { agent }), async (own) => {
    const save = (to = "") => own.call("PUT", "/conversations/c/variables/to", json(to));
    await save(inputs[0]?.to);
    const run = await runOf(own, await approved(own, [{ _tool: "mail", to: "†to" }]));
    await save(inputs[1]?.to);
    await streamed(await decide(own, run.calls[0]?.gate ?? "", { approved: true }));
    expect(sent).toEqual([]);
  });
});

const legal = [
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

  it("a turn that waits during a run keeps its counts, its values and its post, and is counted once", async () => {
    const { paid, tools, policy } = payingPlanner();
    const tokens = { input: 2, output: 1 };
    const steps = [
      [toolCall("pay", { amount: "$sum" }), finish("tool-calls", tokens)],
      [finish("stop", tokens)],
      [finish("stop", tokens)],
    ];
    const options = planning(tools, { agent: { policy }, steps });
    const spend = { conversation: { modelCalls: 3, tokens: 9 } };
    await withRuntime({ ...options, spend }, async (own) => {
      const ask = async (text: string) => {
        const message = { id: text, role: "user", parts: [{ type: "text", text }] };
        return (await own.call("POST", "/conversations/c/messages", json({ message }))).text();
      };
      await own.call("PUT", "/conversations/c/variables/sum", json(5));
      await ask("Pay.");
      const gate = approvalIn(own);
      await runOf(own, await approved(own, [{ _tool: "echo", value: 1 }]));
      own.wakeAgain();
      await own.awake();
      expect(own.conversation().parts.context.store.holds.has("sum")).toBe(true);
      const answer = await (await decide(own, gate, { approved: true })).text();
      expect(answer).toContain('"totalTokens":6');
      expect(paid).toEqual([5]);
      expect(await ask("Pay.")).toContain('"totalTokens":6');
      expect(await ask("Hello.")).toContain('"type":"finish"');
    });
  });

  it("a decision that arrives just after the run starts to wait is not lost", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, legal);
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
    }));

  it("each decision of a post counts", () =>
    withRuntime(planning(), async (own) => {
      const id = await approved(own, [
        ...legal,
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
    }));

  it("several gates open for the input that the first one showed", async () => {
    const { paid, tools } = payingPlanner();
    await withRuntime(planning(tools), async (own) => {
      const put = (sum: number) => own.call("PUT", "/conversations/c/variables/sum", json(sum));
      const open = async (gate: string) =>
        (await streamed(await decide(own, gate, { approved: true }))).at(-2);
      await put(50);
      const _after = ["†approvals.legal", "†approvals.money"];
      const run = await runOf(own, await approved(own, [{ _tool: "pay", amount: "†sum", _after }]));
      expect(run.calls[0]).toMatchObject({ gate: "legal", asked: '{"amount":50}' });
      await put(9_000);
      const asked = '{"amount":9000}';
      expect(await open("legal")).toMatchObject({ gate: "money", asked });
      const last = await open("money");
      const reason = "Its input has changed since it was shown for approval.";
      expect([last, paid]).toMatchObject([{ asked, reason }, []]);
      await open(last?.gate ?? "");
      expect(paid).toEqual([9_000]);
    });
  });
});
