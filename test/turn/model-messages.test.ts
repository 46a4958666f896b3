import { convertToModelMessages, tool, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { modelMessages } from "../../src/turn/history/model-messages.ts";

type Part = UIMessage["parts"][number];

const about = { scripted: { signature: "abc" } };
const later = { scripted: { signature: "later" } };
const url = "data:text/plain;base64,SGk=";
const call = { type: "tool-look", toolCallId: "1", input: { at: 1 } } as const;
const dynamic = { type: "dynamic-tool", toolName: "told", toolCallId: "2", input: {} } as const;
const failed = { state: "output-error", errorText: "tool_failed: no disk" } as const;
const done = { state: "output-available", output: { n: [1, null] } } as const;

const tools = {
  look: tool({ inputSchema: z.object({}), execute: () => 1 }),
  said: tool({
    inputSchema: z.object({ at: z.number() }),
    execute: () => "x",
    toModelOutput: ({ toolCallId, input, output }) => ({
      type: "text",
      value: `${toolCallId} ${JSON.stringify(input)} ${output}`,
    }),
  }),
};

const ofAnswers: readonly (readonly [name: string, parts: readonly Part[]])[] = [
  ["nothing", []],
  ["a text", [{ type: "text", text: "Hello.", state: "done" }]],
  ["a text with metadata", [{ type: "text", text: "Hello.", providerMetadata: about }]],
  ["reasoning", [{ type: "reasoning", text: "Hm.", providerMetadata: about }]],
  ["reasoning without metadata", [{ type: "reasoning", text: "Hm." }]],
  ["a file", [{ type: "file", mediaType: "text/plain", url, filename: "a.txt" }]],
  ["a file with metadata", [{ type: "file", mediaType: "a/b", url, providerMetadata: about }]],
  [
    "a file stored at the provider",
    [{ type: "file", mediaType: "a/b", url, providerReference: { scripted: "file-1" } }],
  ],
  ["a file of reasoning", [{ type: "reasoning-file", mediaType: "a/b", url }]],
  ["custom content", [{ type: "custom", kind: "scripted.kind", providerMetadata: about }]],
  ["a source", [{ type: "source-url", sourceId: "s", url: "https://example.com" }]],
  ["data", [{ type: "data-variable", data: { name: "a" } }]],
  ["a call that is being written", [{ ...call, state: "input-streaming" }]],
  ["a call", [{ ...call, state: "input-available", callProviderMetadata: about }]],
  ["a result", [{ ...call, ...done, callProviderMetadata: about, resultProviderMetadata: later }]],
  ["a result that is a text", [{ ...call, state: "output-available", output: "yes" }]],
  ["an undefined result", [{ ...call, state: "output-available", output: undefined }]],
  ["a tool with its own toModelOutput", [{ ...call, type: "tool-said", ...done, output: "x" }]],
  ["a tool with a dash in its name", [{ ...call, type: "tool-a-b", ...done }]],
  ["an unknown tool", [{ ...call, type: "tool-toString", ...done }]],
  ["an error", [{ ...call, ...failed, resultProviderMetadata: later }]],
  ["an error of a call with metadata", [{ ...call, ...failed, callProviderMetadata: about }]],
  ["a dynamic tool", [{ ...dynamic, ...done }]],
  ["a provider's call", [{ ...call, state: "input-available", providerExecuted: true }]],
  ["a provider's result", [{ ...call, ...done, providerExecuted: true }]],
  [
    "a provider's result with metadata",
    [
      {
        ...call,
        ...done,
        providerExecuted: true,
        callProviderMetadata: about,
        resultProviderMetadata: later,
      },
    ],
  ],
  [
    "a provider's result with the call's metadata",
    [{ ...call, ...done, providerExecuted: true, callProviderMetadata: about }],
  ],
  ["a provider's error", [{ ...dynamic, ...failed, providerExecuted: true }]],
  [
    "steps",
    [
      { type: "step-start" },
      { type: "text", text: "I look." },
      { ...call, ...done },
      { ...dynamic, ...failed },
      { type: "step-start" },
      { type: "step-start" },
      { ...call, toolCallId: "3", state: "input-streaming" },
      { type: "step-start" },
      { type: "text", text: "Done." },
    ],
  ],
];

const ofQuestions: typeof ofAnswers = [
  [
    "texts",
    [
      { type: "text", text: "Hi." },
      { type: "text", text: "", providerMetadata: about },
    ],
  ],
  ["a file", [{ type: "file", mediaType: "text/plain", url, filename: "a.txt" }]],
  [
    "data",
    [
      { type: "data-seen", data: 1 },
      { type: "text", text: "Hi." },
    ],
  ],
];

describe("the model's messages match the SDK's", () => {
  it.each(ofAnswers)("for an answer: %s", async (_name, parts) => {
    const message = { role: "assistant" as const, parts: [...parts] };
    const expected = await convertToModelMessages([message], { tools });
    expect(await modelMessages(message, tools)).toEqual(expected);
  });

  it.each(ofQuestions)("for a question: %s", async (_name, parts) => {
    const message = { role: "user" as const, parts: [...parts] };
    expect(await modelMessages(message, tools)).toEqual(await convertToModelMessages([message]));
  });

  it("and an invalid URL is refused", async () => {
    const parts: Part[] = [{ type: "file", mediaType: "a/b", url: "/nowhere" }];
    await expect(modelMessages({ role: "user", parts }, tools)).rejects.toThrow(TypeError);
  });
});
