import { describe, expect, it } from "vitest";
import { metadataCases, openCases, providerToolCases } from "../support/model-cases.ts";
import { askBoth, askSdk, askUs, endedPart } from "../support/model-conformance.ts";
import { finish, reasoning, scriptedModel, type Step, text, toolCall } from "byref/testing";

const last: Step = [text("Fine."), finish()];
const finished = [...metadataCases, ...providerToolCases];

describe("a stock client sees the same as with the SDK's own server:", () => {
  it.each([...finished, ...openCases])("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth(steps);
    expect(ours.parts).toEqual(sdk.parts);
    expect([ours.errors, sdk.errors]).toEqual([0, 0]);
    expect([ours.complaints, sdk.complaints]).toEqual([[], []]);
    expect(ours.kept).toEqual(ours.parts);
  });
});

describe("the model gets the same as from the SDK, even with the next question:", () => {
  it.each(finished)("%s", async (_, steps) => {
    const { sdk, ours } = await askBoth([...steps, last], { next: "And now?" });
    expect(ours.prompts).toEqual(sdk.prompts);
    expect(ours.prompts).toHaveLength(steps.length + 1);
  });
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
