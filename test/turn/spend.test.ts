import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import type { SpendLimits, Spent, TenantLimits } from "../../src/turn/spend/spend.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { slow } from "../support/slow.ts";
import { Conversation, dataOf, promptOf, chunksOf, START_MS } from "../support/turn.ts";
import { asker, delegating, saying } from "../support/called-agents.ts";
import { Crashing, hang } from "../support/crashing.ts";
import { MemoryLeases } from "../support/leases.ts";

const asked = finish("tool-calls", { input: 60, output: 40 });
const done: Step = [text("Done."), finish("stop", { input: 60, output: 40 })];
const inputSchema = z.object({ n: z.number() });

function counting(spendLimits: SpendLimits) {
  let runs = 0;
  const act = tool({ inputSchema, execute: () => ++runs });
  return { chat: new Conversation({ tools: { act }, spendLimits }), runs: () => runs };
}

const calls = (count: number): Step => [
  Array.from({ length: count }, (_, n) => toolCall("act", { n }, { id: `call_${n}` })).flat(),
  asked,
];

describe("a turn's budget", () => {
  it.each<{ what: string; turn: SpendLimits["turn"] & object; steps: readonly Step[] }>([
    { what: "model calls", turn: { modelCalls: 2 }, steps: [calls(1), calls(1), done] },
    { what: "tool calls", turn: { toolCalls: 3 }, steps: [calls(2), calls(2), done] },
    { what: "tokens", turn: { tokens: 150 }, steps: [calls(1), calls(1), done] },
  ])("of $what is checked before each call, and results are kept", async ({ turn, steps }) => {
    const { chat, runs } = counting({ turn });
    const { result } = await chat.say({ steps });
    expect(result.error?.code).toBe("spend_exceeded");
    expect(result.error?.message).toMatch(/^This turn may spend \d+ /);
    expect(runs()).toBe(2);
    expect(chat.store.count()).toBeGreaterThan(0);
    expect(chat.history.newest()?.metadata).toMatchObject({ error: "spend_exceeded" });
    // The next turn has its own limit.
    expect((await chat.say({ steps: [done] })).result.error).toBeUndefined();
  });

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
    "per %s counts each try of a model call",
    async (which) => {
      let tries = 0;
      const down: Step = () => {
        tries++;
        throw Object.assign(new Error("Busy."), { statusCode: 503, isRetryable: true });
      };
      const { chat } = counting({ [which]: { modelCalls: 1 } });
      const { result } = await chat.say({ steps: [down, down, done] });
      expect([result.error?.code, tries]).toEqual(["spend_exceeded", 1]);
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
  expect([result.error?.code, wasTold]).toEqual(["turn_timeout", true]);
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

it("the tool calls of one model answer are limited in number; further ones fail, and the turn continues", async () => {
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

/** Creates conversations of one tenant with a tool whose runs are counted. */
function tenant(limits: TenantLimits) {
  let runs = 0;
  const leases = new MemoryLeases(limits);
  const act = tool({ inputSchema, execute: () => ++runs });
  const tools = { act };
  return { leases, runs: () => runs, open: () => new Conversation({ tools, leases }) };
}

describe("a tenant's budget", () => {
  it.each<[keyof Spent, maximum: number, spent: number]>([
    ["modelCalls", 2, 2],
    ["toolCalls", 3, 2],
    ["tokens", 150, 200],
  ])("of %s is checked before each call", async (what, maximum, spent) => {
    const { leases, runs, open } = tenant({ [what]: maximum });
    const many = what === "toolCalls" ? 2 : 1;
    const { result } = await open().say({ steps: [calls(many), calls(many), done] });
    expect(result.error?.code).toBe("spend_exceeded");
    expect(result.error?.message).toMatch(/^This tenant may spend /);
    // The leases are returned, and the spent amount stays.
    expect([runs(), leases.open, leases.used(what)]).toEqual([2, [], spent]);
  });

  it("is shared by all of its conversations, and exact", async () => {
    const { leases, open } = tenant({ modelCalls: 7 });
    const [one, other] = [open(), open()];
    for (let turn = 0; turn < 3; turn++) {
      expect((await one.say({ steps: [done] })).result.error).toBeUndefined();
      expect((await other.say({ steps: [done] })).result.error).toBeUndefined();
    }
    expect(leases.used("modelCalls")).toBe(6);
    const { result } = await one.say({ steps: [calls(1), done] });
    expect(result.error).toEqual({
      code: "spend_exceeded",
      message: "This tenant may spend 7 calls of the model, and has spent 7.",
      details: { limit: "tenant.modelCalls", maximum: 7, actual: 8 },
    });
    const { calls: made } = await other.say({ steps: [done] });
    expect(made).toHaveLength(0);
  });

  it("is renewed with each window, even in the middle of a turn", async () => {
    const { leases, open } = tenant({ modelCalls: 2, per: "day" });
    const chat = open();
    chat.nowMs = START_MS + 86_399_000;
    const over: Step = () => {
      chat.nowMs += 2_000;
      return [toolCall("act", { n: 1 }), asked];
    };
    const { result } = await chat.say({ steps: [calls(1), over, calls(1), done] });
    expect(result.error).toBeUndefined();
    expect(leases.used("modelCalls", "2026-01-02")).toBe(2);
    const refused = await chat.say({ steps: [done] });
    expect(refused.result.error).toMatchObject({
      message: "This tenant may spend 2 calls of the model a day, and has spent 2.",
      details: { renewsAt: "2026-01-03T00:00:00.000Z" },
    });
    chat.nowMs += 86_400_000;
    expect((await chat.say({ steps: [done] })).result.error).toBeUndefined();
    expect(leases.rows.map(({ key, window, amount }) => [key, window, amount])).toEqual([
      ["", "2026-01-01", 2],
      ["", "2026-01-02", 2],
      ["", "2026-01-03", 1],
    ]);
  });

  it("counts what delegates spend", async () => {
    const leases = new MemoryLeases({ modelCalls: 2 });
    const roles = { researcher: { steps: [saying("Found."), saying("Too late.")] } };
    const { chat } = asker(roles, {}, { leases });
    const { result } = await chat.say({ steps: [delegating("researcher", "Find."), done] });
    expect([result.error?.code, leases.used("modelCalls")]).toEqual(["spend_exceeded", 2]);
    expect(new Set(leases.claims.map(({ key }) => key)).size).toBe(1);
  });

  it("is not spent if the remaining amount is unknown", async () => {
    const { leases, open } = tenant({ modelCalls: 1 });
    leases.take = () => Promise.reject(new Error("Away."));
    const { result, calls: made } = await open().say({ steps: [done] });
    expect(result.error?.code).toBe("internal");
    expect(made).toHaveLength(0);
  });

  it.each(["modelCalls", "toolCalls"])(
    "of %s is not spent by a turn that ends before it",
    async (what) => {
      const { leases, runs, open } = tenant({ [what]: 5 });
      const stopping = new AbortController();
      const take = leases.take.bind(leases);
      leases.take = async (claim) => {
        stopping.abort(new Error("Stopped."));
        return take(claim);
      };
      const { signal } = stopping;
      const { chunks, calls: made } = await open().say({ steps: [calls(2), done], signal });
      expect(chunks.at(-1)?.type).toBe("abort");
      expect(made).toHaveLength(what === "toolCalls" ? 1 : 0);
      expect(runs()).toBe(0);
      const failed = chunksOf(chunks, "tool-output-error").map(({ errorText }) => errorText);
      expect(failed.every((error) => error.startsWith("turn_stopped: "))).toBe(true);
      expect(leases.open).toEqual([]);
    },
  );
});

it("a lease that arrives after the turn is returned", async () => {
  const leases = new MemoryLeases({ modelCalls: 1_000 });
  const { chat, callsOf } = asker({ researcher: { steps: [saying("One.")] } }, {}, { leases });
  const stopping = new AbortController();
  const gate = Promise.withResolvers<void>();
  const take = leases.take.bind(leases);
  const limit = limits.lease.modelCalls;
  const late = Array.from({ length: limit }, (_, n) => n);
  let taken: Promise<unknown> | undefined;
  leases.take = (claim) => {
    if (leases.claims.length === 0) return take(claim);
    stopping.abort(new Error("Stopped."));
    const grant = gate.promise.then(() => take(claim));
    taken = grant;
    return grant;
  };
  const delegates = late.map((n) =>
    toolCall("delegate", { agent: "researcher", task: `${n}` }, { id: `call_${n}` }),
  );
  await chat.say({ steps: [[...delegates, asked]], signal: stopping.signal });
  const made = leases.used("modelCalls");
  gate.resolve();
  await taken;
  await Promise.resolve();
  expect([leases.used("modelCalls"), leases.open]).toEqual([made, []]);
  expect(callsOf("researcher").length).toBeLessThan(limit);
});

it("a turn that waits for a person returns what it has not spent, and requests a lease again when it continues", async () => {
  const leases = new MemoryLeases({ modelCalls: 3 });
  const act = tool({ inputSchema, needsApproval: true, execute: ({ n }) => n });
  const chat = new Conversation({ tools: { act }, leases });
  await chat.say({ steps: [calls(1)] });
  expect([leases.used("modelCalls"), leases.open]).toEqual([1, []]);
  const { result } = await chat.approve({ steps: [calls(1)] });
  expect(result.error).toBeUndefined();
  expect([leases.used("modelCalls"), leases.open]).toEqual([2, []]);
  expect((await chat.approve({ steps: [calls(1)] })).result.error).toBeUndefined();
  expect((await chat.approve({ steps: [done] })).result.error?.code).toBe("spend_exceeded");
  expect(leases.used("modelCalls")).toBe(3);
  expect(new Set(leases.claims.map(({ key }) => key)).size).toBe(4);
});

it("a turn that a crash interrupts continues with the same lease after each crash, and settles what it has spent", async () => {
  const leases = new MemoryLeases({ modelCalls: 1_000, tokens: 1_000_000 });
  const act = tool({ inputSchema, execute: ({ n }) => n });
  const chat = new Crashing({ act });
  chat.leases = leases;
  await chat.run(calls(1), () => hang());
  const held = leases.used("modelCalls");
  for (let crash = 0; crash < limits.maxTurnDeaths - 2; crash++) {
    await chat.recover(() => hang());
    expect([leases.used("modelCalls"), leases.open]).toHaveProperty("[1].length", 1);
    expect(leases.used("modelCalls")).toBe(held);
  }
  await chat.recover(calls(1), done);
  expect([leases.open, leases.used("modelCalls")]).toEqual([[], 3]);
  expect(leases.used("tokens")).toBe(300);
});
