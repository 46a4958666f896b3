import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { saying } from "../../support/called-agents.ts";
import { json } from "../../support/edge.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { approvalIn, decide, paying } from "../../support/paying.ts";
import { approved, planning, runOf } from "../../support/planning.ts";
import { type Step, text, toolCall } from "../../../packages/testing/src/testing.ts";
import { linesOf } from "../../support/telemetry.ts";
import { asked, done, runtimeOf, say } from "../../support/watched-runtime.ts";

let log: MockInstance<typeof console.log>;

beforeEach(() => {
  log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

afterEach(() => void vi.restoreAllMocks());

describe("the log line of a turn", () => {
  it("names the tenant, the outcome and the cost", async () => {
    const id = crypto.randomUUID();
    const name = JSON.stringify(["acme", id]);
    const steps = [
      [
        toolCall("add", { a: 1, b: 2 }),
        toolCall("fail", {}),
        toolCall("add", { a: "no" }, { id: "call_invalid" }),
        asked,
      ],
      [text("Three."), done],
    ];
    await withRuntime(runtimeOf(steps), (own) => say(own), { bindings: { LOG: "turns" }, name });
    const lines = linesOf(log);
    expect(lines).toHaveLength(1);
    const [line] = lines;
    expect(line).toEqual({
      event: "turn",
      tenant: "acme",
      conversation: "c",
      turn: expect.stringMatching(/^[\da-f-]{36}$/u),
      agent: "clerk",
      model: "scripted",
      provider: "scripted",
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u),
      durationMs: expect.any(Number),
      firstPartMs: expect.any(Number),
      modelCalls: 2,
      modelMs: expect.any(Number),
      toolCalls: 3,
      toolFailures: 2,
      toolMs: expect.any(Number),
      status: "done",
      finishReason: "stop",
      usage: { inputTokens: 66, outputTokens: 44, totalTokens: 110 },
      savings: expect.objectContaining({ promptChars: expect.any(Number) }),
      cost: expect.objectContaining({ rowsWritten: expect.any(Number) }),
    });
    expect(line?.cost).not.toMatchObject({ rowsWritten: 0 });
    expect(log).toHaveBeenCalledOnce();
  });

  it("is on unless it is turned off", async () => {
    const bindings = { LOG: undefined };
    await withRuntime(runtimeOf([saying("Hi.")]), (own) => say(own), { bindings });
    expect(linesOf(log)).toHaveLength(1);
    await withRuntime(runtimeOf([saying("Hi.")]), (own) => say(own), { bindings: { LOG: "off" } });
    expect(linesOf(log)).toHaveLength(1);
  });

  it("is written once for each turn, and has only the code of a failure", async () => {
    const refuse: Step = () => {
      throw Object.assign(new Error("canary"), { statusCode: 400 });
    };
    const steps = [saying("One."), refuse, saying("Three.")];
    await withRuntime(
      runtimeOf(steps),
      async (own) => {
        for (const message of ["1", "2", "3"]) await say(own, message);
      },
      { bindings: { LOG: "turns" } },
    );
    const lines = linesOf(log);
    expect(lines.map(({ status }) => status)).toEqual(["done", "failed", "done"]);
    expect(lines[1]).toMatchObject({ code: "model_failed", finishReason: "error", modelCalls: 1 });
    expect(lines[1]).not.toHaveProperty("firstPartMs");
    expect(new Set(lines.map(({ turn }) => turn)).size).toBe(3);
  });

  it("is written once for each attempt: before an approval and after it", async () => {
    const steps = [[toolCall("pay", { amount: 20 }), asked], saying("Paid.")];
    const { options } = paying(steps);
    await withRuntime(
      options,
      async (own) => {
        await (
          await own.call(
            "POST",
            "/conversations/c/messages",
            json({ message: "Pay.", agent: "bank" }),
          )
        ).text();
        await (await decide(own, approvalIn(own), { approved: true })).text();
      },
      { bindings: { LOG: "turns" } },
    );
    const [waits, goesOn, ...more] = linesOf(log);
    expect(more).toEqual([]);
    expect(waits).toMatchObject({ status: "waiting", agent: "bank", modelCalls: 1, toolCalls: 0 });
    expect(goesOn).toMatchObject({ status: "done", agent: "bank", modelCalls: 1, toolCalls: 1 });
    expect(goesOn?.turn).toBe(waits?.turn);
  });

  it("says that a turn was stopped", async () => {
    const { options, reached } = haltedTurn();
    await withRuntime(
      options,
      async (own) => {
        const saying = say(own);
        await reached;
        await own.call("POST", "/conversations/c/stop");
        await saying;
      },
      { bindings: { LOG: "turns" } },
    );
    expect(linesOf(log)).toMatchObject([{ status: "stopped", finishReason: "other" }]);
    expect(linesOf(log)[0]).not.toHaveProperty("code");
  });

  it("names the limit that a turn has reached, and so does its event", async () => {
    const steps = [[toolCall("add", { a: 1, b: 2 }), asked], saying("Three.")];
    const options = { ...runtimeOf(steps), spend: { conversation: { modelCalls: 1 } } };
    await withRuntime(
      options,
      async (own) => {
        await say(own);
        const page = await own.call("GET", "/conversations/c/events");
        const { events } = await page.json<{ events: readonly object[] }>();
        const reached = { code: "spend_exceeded", limit: "conversation.modelCalls" };
        expect(linesOf(log)).toMatchObject([{ status: "failed", ...reached }]);
        expect(events.at(-1)).toMatchObject({ type: "turn.failed", ...reached });
      },
      { bindings: { LOG: "turns" } },
    );
  });

  it("says how long a turn has waited for the one before it", async () => {
    const { options, reached, open } = haltedTurn([saying("Second.")]);
    await withRuntime(
      options,
      async (own) => {
        const first = say(own);
        await reached;
        const { queue } = own.conversation().parts.context;
        const second = say(own, "And then?");
        await vi.waitFor(() => expect(queue.isLast).toBe(false));
        open();
        await Promise.all([first, second]);
      },
      { bindings: { LOG: "turns" } },
    );
    const [first, second] = linesOf(log);
    expect(first).not.toHaveProperty("queuedMs");
    expect(second).toMatchObject({ status: "done", queuedMs: expect.any(Number) });
  });

  it("says that a turn continued after a crash", async () => {
    const { options, reached } = haltedTurn([saying("Again.")]);
    await withRuntime(
      options,
      async (own) => {
        void say(own);
        await reached;
        own.wakeAgain();
        await vi.waitFor(() => expect(linesOf(log)).toHaveLength(1));
      },
      { bindings: { LOG: "turns" } },
    );
    expect(linesOf(log)).toMatchObject([
      { status: "done", recovered: true, conversation: "c", modelCalls: 1 },
    ]);
  });

  it("is also written for a turn that cannot start", async () => {
    const { options, reached, open } = haltedTurn();
    await withRuntime(
      options,
      async (own) => {
        const first = say(own);
        await reached;
        // The decision waits in the queue, and then finds no approval.
        const decided = await decide(own, "none", { approved: true });
        open();
        await Promise.all([first, decided.text()]);
      },
      { bindings: { LOG: "turns" } },
    );
    expect(linesOf(log)).toMatchObject([
      { status: "done" },
      { status: "failed", code: "approval_not_found", agent: "test", modelCalls: 0 },
    ]);
  });

  it("of a plan run says so, and why it failed", async () => {
    const calls = [
      { _tool: "add", _id: "sum", a: 1, b: 2, _outputPath: "†state.sum" },
      { _tool: "fail", _id: "bad" },
    ];
    await withRuntime(
      planning(),
      async (own) => {
        await runOf(own, await approved(own, calls));
      },
      { bindings: { LOG: "turns" } },
    );
    expect(linesOf(log)).toMatchObject([
      {
        event: "turn",
        kind: "run",
        turn: expect.stringMatching(/^r/u),
        agent: "planner",
        status: "failed",
        code: "tool_failed",
        modelCalls: 0,
        toolCalls: 2,
        toolFailures: 1,
        usage: {},
      },
    ]);
    expect(linesOf(log)).toHaveLength(1);
  });
});

describe("Analytics Engine", () => {
  it("receives one point for each turn if it is bound", async () => {
    const points: AnalyticsEngineDataPoint[] = [];
    const ANALYTICS = { writeDataPoint: (point: AnalyticsEngineDataPoint) => points.push(point) };
    const name = JSON.stringify(["acme", crypto.randomUUID()]);
    const steps = [[toolCall("add", { a: 1, b: 2 }), asked], saying("Three.")];
    await withRuntime(runtimeOf(steps), (own) => say(own), { bindings: { ANALYTICS }, name });
    expect(points).toHaveLength(1);
    expect(points[0]).toMatchObject({
      indexes: ["acme"],
      blobs: ["c", "clerk", "scripted", "done", "", "acme", ""],
    });
    expect(points[0]?.doubles).toHaveLength(17);
    expect(points[0]?.doubles?.slice(7, 9)).toEqual([66, 44]);
    expect(log).not.toHaveBeenCalled();
  });

  it("disturbs no turn when it fails", async () => {
    const ANALYTICS = {
      writeDataPoint: () => {
        throw new Error("Full.");
      },
    };
    const bindings = { ANALYTICS, LOG: "turns" };
    const said = await withRuntime(runtimeOf([saying("Hi.")]), (own) => say(own), { bindings });
    expect(said).toContain("Hi.");
    expect(linesOf(log)).toHaveLength(1);
  });
});
