import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { bytesContent } from "../../src/store/bytes/content.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { finish, text, toolCall } from "../support/scripted-model.ts";
import { Conversation, promptOf, type Turn } from "../support/turn.ts";

const asked = finish("tool-calls");
const PNG = new Uint8Array([137, 80, 78, 71, 0, 255]);
const BASE64 = "iVBORwD/";

async function reading(content: Write["value"], more: Partial<Write> = {}) {
  const chat = new Conversation({});
  await chat.store.save({ name: "photo", value: content, ...more });
  const turn = await chat.say({
    steps: [
      [toolCall("read_variable", { name: "$photo" }), asked],
      [text("I see."), finish()],
    ],
  });
  return { chat, turn };
}

function outputShown(turn: Turn, call: number): unknown {
  const parts = promptOf(turn, call).flatMap(({ role, content }) =>
    role === "tool" ? content : [],
  );
  const [result] = parts;
  return result?.type === "tool-result" ? result.output : undefined;
}

describe("an image that the model asks to read", () => {
  it("is shown to it as an image, and kept as what it was", async () => {
    const { chat, turn } = await reading(bytesContent(PNG, "image/png"));
    expect(outputShown(turn, 1)).toMatchObject({
      type: "content",
      value: [
        { type: "text", text: expect.stringContaining('"$photo"') },
        { type: "file", mediaType: "image/png", data: { type: "data", data: BASE64 } },
      ],
    });
    expect(JSON.stringify([turn.chunks, chat.history.window()])).not.toContain(BASE64);
    expect(turn.result.metadata.savings.promptChars).toBeLessThan(3_000);
  });

  it("is not shown again in later turns, nor is another that has its name since", async () => {
    const { chat } = await reading(bytesContent(PNG, "image/png"));
    const later = await chat.say({ steps: [[text("Yes."), finish()]] });
    expect(outputShown(later, 0)).toMatchObject({ type: "json", value: { reference: "$photo" } });
    const other = bytesContent(PNG, "image/png");
    const replaced = await chat.say({
      steps: [
        [toolCall("read_variable", { name: "photo" }), asked],
        () => {
          chat.store.delete("photo");
          chat.nowMs += 1;
          void chat.store.save({ name: "photo", value: other, trusted: false });
          return [toolCall("list_variables", {}), asked];
        },
        [text("Yes."), finish()],
      ],
    });
    expect(JSON.stringify(promptOf(replaced, 1))).toContain(BASE64);
    expect(JSON.stringify(promptOf(replaced, 2))).not.toContain(BASE64);
  });

  it("is one of few in a turn", async () => {
    const chat = new Conversation({});
    const names = Array.from({ length: limits.maxShownImages + 3 }, (_, index) => `photo_${index}`);
    for (const name of names)
      await chat.store.save({ name, value: bytesContent(PNG, "image/png") });
    const reads = names.map((name) => toolCall("read_variable", { name }, { id: name }));
    const turn = await chat.say({
      steps: [
        [...reads, asked],
        [text("I see."), finish()],
      ],
    });
    const shown = JSON.stringify(promptOf(turn, 1)).split(BASE64).length - 1;
    expect(shown).toBe(limits.maxShownImages);
  });

  it.each([
    [
      "too large",
      { value: bytesContent(new Uint8Array(limits.maxShownImageBytes + 1), "image/png") },
    ],
    ["of a type that no provider takes", { value: bytesContent(PNG, "image/svg+xml") }],
    ["no image", { value: bytesContent(PNG, "application/pdf") }],
    ["sealed", { value: bytesContent(PNG, "image/png"), visibility: "sealed" as const }],
  ])("is not shown where it is %s", async (_, { value, ...more }) => {
    const { turn } = await reading(value, more);
    expect(JSON.stringify(outputShown(turn, 1))).not.toContain('"file"');
  });
});
