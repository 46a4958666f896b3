import { dynamicTool, tool, type ToolSet } from "ai";
import { z } from "zod";
import {
  finish,
  reasoning,
  type Script,
  type Step,
  text,
  toolCall,
  type Part,
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
const asked = finish("tool-calls");

export const answers: readonly Case[] = [
  ["a text", [[text("Hello, world.", { chunks: 3 }), finish()]]],
  ["an empty answer", [[finish()]]],
  ["an empty text", [[text("", { chunks: [] }), finish()]]],
  ["empty deltas", [[text("ab", { chunks: ["", "a", "", "b"] }), finish()]]],
  ["several texts", [[text("One.", { id: "a" }), text("Two.", { id: "b" }), finish()]]],
  ["texts that use one id", [[text("One."), text("Two."), finish()]]],
  ["texts that are written at once", [interleaved()]],
  ["text with prices and unknown names", [[text("$5.00, $HOME, $x.y", { chunks: 1 }), finish()]]],
  ["reasoning", [[reasoning("I think.", { chunks: 2, metadata }), text("So."), finish()]]],
];

export const calls: readonly Case[] = [
  ["a tool call", oneCall(toolCall("get_weather", { city: "NYC" }))],
  [
    "a tool call that is streamed",
    oneCall(toolCall("get_weather", { city: "NYC" }, { chunks: 4 })),
  ],
  ["a tool call without arguments", oneCall(toolCall("fail", ""))],
  ["a tool call behind a text", oneCall(text("Let me see."), toolCall("titled", { n: 1 }))],
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
  ["input that is broken JSON", oneCall(toolCall("get_weather", '{"city":'))],
  ["broken JSON that is streamed", oneCall(toolCall("get_weather", '{"city":', { chunks: 3 }))],
  ["a broken call beside a good one", oneCall(toolCall("nope", {}), toolCall("titled", { n: 1 }))],
  ["a dynamic tool that is streamed", oneCall(toolCall("told", { n: 1 }, { chunks: 2 }))],
  ["a tool that returns nothing", oneCall(toolCall("silent", {}))],
  ["a tool that yields", oneCall(toolCall("slow", {}, { chunks: 1 }))],
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

function down(): Script {
  throw new Error("The model is down.");
}

function broken(said: Script[number] & readonly unknown[]): Step {
  return async function* () {
    yield said;
    throw new Error("The connection broke.");
  };
}

/** Streams that only some providers send, by name. */

/** Providers send different metadata with each part. */
function signed(signature: string) {
  return { providerMetadata: { scripted: { signature } } };
}

const remote = { toolCallId: "m", toolName: "mcp.look_up" };
const found = [{ title: "Example", url: "https://example.com" }];

export const metadataCases: readonly Case[] = [
  [
    "reasoning with signatures, in front of a tool call",
    oneCall(signedReasoning(), toolCall("titled", { n: 1 })),
  ],
  [
    "reasoning that is only metadata",
    oneCall(
      { type: "reasoning-start", id: "r", ...signed("redacted") },
      { type: "reasoning-end", id: "r" },
      toolCall("titled", { n: 1 }),
    ),
  ],
  ["metadata on every part", oneCall(...everyPart())],
  [
    "files and custom parts in front of a tool call",
    oneCall(
      { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
      { type: "file", mediaType: "text/plain", ...bytes("hello"), ...signed("f") },
      { type: "reasoning-file", mediaType: "image/png", ...bytes("hello"), ...signed("g") },
      { type: "custom", kind: "scripted.compaction", ...signed("h") },
      { type: "custom", kind: "scripted.bare" },
      toolCall("titled", { n: 1 }),
    ),
  ],
  [
    "a file that is only pointed to",
    [[{ type: "file", mediaType: "text/plain", data: { type: "url", url: dataUrl() } }, finish()]],
  ],
  [
    "what is no part of the message",
    [
      [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata", id: "x", modelId: "y", timestamp: new Date(0) },
        { type: "ping" },
        { type: "raw", rawValue: { any: "thing" } },
        text("Hello."),
        finish(),
      ],
    ],
  ],
  ["citations in front of a tool call", oneCall(...cited(), toolCall("titled", { n: 1 }))],
];

export const providerToolCases: readonly Case[] = [
  ["a provider's call without streamed input", [[...search(), text("Done."), finish()]]],
  [
    "a provider's call beside one of ours",
    oneCall(...search({ call: signed("c"), result: signed("r") }), toolCall("titled", { n: 1 })),
  ],
  [
    "a provider's call that fails with an object",
    [[...search({ error: { code: "unavailable" } }), text("Sorry."), finish()]],
  ],
  [
    "a provider's call whose result comes in parts",
    [[...search({ preliminary: true }), text("Done."), finish()]],
  ],
  ["a provider's dynamic tool", [[...dynamic(), text("Done."), finish()]]],
  [
    "a provider's dynamic tool that fails",
    [[...dynamic(true).slice(0, -1), dynamicResult(true), text("Sorry."), finish()]],
  ],
  ["a provider's dynamic tool with broken input", [[...brokenDynamic(), finish()]]],
  ["a provider's tool that we do not know", [[unknownTool(), text("Hm."), finish()]]],
  ["input that is streamed as text", oneCall(...textInput())],
];

/** Calls that wait for approval, or get no result in the step that made them. */
export const openCases: readonly Case[] = [
  ["a provider's tool that wants approval", [[...approval(), asked]]],
  ["a provider's tool that never answers", [[...search().slice(0, 1), text("Hm."), finish()]]],
  [
    "a provider's result that comes a step later",
    [
      [search()[0] ?? [], toolCall("titled", { n: 1 }), asked],
      [search()[1] ?? [], text("Done."), finish()],
    ],
  ],
];

function bytes(content: string) {
  return { data: { type: "data" as const, data: new TextEncoder().encode(content) } };
}

function dataUrl(): URL {
  return new URL("data:text/plain;base64,aGVsbG8=");
}

function signedReasoning(): readonly Part[] {
  return [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "I think. " },
    { type: "reasoning-delta", id: "r", delta: "So I am.", ...signed("half") },
    { type: "reasoning-delta", id: "r", delta: "", ...signed("whole") },
    { type: "reasoning-end", id: "r" },
  ];
}

function everyPart(): Script {
  return [
    { type: "reasoning-start", id: "r", ...signed("1") },
    { type: "reasoning-delta", id: "r", delta: "Hm.", ...signed("2") },
    { type: "reasoning-end", id: "r", ...signed("3") },
    { type: "text-start", id: "t", ...signed("4") },
    { type: "text-delta", id: "t", delta: "So.", ...signed("5") },
    { type: "text-end", id: "t", ...signed("6") },
    { type: "source", sourceType: "url", id: "s", url: "https://example.com", ...signed("7") },
    {
      type: "source",
      sourceType: "document",
      id: "d",
      mediaType: "application/pdf",
      title: "Paper",
      ...signed("8"),
    },
    { type: "tool-input-start", id: "a", toolName: "titled", title: "Theirs", ...signed("9") },
    { type: "tool-input-delta", id: "a", delta: '{"n":', ...signed("10") },
    { type: "tool-input-delta", id: "a", delta: "1}" },
    { type: "tool-input-end", id: "a", ...signed("11") },
    { type: "tool-call", toolCallId: "a", toolName: "titled", input: '{"n":1}', ...signed("12") },
  ];
}

function cited(): Script {
  const source = { type: "source", sourceType: "url", id: "s", url: "https://e.com" } as const;
  const paper = {
    type: "source",
    sourceType: "document",
    id: "d",
    mediaType: "application/pdf",
    title: "Paper",
  } as const;
  const citations = [{ source, startIndex: 0, endIndex: 3, citedText: "So" }, { source: paper }];
  return [
    source,
    ...text("So. And so.").slice(0, -1),
    { type: "text-end", id: "text_1", citations, ...signed("c") },
  ];
}

interface Search {
  readonly call?: object;
  readonly result?: object;
  readonly error?: object;
  readonly preliminary?: boolean;
}

function search({ call, result, error, preliminary }: Search = {}): readonly Part[] {
  const about = { toolCallId: "p", toolName: "search" };
  const input = '{"query":"x"}';
  const given: Part = { type: "tool-result", ...about, result: ["a"], ...result };
  return [
    { type: "tool-call", ...about, input, providerExecuted: true, ...call },
    ...(preliminary === true ? [{ ...given, preliminary }] : []),
    error === undefined ? given : { ...given, result: { ...error }, isError: true },
  ];
}

function dynamic(isStreamed = false): readonly Part[] {
  const start = { ...remote, providerExecuted: true, dynamic: true };
  const streamed: readonly Part[] = [
    { type: "tool-input-start", id: "m", ...start, title: "Looks up" },
    { type: "tool-input-delta", id: "m", delta: '{"q":1}' },
    { type: "tool-input-end", id: "m" },
  ];
  return [
    ...(isStreamed ? streamed : []),
    { type: "tool-call", ...start, input: '{"q":1}', ...signed("m") },
    dynamicResult(false),
  ];
}

function dynamicResult(isError: boolean): Part {
  const result = isError ? "It broke." : { found };
  return { type: "tool-result", ...remote, dynamic: true, result, isError, ...signed("n") };
}

function brokenDynamic(): readonly Part[] {
  const about = { ...remote, providerExecuted: true, dynamic: true };
  return [{ type: "tool-call", ...about, input: '{"q":' }];
}

function unknownTool(): Part {
  const about = { toolCallId: "u", toolName: "nowhere", providerExecuted: true };
  return { type: "tool-call", ...about, input: "{}" };
}

function textInput(): Script {
  const about = { toolCallId: "a", toolName: "titled" };
  return [
    { type: "tool-input-start", id: "a", toolName: "titled", inputEncoding: "text" },
    { type: "tool-input-delta", id: "a", delta: "one" },
    { type: "tool-input-end", id: "a" },
    { type: "tool-call", ...about, input: '{"n":1}' },
  ];
}

function approval(): readonly Part[] {
  return [
    ...dynamic(true).slice(0, -1),
    { type: "tool-approval-request", approvalId: "approval_m", toolCallId: "m" },
  ];
}
