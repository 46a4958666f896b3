import { APICallError } from "@ai-sdk/provider";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, reasoning, type Step, type StepItem, text, toolCall } from "byref/testing";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { refusedTurn, withOutline } from "../../src/turn/model/acceptable-prompt.ts";
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

describe("a prompt that the provider refuses", () => {
  it.each([
    "messages.3: `tool_use` blocks are not accepted.",
    "Invalid 'messages[4].tool_calls[0]': no.",
    "Invalid 'input[4]': no.",
    "Something is wrong.",
  ])("is sent again with the turn in outline, and the answer says so: %s", async (message) => {
    const chat = await talked();
    const steps = [1, 2].map(() => refusing("Seen 7.", message, [...answer]));
    const { result, calls } = await chat.say({ steps, question: "Third." });
    expect(result).toMatchObject({ finishReason: "stop" });
    expect(result.error).toBeUndefined();
    expect(calls).toHaveLength(2);
    expect(calls[1]?.prompt.slice(1, 6)).toMatchObject([
      { role: "user", content: [{ text: "First." }] },
      { role: "assistant", content: [{ text: "One." }] },
      { role: "user", content: [{ text: "Second." }] },
      { role: "assistant", content: [{ text: "Calls: look. It is there." }] },
      { role: "user", content: [{ text: "Third." }] },
    ]);
    const outlined = `The turn "Second." was sent to the model in outline only, because its provider refused it: ${message}`;
    expect(result.message.metadata).toMatchObject({ outlined });
    expect(chat.history.newest()?.metadata).toMatchObject({ outlined });
  });

  it.each([
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "Corrupted thought signature.",
  ])("because another model has signed each turn is sent without that: %s", async (message) => {
    const chat = new Conversation({ tools: { look } });
    const metadata = { anthropic: { signature: "of another model" } };
    const step = [...reasoning("Hm.", { metadata }), toolCall("look", { at: 7 })];
    for (const question of ["First.", "Second.", "Third."])
      await chat.say({ steps: [[...step, finish("tool-calls")], [...answer]], question });
    const steps = [1, 2].map(() => refusing("of another", message, [...answer]));
    const { result, calls } = await chat.say({ steps, question: "Fourth." });
    expect(result.error).toBeUndefined();
    expect(JSON.stringify(calls[1]?.prompt).match(/Seen 7/gu)).toHaveLength(2);
  });

  it("ends the turn with the provider's error if it is refused again", async () => {
    const chat = await talked();
    const steps = [1, 2, 3].map(() => refusing("Help.", "messages.2: No.", [...answer]));
    const { result, calls } = await chat.say({ steps, question: "Third." });
    expect(calls).toHaveLength(2);
    expect(result.error).toEqual({
      code: "model_failed",
      message:
        'The model failed: messages.2: No. So it did with the turn "Second." in outline only.',
    });
  });

  it.each(["messages.6: No.", "The prompt is too long."])(
    "is not sent again if no earlier turn can be the reason: %s",
    async (message) => {
      const chat = new Conversation({ tools: { look } });
      for (const question of ["First.", "Second.", "Third."])
        await chat.say({ steps: [[text("One."), finish()]], question });
      const steps = [1, 2].map(() => refusing("Help.", message, [...answer]));
      const { result, calls } = await chat.say({ steps, question: "Fourth." });
      expect(calls).toHaveLength(1);
      expect(result.error?.message).toBe(`The model failed: ${message}`);
    },
  );
});

it.each([
  ["messages.6.content.0.image.source.base64: image exceeds 5 MB maximum", 400],
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
  expect(result.message.metadata).toMatchObject({
    outlined: `The images of this turn were not sent to the model, because its provider refused them: ${message}`,
  });
});

it("a turn in outline has at most 480 characters of question and answer, and no blank text", () => {
  const long = "word ".repeat(1_000);
  const message = (role: "user" | "assistant", said: string) => ({
    role,
    content: [{ type: "text" as const, text: said }],
  });
  const prompt = [message("user", long), message("assistant", " "), message("user", "And?")];
  const outlined = withOutline(prompt, 0);
  expect(outlined.map(({ content }) => content)).toEqual([
    [{ type: "text", text: long.slice(0, 480) }],
    [{ type: "text", text: "(no text)" }],
    [{ type: "text", text: "And?" }],
  ]);
  expect(refusedTurn(prompt, "messages.9: No.")).toBeUndefined();
});
