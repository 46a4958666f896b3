import { expect, it } from "vitest";
import { dataPointOf, Trace, turnRecord } from "../../src/edge/telemetry/trace.ts";

function recordOf(tenant: string) {
  let nowMs = Date.UTC(2026, 0, 1);
  const trace = new Trace(() => nowMs);
  trace.root.activity = { kind: "agent", name: "orders", model: "m", provider: "p" };
  const model = trace.root.begin({ kind: "model", name: "m", model: "m", provider: "p" });
  nowMs += 2;
  model.firstOutput();
  nowMs += 3;
  model.end({});
  const tool = trace.root.begin({ kind: "tool", name: "find", toolCallId: "1" });
  nowMs += 7;
  tool.end({ error: "tool_failed" });
  trace.root.begin({ kind: "tool", name: "find", toolCallId: "2" }).end();
  trace.end({});
  return turnRecord({ tenant, conversation: "c-1", turn: "t-1" }, trace, {
    status: "failed",
    code: "model_failed",
    usage: { inputTokens: 21, outputTokens: 22, totalTokens: 43 },
    savings: { promptChars: 31, inlinePromptChars: 32, authoredChars: 33, resolvedChars: 34 },
    cost: { rowsRead: 41, rowsWritten: 42, alarms: 43 },
  });
}

it("a turn's data point has each figure where the guide to operating says it is", () => {
  expect(dataPointOf(recordOf("acme"))).toEqual({
    indexes: ["acme"],
    blobs: ["c-1", "orders", "m", "failed", "model_failed", "acme"],
    doubles: [12, 2, 1, 5, 2, 1, 7, 21, 22, 31, 32, 33, 34, 41, 42, 43],
  });
});

it.each([
  ["a".repeat(96), "a".repeat(96)],
  ["a".repeat(97), "a".repeat(96)],
  [`${"a".repeat(95)}ä`, "a".repeat(95)],
  [`${"a".repeat(93)}😀b`, "a".repeat(93)],
  ["😀".repeat(30), "😀".repeat(24)],
])("an index has at most 96 bytes, and only whole characters: %s", (tenant, index) => {
  const { indexes, blobs } = dataPointOf(recordOf(tenant));
  expect(indexes).toEqual([index]);
  expect(blobs?.at(-1)).toBe(tenant);
});
