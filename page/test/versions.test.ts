import { describe, expect, it } from "vitest";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import { versionAt } from "../src/chat/tool-card.tsx";

const variable = {
  name: "rows",
  type: "array",
  bytes: 2,
  scope: "conversation",
  visibility: "model",
  sources: [],
  trusted: true,
  pinned: false,
} as const;

const events = (
  [
    { type: "turn.started", turn: "t1" },
    { type: "variable.saved", variable: { ...variable, version: 1 } },
    { type: "tool.called", turn: "t1", toolCallId: "c1", tool: "count" },
    { type: "variable.updated", variable: { ...variable, version: 2 } },
    { type: "tool.called", turn: "t1", toolCallId: "c2", tool: "count" },
    { type: "turn.done", turn: "t1" },
    { type: "variable.updated", variable: { ...variable, version: 3 } },
    { type: "tool.called", turn: "t2", toolCallId: "c1", tool: "count" },
  ] as const
).map((event, index): ConversationEvent => ({ id: index + 1, at: "", ...event }));

describe("the version of a variable", () => {
  it.each([
    [{ turn: "t1", toolCallId: "c1" }, 1],
    [{ turn: "t1", toolCallId: "c2" }, 2],
    // Models may reuse call ids in later turns.
    [{ turn: "t2", toolCallId: "c1" }, 3],
  ])("at a moment is the last one written before it (%#)", (moment, version) => {
    expect(versionAt(events, "rows", moment)).toBe(version);
  });

  it("is unknown without an event for it", () => {
    expect(versionAt(events, "other", { turn: "t1", toolCallId: "c1" })).toBeUndefined();
    expect(versionAt(events.slice(2), "rows", { turn: "t1", toolCallId: "c1" })).toBeUndefined();
  });
});
