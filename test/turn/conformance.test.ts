import { describe, expect, it } from "vitest";
import { MessageParts } from "../../src/turn/history/message-parts.ts";
import { answers, asked, calls, failures, oneCall, tools } from "../support/conformance-cases.ts";
import { askBoth, askUs, endedPart } from "../support/model-conformance.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { readMessage, turnWith } from "../support/turn.ts";

/** Removes a last empty step: Byref starts a step before the model answers, the SDK when it answers. */
function withoutEmptyStep(parts: readonly unknown[]): readonly unknown[] {
  const last = parts.at(-1) as Fields | undefined;
  return last?.type === "step-start" ? parts.slice(0, -1) : parts;
}

type Fields = Readonly<Record<string, unknown>>;

describe("a stock client sees the same as with the SDK's own server:", () => {
  it.each([...answers, ...calls])("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(ours.parts).toEqual(sdk.parts);
    expect([ours.errors, sdk.errors]).toEqual([0, 0]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
  });

  it.each(failures)("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(withoutEmptyStep(ours.parts)).toEqual(withoutEmptyStep(sdk.parts).map(endedPart));
    expect([ours.errors, sdk.errors]).toEqual([1, 1]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
  });
});

describe("the model gets the same as from the SDK, even with the next question:", () => {
  it.each([...answers, ...calls])("%s", async (_, steps) => {
    const last: Step = [text("Fine."), finish()];
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

describe("the stored message is the one that a stock client builds from the chunks:", () => {
  it.each([...answers, ...calls, ...failures])("%s", async (_, steps) => {
    const { kept, parts } = await askUs({ model: scriptedModel(steps) });
    // A client shows nothing of an empty answer. The history keeps its step.
    expect(kept).toEqual(parts.length === 0 ? [{ type: "step-start" }] : parts);
  });

  it("except that texts are stored with their references", async () => {
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

it("MessageParts ignores chunks that belong to no part", () => {
  const parts = new MessageParts();
  parts.add({ type: "text-delta", id: "x", delta: "lost" });
  parts.add({ type: "text-end", id: "x" });
  parts.add({ type: "tool-output-available", toolCallId: "x", output: 1 });
  parts.show("x", "lost");
  expect([parts.parts, parts.display]).toEqual([[], []]);
});
