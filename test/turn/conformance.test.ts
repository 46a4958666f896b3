import { describe, expect, it } from "vitest";
import { MessageParts } from "../../src/turn/history/message-parts.ts";
import { answers, asked, calls, failures, oneCall, tools } from "../support/conformance-cases.ts";
import { metadataCases, openCases, providerToolCases } from "../support/model-cases.ts";
import { askBoth, askSdk, askUs, endedPart } from "../support/model-conformance.ts";
import { finish, reasoning, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { readMessage, turnWith } from "../support/turn.ts";

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

it("texts are stored with their references", async () => {
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
