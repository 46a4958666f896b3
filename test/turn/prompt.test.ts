import { convertToModelMessages, tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { StoredMessage } from "../../src/turn/history/stored-message.ts";
import { toModelMessages } from "../../src/turn/history/prompt.ts";

const createdAt = "2026-11-01T00:00:00.000Z";
const said: StoredMessage = {
  id: "m1",
  role: "assistant",
  parts: [{ type: "text", text: "$orders are here.", state: "done" }],
  createdAt,
};
const looked: StoredMessage = {
  id: "m2",
  role: "assistant",
  parts: [
    {
      type: "tool-look",
      toolCallId: "call",
      state: "output-available",
      input: {},
      output: { $var: "orders" },
    },
  ],
  createdAt,
};

/** Creates a tool with its own `toModelOutput`. */
function looking(word: string) {
  const inputSchema = z.object({});
  const toModelOutput = () => ({ type: "text" as const, value: word });
  return { look: tool({ inputSchema, execute: () => word, toModelOutput }) };
}

describe("past messages", () => {
  it("show past results with the current tool's toModelOutput", async () => {
    await toModelMessages([said, looked], looking("before"));
    const now = JSON.stringify(await toModelMessages([said, looked], looking("after")));
    expect(now).toContain("after");
    expect(now).not.toContain("before");
  });

  it("leave out calls without a result, as the SDK does", async () => {
    const call = { type: "tool-look", toolCallId: "1", input: {} } as const;
    const of: StoredMessage["parts"] = [
      { ...call, state: "input-available" },
      { ...call, state: "input-available", providerExecuted: true },
      { ...call, state: "output-available", output: "half", preliminary: true },
      { ...call, state: "approval-requested", approval: { id: "a" } },
      { ...call, state: "output-error", errorText: "tool_failed: no disk" },
      { ...call, state: "output-available", output: "whole" },
    ];
    const options = { tools: {}, ignoreIncompleteToolCalls: true };
    const sdk = await convertToModelMessages([{ role: "assistant", parts: [...of] }], options);
    expect(sdk.map(({ content }) => content.length)).toEqual([2, 2]);
    expect(await toModelMessages([{ ...said, parts: of }], {})).toEqual(sdk);
  });
});
