import { describe, expect, it } from "vitest";
import type { ReceiptSpan } from "../../packages/client/src/client.ts";
import type { ConversationEvent } from "../../src/turn/log/event-log.ts";
import { segmentsOf } from "../src/chat/answer-text.tsx";
import { versionAt } from "../src/chat/tool-card.tsx";

describe("the segments of an answer", () => {
  const table = "\n| id |\n| --- |\n| 1 |\n| 2 |\n";

  function kindsFor(before: string, value: string, after: string) {
    const shown = before + value + after;
    const start = before.length;
    const reference = { reference: "$x", variable: "x", path: "" };
    const span: ReceiptSpan = { ...reference, part: 0, start, end: start + value.length };
    return segmentsOf(shown, [span]).map((segment) =>
      segment.kind === "block"
        ? ["block", shown.slice(segment.span.start, segment.span.end).trim()]
        : ["text", shown.slice(segment.start, segment.end).trim()],
    );
  }

  it("are blocks for standalone tables and documents", () => {
    expect(kindsFor("Rows:\n", table, "\nThat is all.")).toEqual([
      ["text", "Rows:"],
      ["block", table.trim()],
      ["text", "That is all."],
    ]);
    expect(kindsFor("", "# Report\n\nAll is well.", "")).toEqual([
      ["block", "# Report\n\nAll is well."],
    ]);
  });

  it("are text for inline values, alone or not", () => {
    expect(kindsFor("In ", "Oslo", ".")).toEqual([["text", "In Oslo."]]);
    expect(kindsFor("", "Oslo", "")).toEqual([["text", "Oslo"]]);
  });
});

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
