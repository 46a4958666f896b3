import type { UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { chunksOf } from "../../src/turn/history/message-chunks.ts";
import { readMessage } from "../support/turn.ts";

const input = { a: 1 };
const call = (toolCallId: string) => ({ type: "tool-act", toolCallId, input }) as const;

/** All kinds of parts in a stored answer. */
const parts = [
  { type: "step-start" },
  { type: "reasoning", id: "r", text: "Hm.", state: "done", providerMetadata: { p: { s: "1" } } },
  { type: "text", text: "First.", state: "done" },
  { type: "file", mediaType: "image/png", url: "data:image/png;base64,AA==" },
  { type: "source-url", sourceId: "s", url: "https://example.com", title: "T" },
  { ...call("done"), state: "output-available", output: { $var: "act_1" } },
  { ...call("failed"), state: "output-error", errorText: "tool_failed: no" },
  { type: "step-start" },
  {
    type: "dynamic-tool",
    toolName: "far",
    toolCallId: "far",
    input,
    state: "output-available",
    output: 1,
  },
  { type: "text", text: "Second.", state: "done" },
  { ...call("open"), state: "input-available" },
  { ...call("waits"), state: "approval-requested", approval: { id: "x" } },
] as unknown as UIMessage["parts"];

describe("a stored answer that is sent again", () => {
  it("is the same for a client", async () => {
    const message: UIMessage = { id: "m", role: "assistant", parts };
    const read = await readMessage(chunksOf(message));
    expect(read.errors).toEqual([]);
    expect(read.message?.id).toBe("m");
    // Compares without the ids of reasoning, which matter in the stream only.
    const known = (all: UIMessage["parts"]) =>
      all.map((part) => JSON.parse(JSON.stringify({ ...part, id: undefined })) as object);
    expect(known(read.message?.parts ?? [])).toEqual(known(parts));
  });

  it("marks denied calls as denied", async () => {
    const denied = [
      { type: "step-start" },
      { ...call("no"), state: "output-denied", approval: { id: "x", approved: false } },
    ] as unknown as UIMessage["parts"];
    const { message } = await readMessage(chunksOf({ id: "m", role: "assistant", parts: denied }));
    expect(message?.parts[1]).toMatchObject({ toolCallId: "no", state: "output-denied" });
  });
});
