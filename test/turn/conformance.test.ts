import { describe, expect, it } from "vitest";
import { MessageParts } from "../../src/turn/history/message-parts.ts";
import {
  answers,
  calls,
  failures,
  metadataCases,
  oneCall,
  openCases,
  providerToolCases,
  tools,
} from "../support/conformance-cases.ts";
import {
  finish,
  reasoning,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "byref/testing";
import { readMessage, chunksOf, Conversation } from "../support/turn.ts";
import {
  convertToModelMessages,
  isStepCount,
  type LanguageModel,
  type ModelMessage,
  streamText,
  toUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { acceptablePrompt } from "../../src/turn/model/acceptable-prompt.ts";

/** Removes a last empty step: Byref starts a step before the model answers, the SDK when it answers. */
function withoutEmptyStep(parts: readonly unknown[]): readonly unknown[] {
  const last = parts.at(-1) as Fields | undefined;
  return last?.type === "step-start" ? parts.slice(0, -1) : parts;
}

type Fields = Readonly<Record<string, unknown>>;

const answered = [...answers, ...calls, ...metadataCases, ...providerToolCases];

describe("a stock client sees the same as with the SDK's own server, and that is stored:", () => {
  it.each([...answered, ...openCases])("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(ours.parts).toEqual(sdk.parts);
    expect([ours.errors, sdk.errors]).toEqual([0, 0]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
    expectKept(ours);
  });

  it.each(failures)("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(withoutEmptyStep(ours.parts)).toEqual(withoutEmptyStep(sdk.parts).map(endedPart));
    expect([ours.errors, sdk.errors]).toEqual([1, 1]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
    expectKept(ours);
  });
});

/** A client shows nothing of an empty answer. The history keeps its step. */
function expectKept({
  kept,
  parts,
}: {
  readonly kept: unknown;
  readonly parts: readonly unknown[];
}) {
  expect(kept).toEqual(parts.length === 0 ? [{ type: "step-start" }] : parts);
}

const last: Step = [text("Fine."), finish()];

describe("the model gets the same as from the SDK, even with the next question:", () => {
  it.each(answered)("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth([...steps, last], { next: "And now?" });
    expect(ours.prompts).toEqual(sdk.prompts);
    expect(ours.prompts).toHaveLength(steps.length + 1);
  });
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

describe("a turn that is stopped", () => {
  it.each<[string, string]>([
    ["in reasoning", "reasoning-delta"],
    ["in a text", "text-delta"],
    ["in a tool's input", "tool-input-delta"],
  ])("%s leaves the same parts as the SDK's, ended", async (_, type) => {
    const step: Step = async function* () {
      yield [
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "Hm." },
      ];
      await later();
      yield [
        { type: "reasoning-end", id: "r" },
        { type: "text-start", id: "t" },
        { type: "text-delta", id: "t", delta: "So" },
      ];
      await later();
      yield [
        { type: "tool-input-start", id: "a", toolName: "titled" },
        { type: "tool-input-delta", id: "a", delta: '{"n"' },
      ];
      await new Promise(() => undefined);
    };
    const [sdk, ours] = await Promise.all(
      [askSdk, askUs].map((ask) => {
        const controller = new AbortController();
        const { signal } = controller;
        const onChunk = (chunk: { type: string }) =>
          void (chunk.type === type && controller.abort());
        return ask({ model: scriptedModel([step]), signal, onChunk });
      }),
    );
    expect(ours?.parts).toEqual(sdk?.parts.map(endedPart));
    expect([ours?.errors, sdk?.errors]).toEqual([0, 0]);
  });
});

const said: Step = [reasoning("Hm."), text("So."), toolCall("titled", { n: 1 }, { chunks: 2 })];
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

/** Waits a moment, because chunks that are ready at the same time are read together. */
function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
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
  readonly signal?: AbortSignal;
  readonly onChunk?: (chunk: UIMessageChunk) => void;
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
  { model, signal, onChunk }: Asked,
  messages: ModelMessage[],
): Promise<readonly UIMessageChunk[]> {
  const { stream } = streamText({
    model,
    tools,
    messages,
    stopWhen: isStepCount(20),
    maxRetries: 0,
    onError: () => undefined,
    ...(signal === undefined ? {} : { abortSignal: signal }),
  });
  const chunks: UIMessageChunk[] = [];
  try {
    for await (const chunk of toUIMessageStream({ stream, tools, sendSources: true })) {
      chunks.push(chunk);
      onChunk?.(chunk);
    }
  } catch {
    // A provider's stream that breaks also breaks the SDK's response, so its client sees an error.
    chunks.push({ type: "error", errorText: "The stream broke." });
  }
  return chunks;
}

/** Returns what a client sees of our server, and the parts that were stored. */
async function askUs(asked: Asked): Promise<Seen & { readonly kept: readonly unknown[] }> {
  const { model, signal, onChunk, next } = asked;
  const chat = new Conversation({ tools });
  const { chunks, history } = await chat.say({
    model,
    steps: [],
    question: QUESTION,
    ...(signal === undefined ? {} : { signal }),
    ...(onChunk === undefined ? {} : { onChunk }),
  });
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
