import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { saying } from "../../support/called-agents.ts";
import { withRuntime } from "../../support/own-runtime.ts";
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
});

it("Analytics Engine receives one point for each turn if it is bound", async () => {
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
