import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { Crashing, hang } from "../support/crashing.ts";
import { Conversation, promptOf, shownText, typesOf } from "../support/turn.ts";

const totals = tool({ inputSchema: z.object({}), execute: () => ({ total: 1234.5, count: 40 }) });
const agent: Agent = {
  name: "strict",
  description: "For tests.",
  instructions: "Help.",
  tools: { totals },
  figures: "referenced",
};
const call: Step = [toolCall("totals", {}), finish("tool-calls")];
const typed: Step = [text("The total is 1,234.5.", { chunks: 3 }), finish()];
const referred: Step = [
  text("The total is $totals_1.total, of 2 or $totals_1.count.", { chunks: 3 }),
  finish(),
];

describe("an answer whose figures are referenced", () => {
  it("is shown in full if the model typed none", async () => {
    const chat = new Conversation({ agent });
    const { chunks, calls } = await chat.say({ steps: [call, referred] });
    expect(shownText(chunks)).toBe("The total is 1234.5, of 2 or 40.");
    expect(JSON.stringify(promptOf({ calls }, 0)[0])).toContain("typed number");
  });

  it("gets one more attempt, and the refused text is not shown", async () => {
    const chat = new Conversation({ agent });
    const { chunks, calls, result } = await chat.say({ steps: [call, typed, referred] });
    expect(shownText(chunks)).toBe("The total is 1234.5, of 2 or 40.");
    expect(JSON.stringify(chunks)).not.toContain("1,234.5");
    expect(typesOf(chunks)).not.toContain("reset-step");
    expect(result.finishReason).toBe("stop");
    const [refused, told] = promptOf({ calls }, 2).slice(-2);
    expect(refused).toMatchObject({
      role: "assistant",
      content: [{ text: "The total is 1,234.5." }],
    });
    expect(JSON.stringify(told)).toContain("typed numbers: 1,234.5.");
    expect(JSON.stringify(chat.history.newest())).not.toContain("1,234.5");
  });

  it("fails with figures_typed if the model types them again, and keeps its calls", async () => {
    const chat = new Conversation({ agent });
    const { chunks, result } = await chat.say({ steps: [call, typed, typed] });
    expect(result.error).toMatchObject({ code: "figures_typed" });
    expect(chunks.at(-1)).toMatchObject({
      type: "error",
      errorText: expect.stringMatching(/^figures_typed: /u),
    });
    expect(JSON.stringify([chunks, chat.history.newest()])).not.toContain("1,234.5");
    const parts = chat.history.newest()?.parts ?? [];
    expect(parts.map(({ type }) => type)).toContain("tool-totals");
    const next = await chat.say({ steps: [referred] });
    expect(next.result.finishReason).toBe("stop");
  });

  it("may repeat the figures of the question, and values that look like typed figures", async () => {
    const chat = new Conversation({ agent });
    await chat.store.save({ name: "long", value: "12 34 56 ".repeat(20_000) });
    const steps: Step[] = [[text("Of 5000 orders: $long, $long", { chunks: 2 }), finish()]];
    const { result, chunks } = await chat.say({ question: "Which of 5,000?", steps });
    expect(result.finishReason).toBe("stop");
    expect(shownText(chunks)).toContain("Of 5000 orders: 12 34 56");
  });

  it("is also refused for a figure beside a call or between values", async () => {
    const chat = new Conversation({ agent });
    const beside: Step = [text("I expect 77."), toolCall("totals", {}), finish("tool-calls")];
    const { calls, chunks } = await chat.say({ steps: [beside, call, referred] });
    expect(calls).toHaveLength(3);
    expect(JSON.stringify(chunks)).not.toContain("77");
    const between: Step = [text("$totals_1.total 88 $totals_1.count"), finish()];
    const second = await chat.say({ steps: [between, between] });
    expect(second.result.error).toMatchObject({ code: "figures_typed" });
  });

  it("keeps no unchecked text when it is stopped or the model fails", async () => {
    const chat = new Conversation({ agent });
    const stop = new AbortController();
    const halting: Step = async function* () {
      yield text("Perhaps 77 or", { chunks: 3 }).slice(0, -1);
      stop.abort();
      yield text("never");
    };
    const stopped = await chat.say({ steps: [halting], signal: stop.signal });
    expect(JSON.stringify([stopped.chunks, chat.history.newest()])).not.toContain("77");
    const failing: Step = async function* () {
      yield text("Perhaps 77 or", { chunks: 3 }).slice(0, -1);
      throw new Error("It broke.");
    };
    const failed = await chat.say({ steps: [failing, failing, failing, failing, failing] });
    expect(failed.result.error).toMatchObject({ code: "model_failed" });
    expect(JSON.stringify([failed.chunks, chat.history.newest()])).not.toContain("77");
  });

  it("is shown once if the model was cut off and called again", async () => {
    const chat = new Conversation({ agent });
    await chat.store.save({ name: "n", value: 11 });
    const breaking: Step = async function* () {
      yield text("Perhaps 77 or $n", { chunks: 3 }).slice(0, -1);
      throw new TypeError("terminated");
    };
    const { chunks, calls } = await chat.say({ steps: [breaking, [text("It is $n."), finish()]] });
    expect(calls).toHaveLength(2);
    expect(shownText(chunks)).toBe("It is 11.");
  });

  it("does not join what the model typed on both sides of a value", async () => {
    const chat = new Conversation({ agent });
    await chat.store.save({ name: "word", value: "or" });
    const { result } = await chat.say({ steps: [[text("4,$word,2"), finish()]] });
    expect(result.finishReason).toBe("stop");
  });

  it("starts over after a crash, without the text that was not shown", async () => {
    const chat = new Crashing({ totals }, { figures: "referenced" });
    const half: Step = async function* () {
      yield text("Perhaps 77 or", { chunks: 3 }).slice(0, -1);
      await hang();
    };
    const before = await chat.run(call, half);
    expect(JSON.stringify(before.frames)).not.toContain("77");
    const after = await chat.recover(referred);
    expect(after.result?.finishReason).toBe("stop");
    expect(JSON.stringify(chat.history.newest())).not.toContain("77");
  });

  it("may contain figures without the option", async () => {
    const chat = new Conversation({ tools: { totals } });
    const { chunks, calls } = await chat.say({ steps: [typed] });
    expect(shownText(chunks)).toBe("The total is 1,234.5.");
    expect(JSON.stringify(promptOf({ calls }, 0))).not.toContain("typed number");
  });
});
