import { isDeepStrictEqual } from "node:util";
import { isStepCount, streamText, toUIMessageStream, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { MessageParts } from "../../src/turn/message-parts.ts";
import { answers, asked, calls, failures, oneCall, tools } from "../support/conformance-cases.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "../support/scripted-model.ts";
import { chunksOf, readMessage, type Turn, turnWith } from "../support/turn.ts";

interface Seen {
  readonly parts: readonly unknown[];
  /** Error chunks. */
  readonly errors: number;
  /** What the reader itself complained of. */
  readonly complaints: readonly string[];
}

interface Server extends Seen {
  /** What the model was given, call by call. */
  readonly prompts: readonly unknown[];
}

/** What a client sees of the SDK's own server. */
async function seenFromSdk(steps: readonly Step[]): Promise<Server> {
  const model = scriptedModel(steps);
  const { stream } = streamText({
    model,
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
  return { ...(await seenIn(chunks)), prompts: promptsIn(model) };
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
async function seenFromUs(steps: readonly Step[]): Promise<Server & { readonly kept: unknown[] }> {
  const { chunks, history, calls } = await turnWith({ tools, steps });
  const answer = history.newest();
  const kept = answer?.role === "assistant" ? answer.parts : [];
  return {
    ...(await seenIn(chunks)),
    prompts: promptsIn({ calls }),
    kept: asJson(kept).map(plain).map(withoutResultMetadata),
  };
}

/** Prompts without what ours adds: instructions, the list of variables, their names. */
function promptsIn({ calls }: Pick<Turn, "calls">): readonly unknown[] {
  return calls.map(({ prompt }) =>
    asJson(prompt)
      .filter(({ role, content }) => role !== "system" && !JSON.stringify(content).includes("<var"))
      .map(({ role, content }) => ({ role, content: (content as Fields[]).map(plainPart) })),
  );
}

/** A value is a text or JSON, and ours always JSON: the value alone counts. */
function plainPart(part: Fields): unknown {
  if (part.type !== "tool-result") return part;
  const { value } = part.output as Fields;
  const { output } = plain({ output: value });
  const { errorText = output } = plain({ errorText: output });
  return { ...part, output: errorText };
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
/** A turn that broke off is over: nothing in its message is kept as still being written. */
function isHalfACall(part: unknown): boolean {
  return (part as Fields).state === "input-streaming";
}

function endedText(part: unknown): unknown {
  const fields = part as Fields;
  return fields.state === "streaming" ? { ...fields, state: "done" } : part;
}

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

describe("the model is given by ours what it would be given by the SDK:", () => {
  it.each([...answers, ...calls])("%s", async (_, steps) => {
    const [sdk, ours] = await Promise.all([seenFromSdk(steps), seenFromUs(steps)]);
    expect(ours.prompts).toEqual(sdk.prompts);
    expect(ours.prompts).toHaveLength(steps.length);
  });
});

describe("an input that does not fit the tool", () => {
  it("is kept with an error, although ours finds it later, when references are resolved", async () => {
    const steps = oneCall(toolCall("get_weather", { city: 7 }, { chunks: 3 }));
    const [sdk, ours] = await Promise.all([seenFromSdk(steps), seenFromUs(steps)]);
    const expected = { type: "tool-get_weather", state: "output-error", input: { city: 7 } };
    expect(sdk.parts[1]).toMatchObject(expected);
    expect(ours.parts[1]).toMatchObject(expected);
    expect(ours.parts.slice(2)).toEqual(sdk.parts.slice(2));
  });
});

describe("what is kept is what a stock client made of the chunks:", () => {
  it.each([...answers, ...calls, ...failures])("%s", async (_, steps) => {
    const { kept, parts } = await seenFromUs(steps);
    // An answer that says nothing is not kept.
    const ended = parts.filter((part) => !isHalfACall(part)).map(endedText);
    const said = ended.some((part) => !isDeepStrictEqual(part, { type: "step-start" }));
    expect(kept).toEqual(said ? ended : []);
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
