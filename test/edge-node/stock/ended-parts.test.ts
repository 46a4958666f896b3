import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { gate, halting } from "../../support/fault-stages.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { loaded, stockChat } from "../../support/stock-chat.ts";
import {
  finish,
  type Part,
  reasoning,
  type Step,
  scriptedModel,
  text,
  toolCall,
} from "../../../packages/testing/src/testing.ts";

/** Parts that the model has begun when its turn ends. */
const begun: Readonly<Record<string, readonly Part[]>> = {
  "a text": text("So far").slice(0, -1),
  reasoning: reasoning("Hm").slice(0, -1),
  "two texts and reasoning": [
    ...reasoning("Hm").slice(0, -1),
    ...text("One").slice(0, -1),
    ...text("Two", { id: "text_2" }).slice(0, -1),
  ],
  "an input": toolCall("act", { a: 1 }, { chunks: 2 }).slice(0, 2),
  "a whole call": toolCall("act", {}, { chunks: 2 }),
  "a text after a whole call": [...toolCall("act", {}), ...text("So far").slice(0, -1)],
  "a call of an unknown dynamic tool": [
    { type: "tool-input-start", id: "x", toolName: "nothing", dynamic: true },
    { type: "tool-input-delta", id: "x", delta: '{"a"' },
  ],
};

async function withStep(step: Step, work: (own: OwnRuntime) => Promise<void>): Promise<void> {
  const act = tool({ inputSchema: z.object({}), execute: () => 1 });
  const pay = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { act, pay } };
  const done: Step = [text("Done."), finish()];
  await withRuntime({ agents: [agent], model: scriptedModel([step, done]) }, work);
}

type Chat = ReturnType<typeof stockChat>;

/** Requires that no part of a client's answer is open, and that the history has the same parts. */
async function expectEnded(own: OwnRuntime, chat: Chat): Promise<void> {
  const parts = JSON.parse(JSON.stringify(chat.messages[1]?.parts ?? [])) as { state?: string }[];
  expect(parts.length).toBeGreaterThan(1);
  for (const { state = "done" } of parts)
    expect(["done", "output-error", "output-denied"]).toContain(state);
  expect((await loaded(own))[1]?.parts).toEqual(parts);
  await chat.sendMessage({ text: "And now?" });
  expect([chat.status, chat.error]).toEqual(["ready", undefined]);
}

async function stopAndExpectEnded(own: OwnRuntime, reached: Promise<unknown>): Promise<void> {
  const chat = stockChat(own);
  const asked = chat.sendMessage({ text: "Go." });
  await reached;
  await own.call("POST", "/conversations/c/stop");
  await asked;
  await expectEnded(own, chat);
}

describe.each(Object.entries(begun))(
  "%s that the model has begun ends for a client that watches",
  (_, parts) => {
    it("a turn that is stopped", async () => {
      const { reached, wait } = gate();
      await withStep(halting(wait, parts, []), async (own) => {
        await stopAndExpectEnded(own, reached);
      });
    });

    it("a turn that fails", async () => {
      await withStep(
        [...parts, { type: "error", error: new Error("It is down.") }],
        async (own) => {
          const chat = stockChat(own);
          await chat.sendMessage({ text: "Go." });
          expect(chat.status).toBe("error");
          chat.clearError();
          await expectEnded(own, chat);
        },
      );
    });

    it("a turn whose model ends without ending its parts", async () => {
      await withStep([...parts, ...finish("length")], async (own) => {
        const chat = stockChat(own);
        await chat.sendMessage({ text: "Go." });
        await expectEnded(own, chat);
      });
    });
  },
);

it("a user's message metadata is kept, in an edit too, and no model sees it", async () => {
  const done: Step = [text("Done."), finish()];
  const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
  const model = scriptedModel([done, done]);
  await withRuntime({ agents: [agent], model }, async (own) => {
    const chat = stockChat(own);
    const metadata = { sentFrom: "PHONE", tags: [1, null] };
    await chat.sendMessage({ text: "Hi.", metadata });
    own.wakeAgain();
    expect((await loaded(own))[0]?.metadata).toEqual(metadata);
    const messageId = chat.messages[0]?.id ?? "";
    await chat.sendMessage({ text: "Ho.", messageId, metadata: { sentFrom: "DESK" } });
    expect((await loaded(own))[0]?.metadata).toEqual({ sentFrom: "DESK" });
    expect(JSON.stringify(model.calls)).not.toMatch(/PHONE|DESK/u);
  });
});
