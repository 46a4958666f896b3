import {
  dynamicTool,
  isStepCount,
  streamText,
  tool,
  type ToolSet,
  toUIMessageStream,
  type UIMessageChunk,
} from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { MessageParts } from "../../src/turn/message-parts.ts";
import {
  finish,
  reasoning,
  scriptedModel,
  type Script,
  type Step,
  text,
  toolCall,
} from "../support/scripted-model.ts";
import { chunksOf, readMessage, turnWith } from "../support/turn.ts";

const tools = {
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

interface Seen {
  readonly parts: readonly unknown[];
  /** Error chunks. */
  readonly errors: number;
  /** What the reader itself complained of. */
  readonly complaints: readonly string[];
}

/** What a client sees of the SDK's own server. */
async function seenFromSdk(steps: readonly Step[]): Promise<Seen> {
  const { stream } = streamText({
    model: scriptedModel(steps),
    tools,
    prompt: "Hello.",
    stopWhen: isStepCount(20),
    maxRetries: 0,
    onError: () => undefined,
  });
  const chunks: UIMessageChunk[] = [];
  try {
    for await (const chunk of toUIMessageStream({ stream, tools, sendSources: true })) {
      chunks.push(chunk);
    }
  } catch {
    // A provider's stream that breaks breaks the SDK's response: its client sees an error as well.
    chunks.push({ type: "error", errorText: "The stream broke." });
  }
  return seenIn(chunks);
}

async function seenIn(chunks: readonly UIMessageChunk[]): Promise<Seen> {
  // Metadata makes the reader hand out what it has: a step's start alone does not.
  const end: UIMessageChunk = { type: "message-metadata", messageMetadata: {} };
  const { message, errors } = await readMessage([...chunks, end]);
  const sent = chunksOf(chunks, "error").length;
  return {
    parts: asJson(message?.parts ?? [])
      .map(plain)
      .map(withoutResultMetadata),
    errors: sent,
    // The reader reports what was sent as an error too.
    complaints: errors.slice(sent),
  };
}

/** What a client sees of ours, and the parts that were kept. */
async function seenFromUs(steps: readonly Step[]): Promise<Seen & { readonly kept: unknown[] }> {
  const { chunks, history } = await turnWith({ tools, steps });
  const answer = history.newest();
  const kept = answer?.role === "assistant" ? answer.parts : [];
  return {
    ...(await seenIn(chunks)),
    kept: asJson(kept).map(plain).map(withoutResultMetadata),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function asJson(parts: readonly unknown[]): Fields[] {
  return JSON.parse(JSON.stringify(parts)) as Fields[];
}

/** A part without what ours adds to tool parts: the variable's name, the error's code. */
function plain(part: Fields): Fields {
  const { output, errorText } = part;
  const isOurs = typeof output === "object" && output !== null && "$var" in output;
  return {
    ...part,
    ...(isOurs && "value" in output ? { output: output.value } : {}),
    ...(typeof errorText === "string"
      ? { errorText: errorText.replace(/^(?:tool_failed: |Error: )/u, "") }
      : {}),
  };
}

/** Ours tells of a step before the model answers, the SDK when it does. */
function withoutEmptyStep(parts: readonly unknown[]): readonly unknown[] {
  const last = parts.at(-1) as Fields | undefined;
  return last?.type === "step-start" ? parts.slice(0, -1) : parts;
}

/** What a provider said of a call is kept with the call; the SDK puts it beside our result as well. */
function withoutResultMetadata(part: Fields): Fields {
  const { resultProviderMetadata, ...rest } = part;
  return part.providerExecuted === true ? { ...rest, resultProviderMetadata } : rest;
}

/** The half of an input that a client shows while it is streamed is not kept. */
function withoutStreamedInput(part: unknown): unknown {
  const { input, rawInput, ...rest } = part as Fields;
  return rest.state === "input-streaming" ? rest : part;
}

const metadata = { scripted: { signature: "abc" } };
const asked = finish("tool-calls");

const answers: readonly (readonly [string, readonly Step[]])[] = [
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

const calls: readonly (readonly [string, readonly Step[]])[] = [
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

const failures: readonly (readonly [string, readonly Step[]])[] = [
  ["a model that is down", [down]],
  ["a model that breaks off in a text", [broken(text("Hello, wor").slice(0, -1))]],
  ["an error part in a text", [[text("Hello").slice(0, -1), { type: "error", error: "Busy." }]]],
  [
    "a model that breaks off in a tool's input",
    [broken(toolCall("get_weather", { city: "NYC" }, { chunks: 4 }).slice(0, 3))],
  ],
  ["a second step that breaks off", [...oneCall(toolCall("titled", { n: 1 })).slice(0, 1), down]],
];

describe("a stock client sees of ours what it would see of the SDK's own server:", () => {
  it.each([...answers, ...calls])("%s", async (_, steps) => {
    const [sdk, ours] = await Promise.all([seenFromSdk(steps), seenFromUs(steps)]);
    expect(ours.parts).toEqual(sdk.parts);
    expect([ours.errors, sdk.errors]).toEqual([0, 0]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
  });

  it.each(failures)("%s", async (_, steps) => {
    const [sdk, ours] = await Promise.all([seenFromSdk(steps), seenFromUs(steps)]);
    expect(withoutEmptyStep(ours.parts)).toEqual(withoutEmptyStep(sdk.parts));
    expect([ours.errors, sdk.errors]).toEqual([1, 1]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
  });
});

describe("what is kept is what a stock client made of the chunks:", () => {
  it.each([...answers, ...calls, ...failures])("%s", async (_, steps) => {
    const { kept, parts } = await seenFromUs(steps);
    expect(kept).toEqual(parts.map(withoutStreamedInput));
  });

  it("but texts are kept with their references", async () => {
    const { chunks, history, result } = await turnWith({
      tools,
      steps: [
        [toolCall("get_weather", { city: "NYC" }), asked],
        [text("It is $get_weather_nyc.temp.", { chunks: 5 }), finish()],
      ],
    });
    const { message } = await readMessage(chunks);
    expect(message?.parts.at(-1)).toMatchObject({ type: "text", text: "It is 72." });
    expect(result.message.parts).toEqual(message?.parts);
    const kept = history.newest();
    expect(kept?.parts.at(-1)).toMatchObject({ text: "It is $get_weather_nyc.temp." });
    expect(kept?.display).toEqual(["It is 72."]);
  });
});

describe("MessageParts", () => {
  it("ignores what belongs to no part", () => {
    const parts = new MessageParts();
    parts.add({ type: "text-delta", id: "x", delta: "lost" });
    parts.add({ type: "text-end", id: "x" });
    parts.add({ type: "tool-output-available", toolCallId: "x", output: 1 });
    parts.show("x", "lost");
    expect([parts.parts, parts.display]).toEqual([[], []]);
  });
});

function oneCall(...call: Script): readonly Step[] {
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
