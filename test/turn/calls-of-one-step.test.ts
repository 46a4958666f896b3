import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, typesOf } from "../support/turn.ts";

const note = { get_note: tool({ inputSchema: z.object({}), execute: () => ({ said: "x" }) }) };
const set = (id: string, value: unknown, mode: string) =>
  toolCall("set_variable", { name: "notes", value, mode }, { id });

describe("calls of one step that change the same variable", () => {
  it.for([
    ["replace, then append", [set("1", ["a"], "replace"), set("2", ["b"], "append")], ["a", "b"]],
    [
      "append twice after a replacement",
      [set("1", ["a"], "replace"), set("2", ["b"], "append"), set("3", ["c"], "append")],
      ["a", "b", "c"],
    ],
    [
      "delete, then append",
      [toolCall("delete_variable", { name: "notes" }, { id: "1" }), set("2", ["b"], "append")],
      ["b"],
    ],
  ] as const)("each extend what the previous one wrote: %s", async ([, calls, expected]) => {
    const conversation = new Conversation({ tools: note });
    await conversation.store.save({ name: "notes", value: { an: "object" } });
    const { chunks } = await conversation.say({
      steps: [
        [...calls.flat(), finish("tool-calls")],
        [text("Done."), finish()],
      ],
    });
    expect(typesOf(chunks)).not.toContain("tool-output-error");
    expect(await conversation.store.read("notes")).toEqual(expected);
  });
});
