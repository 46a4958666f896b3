import { expect, it } from "vitest";
import { dataPointOf, Trace, turnRecord } from "../../src/edge/telemetry/trace.ts";

it.each([
  ["a".repeat(96), "a".repeat(96)],
  ["a".repeat(97), "a".repeat(96)],
  [`${"a".repeat(95)}ä`, "a".repeat(95)],
  [`${"a".repeat(93)}😀b`, "a".repeat(93)],
  ["😀".repeat(30), "😀".repeat(24)],
])("an index has at most 96 bytes, and only whole characters: %s", (tenant, index) => {
  const end = { status: "done", cost: { rowsRead: 1, rowsWritten: 2, alarms: 3 } } as const;
  const trace = new Trace(Date.now);
  const record = turnRecord({ tenant, conversation: "c-1", turn: "t-1" }, trace, end);
  const { indexes, blobs } = dataPointOf(record);
  expect(indexes).toEqual([index]);
  expect(blobs?.at(5)).toBe(tenant);
});
