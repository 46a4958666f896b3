import {
  dynamicTool,
  tool,
  type ToolSet,
  convertToModelMessages,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  streamText,
  toUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { z } from "zod";
import { expect, it } from "vitest";
import { MessageParts } from "../../src/turn/history/message-parts.ts";
import {
  finish,
  type Part,
  reasoning,
  type Script,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "byref/testing";
import { readMessage, chunksOf, Conversation } from "../support/turn.ts";
import { acceptablePrompt } from "../../src/turn/model/acceptable-prompt.ts";
import { toolOf } from "../support/tool-of.ts";

/** A name, and the steps that a provider streams. */
type Case = readonly [name: string, steps: readonly Step[]];

/** Ordinary tools. */
const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, temp: 72 }),
  }),
  fail: toolOf({}, (): string => {
    throw new Error("The disk is full.");
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
  silent: toolOf({}, () => undefined),
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
const NYC = { city: "NYC" };
const ONE = { n: 1 };

const answers: readonly Case[] = [
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

const calls: readonly Case[] = [
  ["a tool call", oneCall(toolCall("get_weather", NYC))],
  ["a tool call that is streamed", oneCall(toolCall("get_weather", NYC, { chunks: 4 }))],
  ["a tool call without arguments", oneCall(toolCall("fail", ""))],
  ["a tool call behind a text", oneCall(text("Let me see."), toolCall("titled", ONE))],
  [
    "two tool calls whose inputs are streamed at once",
    oneCall(streamedAtOnce(["a", '{"city":"NYC"}'], ["b", '{"city":"London"}'])),
  ],
  [
    "three steps",
    [
      [toolCall("get_weather", NYC, { id: "a" }), asked],
      [text("And then."), toolCall("titled", ONE, { id: "b" }), asked],
      [text("Done."), finish()],
    ],
  ],
  [
    "one call id in two steps",
    [
      [toolCall("titled", ONE, { id: "a", chunks: 2 }), asked],
      [toolCall("titled", { n: 2 }, { id: "a", chunks: 2 }), asked],
      [text("Done."), finish()],
    ],
  ],
  ["a tool that throws", oneCall(toolCall("fail", {}, { chunks: 1 }))],
  ["an unknown tool", oneCall(toolCall("nope", { n: 1 }))],
  ["input that is brokenOff JSON", oneCall(toolCall("get_weather", '{"city":'))],
  ["broken JSON that is streamed", oneCall(toolCall("get_weather", '{"city":', { chunks: 3 }))],
  ["a brokenOff call beside a good one", oneCall(toolCall("nope", {}), toolCall("titled", ONE))],
  ["a dynamic tool that is streamed", oneCall(toolCall("told", { n: 1 }, { chunks: 2 }))],
  ["a tool that returns nothing", oneCall(toolCall("silent", {}))],
  ["a tool that yields", oneCall(toolCall("slow", {}, { chunks: 1 }))],
];

const failures: readonly Case[] = [
  ["a model that is down", [down]],
  ["a model that breaks off in a text", [brokenOff(text("Hello, wor").slice(0, -1))]],
  ["an error part in a text", [[text("Hello").slice(0, -1), { type: "error", error: "Busy." }]]],
  [
    "a model that breaks off in a tool's input",
    [brokenOff(toolCall("get_weather", NYC, { chunks: 4 }).slice(0, 3))],
  ],
  ["a second step that breaks off", [...oneCall(toolCall("titled", ONE)).slice(0, 1), down]],
];

/** A step with these parts, which call tools, and a final step. */
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

function brokenOff(said: Script[number] & readonly unknown[]): Step {
  return async function* () {
    yield said;
    throw new Error("The connection broke.");
  };
}

/** Providers send different metadata with each part. */
const signed = (signature: string) => ({ providerMetadata: { scripted: { signature } } });

const remote = { toolCallId: "m", toolName: "mcp.look_up" };
const remoteCall = { ...remote, providerExecuted: true, dynamic: true };
const DATA_URL = new URL("data:text/plain;base64,aGVsbG8=");
const found = [{ title: "Example", url: "https://example.com" }];

const unknownTool: Part = {
  type: "tool-call",
  toolCallId: "u",
  toolName: "nowhere",
  providerExecuted: true,
  input: "{}",
};

const textInput: Script = [
  { type: "tool-input-start", id: "a", toolName: "titled", inputEncoding: "text" },
  { type: "tool-input-delta", id: "a", delta: "one" },
  { type: "tool-input-end", id: "a" },
  { type: "tool-call", toolCallId: "a", toolName: "titled", input: '{"n":1}' },
];

const metadataCases: readonly Case[] = [
  [
    "reasoning with signatures, in front of a tool call",
    oneCall(signedReasoning(), toolCall("titled", ONE)),
  ],
  [
    "reasoning that is only metadata",
    oneCall(
      { type: "reasoning-start", id: "r", ...signed("redacted") },
      { type: "reasoning-end", id: "r" },
      toolCall("titled", ONE),
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
      toolCall("titled", ONE),
    ),
  ],
  [
    "a file that is only pointed to",
    [[{ type: "file", mediaType: "text/plain", data: { type: "url", url: DATA_URL } }, finish()]],
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
  ["citations in front of a tool call", oneCall(...cited(), toolCall("titled", ONE))],
];

const providerToolCases: readonly Case[] = [
  ["a provider's call without streamed input", [[...search(), text("Done."), finish()]]],
  [
    "a provider's call beside one of ours",
    oneCall(...search(signed("c"), signed("r")), toolCall("titled", ONE)),
  ],
  [
    "a provider's call that fails with an object",
    [[...search({}, { result: { code: "unavailable" }, isError: true }), text("Sorry."), finish()]],
  ],
  [
    "a provider's call whose result comes in parts",
    [[...search({}, {}, { preliminary: true }), text("Done."), finish()]],
  ],
  ["a provider's dynamic tool", [[...dynamic(), text("Done."), finish()]]],
  [
    "a provider's dynamic tool that fails",
    [[...dynamic(true).slice(0, -1), dynamicResult(true), text("Sorry."), finish()]],
  ],
  [
    "a provider's dynamic tool with brokenOff input",
    [[{ type: "tool-call", ...remoteCall, input: '{"q":' }, finish()]],
  ],
  ["a provider's tool that we do not know", [[unknownTool, text("Hm."), finish()]]],
  ["input that is streamed as text", oneCall(...textInput)],
];

/** Calls that wait for approval, or get no result in the step that made them. */
const openCases: readonly Case[] = [
  ["a provider's tool that wants approval", [[...approval(), asked]]],
  ["a provider's tool that never answers", [[...search().slice(0, 1), text("Hm."), finish()]]],
  [
    "a provider's result that comes a step later",
    [
      [search()[0] ?? [], toolCall("titled", ONE), asked],
      [search()[1] ?? [], text("Done."), finish()],
    ],
  ],
];

function bytes(content: string) {
  return { data: { type: "data" as const, data: new TextEncoder().encode(content) } };
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

/** A provider's call, its preliminary results, and its result. */
function search(call: object = {}, result: object = {}, ...parts: readonly object[]) {
  const about = { toolCallId: "p", toolName: "search" };
  const given = { type: "tool-result" as const, ...about, result: ["a"], ...result };
  return [
    { type: "tool-call", ...about, input: '{"query":"x"}', providerExecuted: true, ...call },
    ...parts.map((part) => ({ ...given, ...part })),
    given,
  ] as readonly Part[];
}

function dynamic(isStreamed = false): readonly Part[] {
  const streamed: readonly Part[] = [
    { type: "tool-input-start", id: "m", ...remoteCall, title: "Looks up" },
    { type: "tool-input-delta", id: "m", delta: '{"q":1}' },
    { type: "tool-input-end", id: "m" },
  ];
  return [
    ...(isStreamed ? streamed : []),
    { type: "tool-call", ...remoteCall, input: '{"q":1}', ...signed("m") },
    dynamicResult(false),
  ];
}

function dynamicResult(isError: boolean): Part {
  const result = isError ? "It broke." : { found };
  return { type: "tool-result", ...remote, dynamic: true, result, isError, ...signed("n") };
}

function approval(): readonly Part[] {
  return [
    ...dynamic(true).slice(0, -1),
    { type: "tool-approval-request", approvalId: "approval_m", toolCallId: "m" },
  ];
}

/** Removes a last empty step: Byref starts a step before the model answers, the SDK when it answers. */
function withoutEmptyStep(parts: readonly unknown[]): readonly unknown[] {
  const last = parts.at(-1) as Fields | undefined;
  return last?.type === "step-start" ? parts.slice(0, -1) : parts;
}

type Fields = Readonly<Record<string, unknown>>;

const answered = [...answers, ...calls, ...metadataCases, ...providerToolCases];

it.each([...answered, ...openCases])(
  "a stock client sees what the SDK's own server shows: %s",
  async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(ours.parts).toEqual(sdk.parts);
    expect([ours.errors, sdk.errors]).toEqual([0, 0]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
    expectKept(ours);
  },
);

it.each(failures)("a stock client sees what the SDK's own server shows: %s", async (_, steps) => {
  const { sdk, ours } = await askBoth(steps);
  expect(withoutEmptyStep(ours.parts)).toEqual(withoutEmptyStep(sdk.parts).map(endedPart));
  expect([ours.errors, sdk.errors]).toEqual([1, 1]);
  expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
  expectKept(ours);
});

/** A client shows nothing of an empty answer. The history keeps its step. */
function expectKept({ kept, parts }: Awaited<ReturnType<typeof askBoth>>["ours"]) {
  expect(kept).toEqual(parts.length === 0 ? [{ type: "step-start" }] : parts);
}

const last: Step = [text("Fine."), finish()];

it.each(answered)("the model gets the same as from the SDK, also later: %s", async (_, steps) => {
  const { sdk, ours } = await askBoth([...steps, last], { next: "And now?" });
  expect(ours.prompts).toEqual(sdk.prompts);
  expect(ours.prompts).toHaveLength(steps.length + 1);
});

it("an input that does not fit the tool is stored with an error, although we find it later, when references are resolved", async () => {
  const steps = oneCall(toolCall("get_weather", { city: 7 }, { chunks: 3 }));
  const { sdk, ours } = await askBoth(steps);
  const expected = { type: "tool-get_weather", state: "output-error", input: { city: 7 } };
  expect(sdk.parts[1]).toMatchObject(expected);
  expect(ours.parts[1]).toMatchObject(expected);
  expect(ours.parts.slice(2)).toEqual(sdk.parts.slice(2));
});

it("MessageParts ignores chunks that belong to no part", () => {
  const parts = new MessageParts();
  parts.add({ type: "text-delta", id: "x", delta: "lost" });
  parts.add({ type: "text-end", id: "x" });
  parts.add({ type: "tool-output-available", toolCallId: "x", output: 1 });
  parts.show("x", "lost");
  expect([parts.parts, parts.display]).toEqual([[], []]);
});

const said: Step = [reasoning("Hm."), text("So."), toolCall("titled", ONE, { chunks: 2 })];
const whole: Step = [...said, finish("tool-calls")];
const broken: Step = async function* () {
  yield* said;
  throw new TypeError("terminated");
};

it("a model that fails for a moment leaves the same message as without the failure", async () => {
  const [sdk, ours] = await Promise.all([
    askSdk({ model: scriptedModel([whole, last]) }),
    askUs({ model: scriptedModel([broken, broken, whole, broken, last]) }),
  ]);
  expect(withoutIds(ours.parts)).toEqual(withoutIds(sdk.parts));
  expect(withoutIds(ours.kept)).toEqual(withoutIds(ours.parts));
  expect([ours.errors, ours.complaints]).toEqual([0, []]);
});

/** Removes the ids, because later attempts have different ones. */
function withoutIds(parts: readonly unknown[]): readonly unknown[] {
  return parts.map((part) => ({ ...(part as object), id: undefined }));
}

/** What a client sees of an answer. */
interface Seen {
  readonly parts: readonly unknown[];
  /** Number of error chunks. */
  readonly errors: number;
  /** Errors that the stream reader itself reported. */
  readonly complaints: readonly string[];
}

interface Asked {
  readonly model: LanguageModel;
  /** A second question, asked after the first answer and with it in the history. */
  readonly next?: string;
}

const QUESTION = "Hello.";

// Turns off the SDK's warnings about options that a provider does not support.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** Returns what a client sees of the SDK's own server. */
async function askSdk(asked: Asked): Promise<Seen> {
  const messages: ModelMessage[] = [{ role: "user", content: QUESTION }];
  const chunks = await sdkChunks(asked, messages);
  if (asked.next !== undefined) {
    const { message } = await readMessage(chunks);
    const past: Omit<UIMessage, "id">[] = [
      { role: "user", parts: [{ type: "text", text: QUESTION }] },
      ...(message === undefined ? [] : [message]),
      { role: "user", parts: [{ type: "text", text: asked.next }] },
    ];
    const options = { tools, ignoreIncompleteToolCalls: true };
    await sdkChunks(asked, await convertToModelMessages(past, options));
  }
  return seenIn(chunks);
}

async function sdkChunks(
  { model }: Asked,
  messages: ModelMessage[],
): Promise<readonly UIMessageChunk[]> {
  const { stream } = streamText({
    model,
    tools,
    messages,
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
    // A provider's stream that breaks also breaks the SDK's response, so its client sees an error.
    chunks.push({ type: "error", errorText: "The stream broke." });
  }
  return chunks;
}

/** Returns what a client sees of our server, and the parts that were stored. */
async function askUs(asked: Asked): Promise<Seen & { readonly kept: readonly unknown[] }> {
  const { model, next } = asked;
  const chat = new Conversation({ tools });
  const { chunks, history } = await chat.say({ model, steps: [], question: QUESTION });
  const answer = history.newest();
  const kept = answer?.role === "assistant" ? asJson(answer.parts) : [];
  if (next !== undefined) await chat.say({ model, steps: [], question: next });
  return { ...(await seenIn(chunks)), kept: kept.map(plain).map(withoutResultMetadata) };
}

async function seenIn(chunks: readonly UIMessageChunk[]): Promise<Seen> {
  // The reader emits its current message on metadata, but not on the start of a step alone.
  const end: UIMessageChunk = { type: "message-metadata", messageMetadata: {} };
  const { message, errors } = await readMessage([...chunks, end]);
  const sent = chunksOf(chunks, "error").length;
  return {
    parts: asJson(message?.parts ?? [])
      .map(plain)
      .map(withoutResultMetadata),
    errors: sent,
    // The reader also reports the errors that were sent.
    complaints: errors.slice(sent),
  };
}

/** Runs the same steps in both loops. The last step answers `next`. */
async function askBoth(steps: readonly Step[], asked: Omit<Asked, "model"> = {}) {
  const models = [scriptedModel(steps), scriptedModel(steps)] as const;
  const [sdk, ours] = await Promise.all([
    askSdk({ ...asked, model: models[0] }),
    askUs({ ...asked, model: models[1] }),
  ]);
  return {
    sdk: { ...sdk, prompts: promptsIn(models[0]) },
    ours: { ...ours, prompts: promptsIn(models[1]) },
  };
}

/**
 * Returns the prompts in the form that all providers accept, without what our loop adds: instructions, the list of
 * variables and their names.
 */
function promptsIn({ calls, provider, modelId }: ScriptedModel): readonly unknown[] {
  return calls.map(({ prompt, tools = [] }) =>
    asJson(acceptablePrompt(prompt, { provider, modelId, tools }))
      .filter(({ role, content }) => role !== "system" && !JSON.stringify(content).includes("<var"))
      .map(({ role, content }) => ({ role, content: (content as Fields[]).map(plainPart) })),
  );
}

/** Keeps only the value: ours is always JSON, the SDK's is text or JSON. */
function plainPart(part: Fields): unknown {
  if (part.type !== "tool-result") return part;
  const { value } = part.output as Fields;
  const { output } = plain({ output: value });
  const { errorText = output } = plain({ errorText: output });
  return { ...part, output: errorText };
}

function asJson(parts: readonly unknown[]): Fields[] {
  return JSON.parse(JSON.stringify(parts)) as Fields[];
}

/** Removes what our loop adds to a tool part: the variable's name and the error code. */
function plain(part: Fields): Fields {
  const { output, errorText } = part;
  const isOurs = typeof output === "object" && output !== null && "$var" in output;
  return {
    ...part,
    ...(isOurs && "value" in output ? { output: output.value } : {}),
    ...(typeof errorText === "string" ? { errorText: plainError(errorText) } : {}),
  };
}

/** Our errors have codes where the SDK's have class names, and list the available tools differently. */
function plainError(text: string): string {
  if (/^(?:AI_NoSuchToolError|unknown_tool): .*nope/u.test(text)) return "There is no tool nope.";
  if (/^AI_InvalidToolInputError: .*AI_JSONParseError/su.test(text)) return NOT_JSON;
  return text.replace(/^(?:tool_failed: |Error: )/u, "");
}

const NOT_JSON = "invalid_tool_input: The input is not JSON.";

/**
 * A provider's metadata of a call stays with the call. The SDK also adds it to results of tools that run
 * here.
 */
function withoutResultMetadata(part: Fields): Fields {
  const { resultProviderMetadata, ...rest } = part;
  return part.providerExecuted === true ? { ...rest, resultProviderMetadata } : rest;
}

/** Ends a part, because with Byref no part of a turn that broke off stays open. */
function endedPart(part: unknown): unknown {
  const { rawInput: _, ...fields } = part as Readonly<Record<string, unknown>>;
  if (fields.state === "streaming") return { ...fields, state: "done" };
  if (fields.state !== "input-streaming") return part;
  const errorText = "skipped: The answer ended before the input of this call was complete.";
  return { ...fields, state: "output-error", input: {}, errorText };
}
