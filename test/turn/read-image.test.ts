import { describe, expect, it } from "vitest";
import { limits } from "../../src/limits.ts";
import { bytesContent } from "../../src/store/content.ts";
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

  it("is shown in later turns too, as long as it is that image", async () => {
    const { chat } = await reading(bytesContent(PNG, "image/png"));
    const steps = [[text("Yes."), finish()]];
    const later = await chat.say({ steps });
    expect(JSON.stringify(outputShown(later, 0))).toContain(BASE64);
    await chat.store.save({ name: "photo", value: bytesContent(PNG, "image/png") });
    const changed = await chat.say({ steps });
    expect(JSON.stringify(outputShown(changed, 0))).not.toContain(BASE64);
    chat.store.delete("photo");
    const gone = await chat.say({ steps });
    expect(outputShown(gone, 0)).toMatchObject({ type: "json", value: { reference: "$photo" } });
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
