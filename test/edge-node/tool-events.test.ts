import type { UIMessageChunk } from "ai";
import { expect, it } from "vitest";
import { recordRemains } from "../../src/edge/turns/attempt.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { EventLog } from "../../src/turn/log/event-log.ts";
import { NodeSql } from "../support/node-sql.ts";

it("records what an interrupted attempt has done, without duplicates", async () => {
  const sql = new NodeSql();
  migrate(sql);
  const store = new MemoryStore();
  const info = await store.save({ name: "a", value: 1, tool: "act", toolCallId: "x" });
  const chunks: readonly UIMessageChunk[] = [
    { type: "start", messageId: "t" },
    { type: "tool-input-available", toolCallId: "x", toolName: "act", input: {} },
    { type: "data-variable", data: info, transient: true },
    { type: "tool-output-available", toolCallId: "x", output: 1 },
    { type: "tool-input-available", toolCallId: "y", toolName: "act", input: {} },
  ];
  const frames = chunks.map((chunk, index) => ({ id: index + 1, data: JSON.stringify(chunk) }));
  // A write over HTTP meanwhile has also written the pending events.
  const before = new EventLog(sql);
  before.add({ type: "turn.started", turn: "t" });
  before.add({ type: "tool.called", turn: "t", tool: "act", toolCallId: "x" });
  before.flush();
  const events = new EventLog(sql);
  recordRemains(events, { id: "t" }, frames);
  events.flush();
  const all = events.list({ after: 0, limit: 50 }).events;
  expect(all.map(({ type, tool, toolCallId }) => [type, tool, toolCallId])).toEqual([
    ["turn.started", undefined, undefined],
    ["tool.called", "act", "x"],
    ["variable.saved", undefined, undefined],
    ["tool.done", "act", "x"],
    ["tool.called", "act", "y"],
  ]);
  expect(all[2]?.variable).toMatchObject({ name: "a", version: 1 });
  recordRemains(new EventLog(sql), { id: "t" }, frames);
  expect(new EventLog(sql).list({ after: 0, limit: 50 }).events).toHaveLength(5);
});
