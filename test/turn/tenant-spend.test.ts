import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { codeTool } from "../../packages/code/src/code-tool.ts";
import type { MakeCodeTool } from "../../src/turn/toolbox.ts";
import type { Spent, TenantLimits } from "../../src/turn/spend/spend.ts";
import { asker, delegating, saying } from "../support/called-agents.ts";
import { Crashing, hang } from "../support/crashing.ts";
import { asked, calls, done, MemoryLeases } from "../support/leases.ts";
import { scriptedSandbox } from "../support/scripted-sandbox.ts";
import { type Step, toolCall } from "../../packages/testing/src/testing.ts";
import { chunksOf, Conversation, START_MS } from "../support/turn.ts";

const inputSchema = z.object({ n: z.number() });

/** Creates conversations of one tenant with a tool whose runs are counted. */
function tenant(limits: TenantLimits) {
  let runs = 0;
  const leases = new MemoryLeases(limits);
  const act = tool({ inputSchema, execute: () => ++runs });
  const tools = { act };
  return { leases, runs: () => runs, open: () => new Conversation({ tools, leases }) };
}

describe("a tenant's budget", () => {
  it.each<{ what: keyof Spent; maximum: number; steps: readonly Step[]; said: RegExp }>([
    { what: "modelCalls", maximum: 2, steps: [calls(1), calls(1), done], said: /2 calls of the m/ },
    { what: "toolCalls", maximum: 3, steps: [calls(2), calls(2), done], said: /3 calls of tools/ },
    { what: "tokens", maximum: 150, steps: [calls(1), calls(1), done], said: /150 tokens/ },
  ])("of $what is checked before each call", async ({ what, maximum, steps, said }) => {
    const { leases, runs, open } = tenant({ [what]: maximum });
    const { result } = await open().say({ steps });
    expect(result.error?.code).toBe("spend_exceeded");
    expect(result.error?.message).toMatch(/^This tenant may spend /);
    expect(result.error?.message).toMatch(said);
    expect(runs()).toBe(2);
    // The leases are returned, and the spent amount stays.
    expect(leases.open).toEqual([]);
    expect(leases.used(what)).toBe({ modelCalls: 2, toolCalls: 2, tokens: 200 }[what]);
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

  it("needs no lease without a limit, and few if much is left", async () => {
    const { leases, open } = tenant({ modelCalls: 10_000 });
    await open().say({ steps: [calls(3), calls(3), calls(3), done] });
    expect(leases.claims.map(({ wants }) => wants.map(({ what }) => what))).toEqual([
      ["modelCalls"],
      ["modelCalls"],
      ["modelCalls"],
    ]);
    // Four of seven calls are left for the next steps.
    expect(leases.claims.map(({ spent }) => spent.modelCalls)).toEqual([0, 1, 3]);
  });

  it("counts what delegates spend", async () => {
    const leases = new MemoryLeases({ modelCalls: 2 });
    const roles = { researcher: { steps: [saying("Found."), saying("Too late.")] } };
    const { chat } = asker(roles, {}, { leases });
    const { result } = await chat.say({ steps: [delegating("researcher", "Find."), done] });
    expect(result.error?.code).toBe("spend_exceeded");
    expect(leases.used("modelCalls")).toBe(2);
    expect(new Set(leases.claims.map(({ key }) => key)).size).toBe(1);
  });

  it("counts calls from code", async () => {
    const leases = new MemoryLeases({ toolCalls: 4 });
    let runs = 0;
    const answers: unknown[] = [];
    const act = tool({ inputSchema, execute: () => ++runs });
    const sandbox = scriptedSandbox(async ({ call }) => {
      for (let n = 0; n < 4; n++) answers.push(await call("act", JSON.stringify({ n })));
      return {};
    });
    const code: MakeCodeTool = (options) => codeTool({ ...options, sandbox });
    const chat = new Conversation({ tools: { act }, leases, services: { code } });
    const asking: Step = [toolCall("run_code", { code: "…", variables: [] }), asked];
    await chat.say({ steps: [calls(1), asking, done] });
    expect(runs).toBe(3);
    expect(JSON.stringify(answers[3])).toContain("This tenant may spend 4 calls of tools");
    expect(leases.used("toolCalls")).toBe(4);
  });

  it("is not spent if the remaining amount is unknown", async () => {
    const { leases, open } = tenant({ modelCalls: 1 });
    leases.take = () => Promise.reject(new Error("Away."));
    const { result, calls: made } = await open().say({ steps: [done] });
    expect(result.error?.code).toBe("internal");
    expect(made).toHaveLength(0);
  });

  it.each(["modelCalls", "toolCalls"])(
    "of %s is not spent by a turn that is stopped while it waits for a lease",
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

  it("is shared by concurrent work of a turn", async () => {
    const leases = new MemoryLeases({ modelCalls: 3 });
    const roles = { researcher: { steps: [saying("One."), saying("Two."), saying("Three.")] } };
    const { chat, callsOf } = asker(roles, {}, { leases });
    const task = (n: number) =>
      toolCall("delegate", { agent: "researcher", task: `Find ${n}.` }, { id: `call_${n}` });
    const { result } = await chat.say({ steps: [[task(1), task(2), task(3), asked], done] });
    // One call for the question and one for each of two tasks. None is left for the answer.
    expect(callsOf("researcher")).toHaveLength(2);
    expect(result.error?.code).toBe("spend_exceeded");
    expect(leases.used("modelCalls")).toBe(3);
  });
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

describe("a turn that a crash interrupts", () => {
  it("continues with the same lease after each crash, and settles what it has spent", async () => {
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
    expect(leases.open).toEqual([]);
    expect(leases.used("modelCalls")).toBe(3);
    expect(leases.used("tokens")).toBe(300);
  });

  it("counts its lease as spent if it is not settled", async () => {
    const leases = new MemoryLeases({ modelCalls: 10 });
    const chat = new Crashing({});
    chat.leases = leases;
    leases.losesSettling = true;
    await chat.run(done);
    const lost = leases.used("modelCalls");
    expect(lost).toBeGreaterThanOrEqual(1);
    leases.losesSettling = false;
    const other = new Conversation({ leases });
    for (let turn = lost; turn < 10; turn++) {
      expect((await other.say({ steps: [done] })).result.error).toBeUndefined();
    }
    expect((await other.say({ steps: [done] })).result.error?.code).toBe("spend_exceeded");
  });
});
