import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  finish,
  reasoning,
  scriptedModel,
  type Step,
  type StepItem,
  text,
  toolCall,
} from "byref/testing";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { Conversation } from "../support/turn.ts";
import { toolOf } from "../support/tool-of.ts";

const look = toolOf({ at: z.number() }, ({ at }) => `Seen ${at}.`);

/** Refuses a prompt that has this text, as an endpoint does. */
function refusing(
  refused: string,
  message: string,
  step: readonly StepItem[],
  statusCode = 400,
): Step {
  return (options) => {
    if (!JSON.stringify(options.prompt).includes(refused)) return step;
    const about = { message, url: "", requestBodyValues: {} };
    throw new APICallError({ ...about, statusCode, responseHeaders: {} });
  };
}

async function talked(): Promise<Conversation> {
  const chat = new Conversation({ tools: { look } });
  await chat.say({ steps: [[text("One."), finish()]], question: "First." });
  await chat.say({
    steps: [
      [toolCall("look", { at: 7 }), finish("tool-calls")],
      [text("It is there."), finish()],
    ],
    question: "Second.",
  });
  return chat;
}

const answer = [text("Done."), finish()] as const;

const REDUCED = "earlier turns as texts and without images";

describe("a prompt that the provider refuses", () => {
  it("is sent again with earlier turns as texts, and the answer says so", async () => {
    const chat = await talked();
    const steps = [1, 2].map(() => refusing('"tool-result"', "No.", [...answer]));
    const { result, calls } = await chat.say({ steps, question: "Third." });
    expect(result).toMatchObject({ finishReason: "stop" });
    expect(result.error).toBeUndefined();
    expect(calls).toHaveLength(2);
    expect(calls[1]?.prompt.slice(1)).toMatchObject([
      { role: "user", content: [{ text: "First." }] },
      { role: "assistant", content: [{ text: "One." }] },
      { role: "user", content: [{ text: "Second." }] },
      {
        role: "user",
        content: [
          {
            text: 'You called "look" with {"at":7}. The result: {"$var":"look_1","value":"Seen 7."}',
          },
        ],
      },
      { role: "assistant", content: [{ text: "It is there." }] },
      { role: "user", content: [{ text: "Third." }] },
    ]);
    const outlined = `The model's provider refused the prompt, and received ${REDUCED}: No.`;
    expect(result.message.metadata).toMatchObject({ outlined });
    expect(chat.history.newest()?.metadata).toMatchObject({ outlined });
  });

  it("because another model has signed each turn is sent without that, in each step", async () => {
    const chat = new Conversation({ tools: { look } });
    const metadata = { anthropic: { signature: "of another model" } };
    const called = (at: number) => [toolCall("look", { at }), finish("tool-calls")];
    for (const question of ["First.", "Second."]) {
      const step = [...reasoning("Hm.", { metadata }), text("So."), ...called(7)];
      await chat.say({ steps: [step, [...answer]], question });
    }
    const refused = (step: readonly StepItem[]) => refusing("of another", "Corrupted.", step);
    const steps = [refused(called(8)), refused(called(8)), refused([...answer])];
    const { result, calls } = await chat.say({ steps, question: "Third." });
    expect(result.error).toBeUndefined();
    expect(calls.map(({ prompt }) => JSON.stringify(prompt).match(/Seen 7/gu)?.length)).toEqual([
      2, 2, 2,
    ]);
    // The calls of this turn stay as they are.
    expect(calls[2]?.prompt.at(-1)).toMatchObject({ role: "tool" });
  });

  it.each([
    ["groq.chat", false],
    ["anthropic.messages", true],
  ])(
    "has the reasoning of its own turn, for %s: %s (qwen-code#11045)",
    async (provider, isKept) => {
      const chat = new Conversation({ tools: { look } });
      const thought = reasoning("Hm.", { metadata: { p: { signature: "s" } } });
      const called = (at: number) => [...thought, toolCall("look", { at }), finish("tool-calls")];
      const refused = refusing('"reasoning"', "property 'reasoning_content' is unsupported", []);
      const scripted = scriptedModel([called(7), refused, called(8), [...answer]]);
      const { result } = await chat.say({ model: { ...scripted, provider }, steps: [] });
      expect(result.error === undefined).toBe(!isKept);
      const prompts = scripted.calls.map(({ prompt }) => JSON.stringify(prompt));
      expect(prompts.at(-1)?.includes('"reasoning"')).toBe(isKept);
      expect(prompts.at(-1)).toContain("Seen 7.");
    },
  );

  it.each([
    ["with a call in it", 2, ` So it did with ${REDUCED}.`],
    ["of texts alone", 1, ""],
  ])("ends the turn with the provider's error if it is refused again: %s", async (...row) => {
    const [what, count, also] = row;
    const chat = what.endsWith("it") ? await talked() : new Conversation({ tools: { look } });
    const steps = [1, 2, 3].map(() => refusing("Help.", "messages.2: No.", [...answer]));
    const { result, calls } = await chat.say({ steps, question: "Third." });
    expect(calls).toHaveLength(count);
    const message = `The model failed: messages.2: No.${also}`;
    expect(result.error).toEqual({ code: "model_failed", message });
  });
});

it.each([
  ["Could not process image", 400],
  ["request_too_large", 413],
])("an image that is refused is left out of the turn that read it: %s", async (message, status) => {
  const chat = await talked();
  const image = bytesContent(new Uint8Array([137, 80, 78, 71, 0, 255]), "image/png");
  await chat.store.save({ name: "photo", value: image });
  const read = [toolCall("read_variable", { name: "photo" }), finish("tool-calls")];
  const again = [toolCall("look", { at: 8 }), finish("tool-calls")];
  const { result, calls } = await chat.say({
    steps: [read, ...[1, 2].map(() => refusing("iVBORwD/", message, again, status)), [...answer]],
    question: "Third.",
  });
  expect(result.error).toBeUndefined();
  const prompts = calls.map(({ prompt }) => JSON.stringify(prompt));
  expect(prompts.map((prompt) => prompt.includes("iVBORwD/"))).toEqual([false, true, false, false]);
  expect(prompts.map((prompt) => prompt.includes("Seen 7."))).toEqual([true, true, true, true]);
  expect(prompts[2]).toContain("the provider refused this image");
});
