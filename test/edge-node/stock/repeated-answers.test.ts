import { tool, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { gate, halting } from "../../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { expectSame, loaded, stockChat } from "../../support/stock-chat.ts";
import { finish, type Step, scriptedModel, text } from "../../../packages/testing/src/testing.ts";

const says = (words: string): Step => [text(words), finish()];

interface Talk {
  readonly own: OwnRuntime;
  readonly chat: ReturnType<typeof stockChat>;
  /** The prompt of the newest model call. */
  readonly prompt: () => string;
}

/** Asks "One?" and "Two?", answered with A and B, and then loads the page again. */
async function talking(more: readonly Step[], work: (talk: Talk) => Promise<void>): Promise<void> {
  const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { pay } };
  const model = scriptedModel([says("A."), says("B."), ...more]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const first = stockChat(own);
    await first.sendMessage({ text: "One?" });
    await first.sendMessage({ text: "Two?" });
    const chat = stockChat(own, await loaded(own));
    await work({ own, chat, prompt: () => JSON.stringify(model.calls.at(-1)?.prompt) });
  });
}

const textsOf = (messages: readonly UIMessage[]) => messages.map(textOf);
const texts = async (own: OwnRuntime) => textsOf(await loaded(own));
const OLD = ["One?", "A.", "Two?", "B."];

it("the old answer is replaced when the new one is complete, and is in no prompt for it", async () => {
  const { reached, open, wait } = gate();
  await talking(
    [halting(wait, [text("C")], [text(".", { id: "2" }), finish()].flat())],
    async (talk) => {
      const { own, chat, prompt } = talk;
      const asked = chat.regenerate();
      await reached;
      expect(await texts(own)).toEqual(OLD);
      expect(prompt()).not.toContain("B.");
      open();
      await asked;
      await expectSame(own, chat);
      expect(await texts(own)).toEqual(["One?", "A.", "Two?", "C."]);
      expect(own.conversation().about().messages).toBe(4);
    },
  );
});

describe("another answer to an older question", () => {
  it("is refused in a tab that does not know the newer turns", async () => {
    await talking([says("Never.")], async ({ own }) => {
      const stale = stockChat(own, (await loaded(own)).slice(0, 2));
      await stale.regenerate();
      expect(stale.error?.message).toContain("conflict");
      expect(await texts(own)).toEqual(OLD);
    });
  });

  it("is refused with 409, also over the messages of an answer", async () => {
    await talking([], async ({ own }) => {
      const messages = (await loaded(own)).slice(0, 2);
      for (const some of [messages, messages.slice(0, 1)]) {
        const body = { id: "c", messages: some, trigger: "regenerate-message" };
        const problem = await problemIn(
          await own.call("POST", "/conversations", json(body)),
          "conflict",
        );
        expect(problem.detail).toContain("messageId");
      }
    });
  });

  it("replaces all that follows if the client names the message", async () => {
    await talking([says("C.")], async ({ own, chat, prompt }) => {
      await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
      await expectSame(own, chat);
      expect(await texts(own)).toEqual(["One?", "C."]);
      expect(prompt()).not.toMatch(/A\.|Two|B\./u);
    });
  });
});
