import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { SpendLimits } from "../../src/turn/spend/spend.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { slow } from "../support/slow.ts";
import { Conversation, dataOf, promptOf } from "../support/turn.ts";
import { asked, calls, done } from "../support/leases.ts";

const inputSchema = z.object({ n: z.number() });

afterEach(() => {
  vi.useRealTimers();
});

function counting(spendLimits: SpendLimits) {
  let runs = 0;
  const act = tool({ inputSchema, execute: () => ++runs });
  return { chat: new Conversation({ tools: { act }, spendLimits }), runs: () => runs };
}

describe("a turn's budget", () => {
  it.each<{ what: string; turn: SpendLimits["turn"] & object; steps: readonly Step[] }>([
    { what: "model calls", turn: { modelCalls: 2 }, steps: [calls(1), calls(1), done] },
    { what: "tool calls", turn: { toolCalls: 3 }, steps: [calls(2), calls(2), done] },
    { what: "tokens", turn: { tokens: 150 }, steps: [calls(1), calls(1), done] },
  ])(
    "of $what is checked before each call, and results so far are kept",
    async ({ turn, steps }) => {
      const { chat, runs } = counting({ turn });
      const { result } = await chat.say({ steps });
      expect(result.error?.code).toBe("spend_exceeded");
      expect(result.error?.message).toMatch(/^This turn may spend \d+ /);
      expect(runs()).toBe(2);
      expect(chat.store.count()).toBeGreaterThan(0);
      expect(chat.history.newest()?.metadata).toMatchObject({ error: "spend_exceeded" });
      // The next turn has its own limit.
      expect((await chat.say({ steps: [done] })).result.error).toBeUndefined();
    },
  );

  it("of a conversation is counted exactly over its turns", async () => {
    const { chat } = counting({ conversation: { modelCalls: 3 } });
    for (let turn = 1; turn <= 3; turn++) {
      expect((await chat.say({ steps: [done] })).result.error).toBeUndefined();
    }
    const { result, calls: made } = await chat.say({ steps: [done] });
    expect(result.error).toEqual({
      code: "spend_exceeded",
      message: "This conversation may spend 3 calls of the model, and has spent 3.",
      details: { limit: "conversation.modelCalls", maximum: 3, actual: 4 },
    });
    expect(made).toHaveLength(0);
    expect(chat.history.newest()?.metadata).toMatchObject({
      error: "spend_exceeded",
      limit: "conversation.modelCalls",
      maximum: 3,
      actual: 4,
    });
  });

  it.each(["turn", "conversation"] as const)(
    "per %s counts each try of a model call: a failed one is not retried",
    async (which) => {
      let tries = 0;
      const down: Step = () => {
        tries++;
        throw Object.assign(new Error("Busy."), { statusCode: 503, isRetryable: true });
      };
      const { chat } = counting({ [which]: { modelCalls: 1 } });
      const { result } = await chat.say({ steps: [down, down, done] });
      expect(result.error?.code).toBe("spend_exceeded");
      expect(tries).toBe(1);
    },
  );

  it("counts the tokens of every try, even of a call that finally fails", async () => {
    const broken: Step = [text("A"), finish("error", { input: 60, output: 40 })];
    const { chat } = counting({ conversation: { tokens: 300 } });
    const { result } = await chat.say({ steps: [broken, broken, broken] });
    expect(result.error?.code).toBe("model_failed");
    expect(result.metadata.usage).toEqual({
      inputTokens: 180,
      outputTokens: 120,
      totalTokens: 300,
    });
    expect((await chat.say({ steps: [done] })).result.error?.details).toEqual({
      limit: "conversation.tokens",
      maximum: 300,
      actual: 301,
    });
  });
});

it("a turn that takes too long ends with turn_timeout, aborts its tools and keeps its text", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let wasTold = false;
  const begun = Array.from({ length: 20 }, () => Promise.withResolvers<void>());
  let runs = 0;
  const wait = tool({
    inputSchema,
    execute: (_, { abortSignal }) =>
      new Promise<number>((resolve) => {
        begun[runs++]?.resolve();
        const timer = setTimeout(() => resolve(1), limits.toolMs * 0.9);
        const stop = () => {
          wasTold = true;
          clearTimeout(timer);
        };
        abortSignal?.addEventListener("abort", stop, { once: true });
      }),
  });
  const chat = new Conversation({ tools: { wait } });
  const step: Step = [text("One moment."), toolCall("wait", { n: 1 }), asked];
  const steps = Array.from({ length: 20 }, () => step);
  const running = chat.say({ steps });
  const callMs = limits.toolMs * 0.9;
  for (let at = 0; at * callMs < limits.turnMs; at++) {
    await begun[at]?.promise;
    await vi.advanceTimersByTimeAsync(callMs);
  }
  const { result, chunks } = await running;
  expect(result.error?.code).toBe("turn_timeout");
  expect(wasTold).toBe(true);
  expect(chunks.at(-1)).toMatchObject({ type: "error" });
  expect(chat.history.newest()?.parts.length).toBeGreaterThan(20);
  expect(vi.getTimerCount()).toBe(0);
});

describe("a turn's reports of variable changes", () => {
  it(
    `end with change number ${limits.maxEntries}, but the variables are still saved`,
    slow,
    async () => {
      const changes = limits.maxEntries + 1;
      const store = new MemoryStore();
      const act = tool({
        inputSchema,
        execute: async () => {
          for (let value = 1; value <= changes; value++) await store.save({ name: "n", value });
        },
      });
      const chat = new Conversation({ tools: { act }, store });
      const { chunks } = await chat.say({ steps: [calls(1), done] });
      expect(dataOf(chunks, "data-variable")).toHaveLength(limits.maxEntries);
      expect(await store.read("n")).toBe(changes);
    },
  );
});

it("a prompt has the question of an answer that waited for a person, however long that is", async () => {
  const needsApproval = true;
  const act = tool({ inputSchema, needsApproval, execute: ({ n }) => n });
  const chat = new Conversation({ tools: { act } });
  const long = text("x".repeat(130_000));
  await chat.say({ question: "What is it?", steps: [[long, toolCall("act", { n: 1 }), asked]] });
  const turn = await chat.approve({ steps: [done] });
  expect(promptOf(turn, 0).map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
  ]);
  expect(JSON.stringify(promptOf(turn, 0)[1])).toContain("What is it?");
});

describe("the tool calls of one model answer", () => {
  it("are limited in number; further ones fail, and the turn continues", async () => {
    const { chat, runs } = counting({});
    const { result, chunks } = await chat.say({ steps: [calls(limits.maxBatchItems + 1), done] });
    expect([result.error, runs()]).toEqual([undefined, limits.maxBatchItems]);
    const errors = chunks.filter(({ type }) => type === "tool-output-error");
    expect(errors).toEqual([
      expect.objectContaining({
        toolCallId: "call_100",
        errorText: expect.stringMatching(/^limit_exceeded: maxBatchItems is at most 100\./u),
      }),
    ]);
  });
});
