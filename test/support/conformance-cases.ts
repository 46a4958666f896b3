import { dynamicTool, tool, type ToolSet } from "ai";
import { z } from "zod";
import {
  finish,
  reasoning,
  type Script,
  type Step,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";

/** A name, and the steps that a provider streams. */
export type Case = readonly [name: string, steps: readonly Step[]];

/** Ordinary tools. */
export const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, temp: 72 }),
  }),
  fail: tool({
    inputSchema: z.object({}),
    execute: (): string => {
      throw new Error("The disk is full.");
    },
  }),
  titled: tool({
    title: "A title",
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => n + 1,
  }),
  told: dynamicTool({
    description: "Known at run time only.",
    inputSchema: z.object({ n: z.number() }),
    execute: (input) => ({ input }),
  }),
  silent: tool({ inputSchema: z.object({}), execute: () => undefined }),
  slow: tool({
    inputSchema: z.object({}),
    metadata: { from: "here" },
    async *execute() {
      yield "half";
      yield "whole";
    },
  }),
  search: tool({
    type: "provider",
    id: "scripted.search",
    isProviderExecuted: true,
    args: {},
    inputSchema: z.object({ query: z.string() }),
    outputSchema: z.array(z.string()),
  }),
} satisfies ToolSet;

const metadata = { scripted: { signature: "abc" } };
export const asked = finish("tool-calls");

export const answers: readonly Case[] = [
  ["a text", [[text("Hello, world.", { chunks: 3 }), finish()]]],
  ["a text of one delta", [[text("Hello."), finish()]]],
  ["an empty answer", [[finish()]]],
  ["an empty text", [[text("", { chunks: [] }), finish()]]],
  ["empty deltas", [[text("ab", { chunks: ["", "a", "", "b"] }), finish()]]],
  ["several texts", [[text("One.", { id: "a" }), text("Two.", { id: "b" }), finish()]]],
  ["texts that use one id", [[text("One."), text("Two."), finish()]]],
  ["texts that are written at once", [interleaved()]],
  ["text with prices and unknown names", [[text("$5.00, $HOME, $x.y", { chunks: 1 }), finish()]]],
  ["reasoning", [[reasoning("I think.", { chunks: 2, metadata }), text("So."), finish()]]],
  ["a text with metadata", [[text("Hello.", { metadata, chunks: 2 }), finish()]]],
  ["metadata that comes late", [lateMetadata()]],
  ["citations", [cited()]],
  ["sources and files", [sourcesAndFiles()]],
];

export const calls: readonly Case[] = [
  ["a tool call", oneCall(toolCall("get_weather", { city: "NYC" }))],
  [
    "a tool call that is streamed",
    oneCall(toolCall("get_weather", { city: "NYC" }, { chunks: 4 })),
  ],
  ["a tool call without arguments", oneCall(toolCall("fail", ""))],
  ["a tool call with metadata", oneCall(withMetadata())],
  ["a tool call behind a text", oneCall(text("Let me see."), toolCall("titled", { n: 1 }))],
  ["a titled tool that is streamed", oneCall(toolCall("titled", { n: 1 }, { chunks: 2 }))],
  [
    "two tool calls at once",
    oneCall(
      toolCall("get_weather", { city: "NYC" }, { id: "a", chunks: 5 }),
      toolCall("get_weather", { city: "London" }, { id: "b" }),
    ),
  ],
  [
    "two tool calls whose inputs are streamed at once",
    oneCall(streamedAtOnce(["a", '{"city":"NYC"}'], ["b", '{"city":"London"}'])),
  ],
  [
    "three steps",
    [
      [toolCall("get_weather", { city: "NYC" }, { id: "a" }), asked],
      [text("And then."), toolCall("titled", { n: 1 }, { id: "b" }), asked],
      [text("Done."), finish()],
    ],
  ],
  [
    "one call id in two steps",
    [
      [toolCall("titled", { n: 1 }, { id: "a", chunks: 2 }), asked],
      [toolCall("titled", { n: 2 }, { id: "a", chunks: 2 }), asked],
      [text("Done."), finish()],
    ],
  ],
  ["a tool that throws", oneCall(toolCall("fail", {}, { chunks: 1 }))],
  ["an unknown tool", oneCall(toolCall("nope", { n: 1 }))],
  ["an unknown tool that is streamed", oneCall(toolCall("nope", { n: 1 }, { chunks: 2 }))],
  ["input that is broken JSON", oneCall(toolCall("get_weather", '{"city":'))],
  ["broken JSON that is streamed", oneCall(toolCall("get_weather", '{"city":', { chunks: 3 }))],
  ["broken JSON for a titled tool", oneCall(toolCall("titled", "{", { chunks: 1 }))],
  ["a broken call beside a good one", oneCall(toolCall("nope", {}), toolCall("titled", { n: 1 }))],
  ["a dynamic tool", oneCall(toolCall("told", { n: 1 }))],
  ["a dynamic tool that is streamed", oneCall(toolCall("told", { n: 1 }, { chunks: 2 }))],
  ["broken JSON for a dynamic tool", oneCall(toolCall("told", "{", { chunks: 1 }))],
  ["a tool that returns nothing", oneCall(toolCall("silent", {}))],
  ["a tool that yields", oneCall(toolCall("slow", {}, { chunks: 1 }))],
  ["a tool that the provider runs", [[...providers(["a", "b"]), text("Done."), finish()]]],
  ["a provider's tool that fails", [[...providers("It broke.", true), text("Done."), finish()]]],
];

