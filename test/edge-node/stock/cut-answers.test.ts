import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, problemIn } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { approvalIn, ask, decide, paying } from "../../support/paying.ts";
import { expectSame, loaded, stockChat } from "../../support/stock-chat.ts";
import { finish, type Part, type Step, scriptedModel, text, toolCall } from "byref/testing";

const done: Step = [text("Done."), finish()];

/** A model's end with this reason, as an endpoint wrote it. */
function ending(raw: string, unified: "length" | "content-filter" | "other"): readonly Part[] {
  return finish().map((part) =>
    part.type === "finish" ? { ...part, finishReason: { unified, raw } } : part,
  );
}

const reasons = [
  ["length", "max_tokens", /output limit/],
  ["content-filter", "content_filter", /filter/],
  ["other", "tool_use", /gave no known reason/],
] as const;

async function withAnswer(
  steps: readonly Step[],
  work: (own: OwnRuntime, prompts: () => string) => Promise<void>,
): Promise<void> {
  const runs = { count: 0 };
  const act = tool({ inputSchema: z.object({}), execute: () => ++runs.count });
  const agent: Agent = { name: "a", description: "", instructions: "", tools: { act } };
  const model = scriptedModel(steps);
  await withRuntime({ agents: [agent], model }, async (own) => {
    await work(own, () => JSON.stringify(model.calls.at(-1)?.prompt));
    expect(runs.count).toBe(0);
  });
}

const post = (own: OwnRuntime, accept: string) =>
  own.call("POST", "/conversations/c/messages", json({ message: "Go." }, { accept }));

describe.each(reasons)("an answer that ends with %s", (unified, raw, words) => {
  const step: Step = [text("So far"), ending(raw, unified)].flat();

  it("says so as JSON, to the same post sent again, and in the history", async () => {
    await withAnswer([step], async (own) => {
      const body = { id: "c", messages: [{ id: "q", parts: [{ type: "text", text: "Go." }] }] };
      const send = () =>
        own.call("POST", "/conversations", json(body, { accept: "application/json" }));
      const said = { finishReason: unified, message: { metadata: { finishReason: unified } } };
      expect(await (await send()).json()).toMatchObject(said);
      own.wakeAgain();
      expect(await (await send()).json()).toMatchObject(said);
      expect((await loaded(own))[1]?.metadata).toMatchObject({ finishReason: unified });
    });
  });

  it("says so in the metadata of a stock client", async () => {
    await withAnswer([step], async (own) => {
      const chat = stockChat(own);
      await chat.sendMessage({ text: "Go." });
      await expectSame(own, chat);
      expect(chat.messages[1]?.metadata).toMatchObject({ finishReason: unified });
    });
  });

  it("says so in the last line of plain text", async () => {
    await withAnswer([step], async (own) => {
      const lines = (await (await post(own, "text/plain")).text()).trimEnd().split("\n");
      expect(lines[0]).toBe("So far");
      expect(lines.at(-1)).toMatch(new RegExp(`^\\[finish: ${unified}\\] `));
      expect(lines.at(-1)).toMatch(words);
    });
  });

  it.each([
    ["a whole call", toolCall("act", {}, { chunks: 1 })],
    ["half a call", toolCall("act", { a: 1 }, { chunks: 1 }).slice(0, 3)],
  ])("and %s shows why the call did not run", async (_, call) => {
    await withAnswer(
      [[text("So far"), ...call, ...ending(raw, unified)].flat(), done],
      async (own, prompts) => {
        const chat = stockChat(own);
        await chat.sendMessage({ text: "Go." });
        await expectSame(own, chat);
        const errorText = expect.stringMatching(/^skipped: \S/);
        expect(chat.messages[1]?.parts.at(-1)).toMatchObject({ state: "output-error", errorText });
        await chat.sendMessage({ text: "And now?" });
        await expectSame(own, chat);
        expect(prompts()).toContain("skipped");
      },
    );
  });
});

describe("a call that waited for a person", () => {
  const pay = (amount: number): Step => [toolCall("pay", { amount }), finish("tool-calls")];
  const thanks: Step = [text("Fine."), finish()];

  /** What ends the wait, and the words that say so. */
  const ends: Readonly<Record<string, readonly [(own: OwnRuntime) => Promise<unknown>, RegExp]>> = {
    "another message": [(own) => ask(own, "Never mind."), /another message was sent/iu],
    "the same, by the stock client": [
      async (own) => {
        const chat = stockChat(own, await loaded(own), { agent: "bank" });
        await chat.sendMessage({ text: "Never mind." });
      },
      /another message was sent/iu,
    ],
  };

  it.each(Object.entries(ends))("is closed with a reason by %s", async (_, [end, why]) => {
    const { paid, options, model } = paying([pay(50), thanks]);
    await withRuntime(options, async (own) => {
      await ask(own);
      const id = approvalIn(own);
      own.wakeAgain();
      await end(own);
      const messages = await loaded(own);
      const approval = { id, approved: false, reason: expect.stringMatching(why) };
      expect(messages[1]?.parts.at(-1)).toMatchObject({ state: "output-denied", approval });
      const { detail } = await problemIn(
        await decide(own, id, { approved: true }),
        "approval_not_found",
      );
      expect(detail).toMatch(why);
      expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain("Another message was sent");
      expect([paid, own.conversation().about().status]).toEqual([[], "idle"]);
    });
  });
});
