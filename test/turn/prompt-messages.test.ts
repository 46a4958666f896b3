import type { ModelMessage } from "ai";
import { convertToLanguageModelPrompt } from "ai/internal";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { promptMessages } from "../../src/turn/model/prepare-model-call.ts";

function convert(messages: ModelMessage[]) {
  const prompt = { instructions: undefined, messages };
  return convertToLanguageModelPrompt({ prompt, supportedUrls: {}, download: undefined });
}

const providerOptions = fc.constant({ openai: { itemId: "item-1" } });
const text = fc.record(
  {
    type: fc.constant("text" as const),
    text: fc.constantFrom("", "Hello.", "$orders"),
    providerOptions,
  },
  { requiredKeys: ["type", "text"] },
);
const reasoning = fc.record({ type: fc.constant("reasoning" as const), text: fc.string() });
const toolCall = { type: "tool-call" as const, toolCallId: "call", toolName: "look_up", input: {} };
const toolResult = {
  type: "tool-result" as const,
  toolCallId: "call",
  toolName: "look_up",
  output: { type: "text" as const, value: "found" },
};
const calling: ModelMessage[] = [
  { role: "assistant", content: [toolCall, { ...toolCall, toolCallId: "other" }] },
  { role: "tool", content: [toolResult] },
  // The SDK merges the two tool messages.
  { role: "tool", content: [{ ...toolResult, toolCallId: "other" }] },
];

/** Lists of messages as they occur in a conversation. */
const messages = fc
  .array(
    fc.oneof(
      fc.record(
        {
          role: fc.constant("user" as const),
          content: fc.oneof(fc.string(), fc.array(text)),
          providerOptions,
        },
        { requiredKeys: ["role", "content"] },
      ),
      fc.record(
        {
          role: fc.constant("assistant" as const),
          content: fc.oneof(fc.string(), fc.array(fc.oneof(text, reasoning))),
          providerOptions,
        },
        { requiredKeys: ["role", "content"] },
      ),
      fc.constant(calling),
    ),
  )
  .map((parts): ModelMessage[] => parts.flat());

describe("messages for a provider", () => {
  it("are the same as if the SDK converted all of them together", async () => {
    await fc.assert(
      fc.asyncProperty(messages, async (given) => {
        const whole = await convert(structuredClone(given));
        expect(await promptMessages(given, convert)).toEqual(whole);
      }),
      { numRuns: 1_000 },
    );
  });
});
