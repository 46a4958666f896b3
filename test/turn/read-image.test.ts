import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { bytesContent } from "../../src/store/bytes/content.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
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

/** Returns the image results in a prompt: the reference, and the image or the text in its place. */
function imagesShown(turn: Turn, call: number): readonly (readonly unknown[])[] {
  const results = promptOf(turn, call).flatMap(({ role, content }) =>
    role === "tool" ? content : [],
  );
  return results.map((result) => {
    if (result.type !== "tool-result") throw new Error("Not a result.");
    const { output } = result;
    if (output.type === "json") return [Object(output.value).reference, Object(output.value).image];
    const [about, file] = output.type === "content" ? output.value : [];
    const { reference } = JSON.parse(about?.type === "text" ? about.text : "{}");
    return [reference, file?.type === "file" ? "shown" : "nothing"];
  });
}

const LEFT_OUT =
  "left out: you see the newest 4 that you read in this turn; read it again to see it";

describe("an image that the model asks to read", () => {
  it("is not shown again in later turns, nor is a new one with the same name", async () => {
    const { chat } = await reading(bytesContent(PNG, "image/png"));
    const later = await chat.say({ steps: [[text("Yes."), finish()]] });
    expect(imagesShown(later, 0)).toEqual([["$photo", LEFT_OUT]]);
    const other = bytesContent(PNG, "image/png");
    const write = { name: "photo", value: other, trusted: false };
    const prepared = await chat.store.prepare(write);
    const replaced = await chat.say({
      steps: [
        [toolCall("read_variable", { name: "photo" }), asked],
        () => {
          chat.store.delete("photo");
          chat.nowMs += 1;
          prepared.commit();
          return [toolCall("list_variables", {}), asked];
        },
        [text("Yes."), finish()],
      ],
    });
    expect(JSON.stringify(promptOf(replaced, 1))).toContain(BASE64);
    expect(JSON.stringify(promptOf(replaced, 2))).not.toContain(BASE64);
    expect(imagesShown(replaced, 2).at(-2)).toEqual(["$photo", LEFT_OUT]);
  });

  it("is shown if it is beside a text in a result of an MCP server", async () => {
    const chat = new Conversation({});
    const image = { type: "image", data: BASE64, mimeType: "image/png" };
    await chat.store.save({ name: "shot", value: [{ type: "text", text: "Done." }, image] });
    const turn = await chat.say({
      steps: [
        [toolCall("read_variable", { name: "$shot[1]" }), asked],
        [text("I see."), finish()],
      ],
    });
    expect(imagesShown(turn, 1)).toEqual([["$shot[1]", "shown"]]);
    expect(JSON.stringify(chat.history.newest())).not.toContain(BASE64);
  });

  it("is shown while it is one of the newest four, and then marked as left out", async () => {
    const chat = new Conversation({});
    const names = ["a", "b", "c", "d", "e", "f"];
    for (const name of names)
      await chat.store.save({ name, value: bytesContent(PNG, "image/png") });
    let calls = 0;
    const read = (name: string) => toolCall("read_variable", { name }, { id: `call_${calls++}` });
    const turn = await chat.say({
      steps: [
        [...names.slice(0, 4).map(read), asked],
        [read("e"), read("f"), asked],
        [read("a"), read("f"), asked],
        [text("I see."), finish()],
      ],
    });
    const kept = names.slice(0, 4).map((name) => [`$${name}`, "shown"]);
    expect(imagesShown(turn, 1)).toEqual(kept);
    const two = [
      ["$a", LEFT_OUT],
      ["$b", LEFT_OUT],
      ["$c", "shown"],
      ["$d", "shown"],
      ["$e", "shown"],
      ["$f", "shown"],
    ];
    expect(imagesShown(turn, 2)).toEqual(two);
    // Each image is shown once, where it was read last.
    expect(imagesShown(turn, 3)).toEqual([
      ["$a", LEFT_OUT],
      ["$b", LEFT_OUT],
      ["$c", LEFT_OUT],
      ["$d", "shown"],
      ["$e", "shown"],
      ["$f", LEFT_OUT],
      ["$a", "shown"],
      ["$f", "shown"],
    ]);
    const later = await chat.say({ steps: [[text("Yes."), finish()]] });
    expect(imagesShown(later, 0).map(([, image]) => image)).toEqual(Array(8).fill(LEFT_OUT));
  });

  it.each([
    ["too large", { value: bytesContent(new Uint8Array(limits.maxRecordBytes + 1), "image/png") }],
    ["of a type that no provider accepts", { value: bytesContent(PNG, "image/svg+xml") }],
    ["not an image", { value: bytesContent(PNG, "application/pdf") }],
    ["sealed", { value: bytesContent(PNG, "image/png"), visibility: "sealed" as const }],
  ])("is not shown if it is %s", async (_, { value, ...more }) => {
    const { turn } = await reading(value, more);
    expect(JSON.stringify(outputShown(turn, 1))).not.toContain('"file"');
  });
});