export const failures: readonly Case[] = [
  ["a model that is down", [down]],
  ["a model that breaks off in a text", [broken(text("Hello, wor").slice(0, -1))]],
  ["an error part in a text", [[text("Hello").slice(0, -1), { type: "error", error: "Busy." }]]],
  [
    "a model that breaks off in a tool's input",
    [broken(toolCall("get_weather", { city: "NYC" }, { chunks: 4 }).slice(0, 3))],
  ],
  ["a second step that breaks off", [...oneCall(toolCall("titled", { n: 1 })).slice(0, 1), down]],
];

/** A step with these parts, which call tools, and a final step. */
export function oneCall(...call: Script): readonly Step[] {
  return [
    [...call, asked],
    [text("Done."), finish()],
  ];
}

function interleaved(): Script {
  return [
    { type: "text-start", id: "a" },
    { type: "text-delta", id: "a", delta: "One " },
    { type: "text-start", id: "b" },
    { type: "text-delta", id: "b", delta: "Two " },
    { type: "text-delta", id: "a", delta: "one." },
    { type: "text-end", id: "a" },
    { type: "text-delta", id: "b", delta: "two." },
    { type: "text-end", id: "b" },
    finish(),
  ];
}

function lateMetadata(): Script {
  const providerMetadata = { scripted: { at: "the end" } };
  return [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "Hm.", providerMetadata: metadata },
    { type: "reasoning-end", id: "r", providerMetadata },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "So.", providerMetadata: metadata },
    { type: "text-end", id: "t", providerMetadata },
    finish(),
  ];
}

function cited(): Script {
  const source = { type: "source", sourceType: "url", id: "s", url: "https://e.com" } as const;
  const citations = [{ source, startIndex: 0, endIndex: 3, citedText: "So" }];
  return [...text("So.").slice(0, -1), { type: "text-end", id: "text_1", citations }, finish()];
}

function sourcesAndFiles(): Script {
  return [
    { type: "source", sourceType: "url", id: "s", url: "https://example.com", title: "Example" },
    { type: "source", sourceType: "url", id: "u", url: "https://example.org" },
    {
      type: "source",
      sourceType: "document",
      id: "d",
      mediaType: "text/plain",
      title: "Notes",
      filename: "notes.txt",
      providerMetadata: metadata,
    },
    { type: "file", mediaType: "text/plain", data: { type: "data", data: "aGk=" } },
    {
      type: "reasoning-file",
      mediaType: "text/plain",
      data: { type: "data", data: new Uint8Array([104, 105]) },
      providerMetadata: metadata,
    },
    { type: "custom", kind: "scripted.mark", providerMetadata: metadata },
    text("So."),
    finish(),
  ];
}

function withMetadata(): Script[number] {
  return [
    { type: "tool-input-start", id: "a", toolName: "titled", providerMetadata: metadata },
    { type: "tool-input-delta", id: "a", delta: '{"n":1}' },
    { type: "tool-input-end", id: "a" },
    {
      type: "tool-call",
      toolCallId: "a",
      toolName: "titled",
      input: '{"n":1}',
      providerMetadata: { scripted: { signature: "def" } },
    },
  ];
}

function streamedAtOnce(...inputs: readonly (readonly [id: string, raw: string])[]) {
  const toolName = "get_weather";
  return [
    ...inputs.map(([id]) => ({ type: "tool-input-start" as const, id, toolName })),
    ...inputs.map(([id, delta]) => ({ type: "tool-input-delta" as const, id, delta })),
    ...inputs.map(([id]) => ({ type: "tool-input-end" as const, id })),
    ...inputs.map(([id, raw]) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName,
      input: raw,
    })),
  ];
}

function providers(result: string | string[], isError = false): Script {
  const about = { toolCallId: "p", toolName: "search" };
  return [
    { type: "tool-input-start", id: "p", toolName: "search", providerExecuted: true },
    { type: "tool-input-delta", id: "p", delta: '{"query":"x"}' },
    { type: "tool-input-end", id: "p" },
    { type: "tool-call", ...about, input: '{"query":"x"}', providerExecuted: true },
    { type: "tool-result", ...about, result, isError, providerMetadata: metadata },
  ];
}

function down(): Script {
  throw new Error("The model is down.");
}

function broken(said: Script[number] & readonly unknown[]): Step {
  return async function* () {
    yield said;
    throw new Error("The connection broke.");
  };
}
