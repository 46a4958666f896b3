import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { waitingCalls } from "../../src/turn/waiting-calls.ts";
import { Crashing, hang } from "../support/crashing.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { recoveryDelayMs } from "../../src/turn/log/recovery.ts";

const asked = finish("tool-calls");
const never: Step = () => hang();
const inputSchema = z.object({ n: z.number() });

/** Creates a tool whose first call hangs. `keys` lists the idempotency keys of its calls. */
function hanging(effects: "none" | "idempotent" | "once") {
  const keys: unknown[] = [];
  const act = tool({
    inputSchema,
    execute: ({ n }, options) => {
      keys.push((options as { idempotencyKey?: string }).idempotencyKey);
      return keys.length === 1 ? hang() : n + 1;
    },
  });
  return { keys, tools: { act }, about: { effects: { act: effects } } };
}

const call = [toolCall("act", { n: 1 }), asked];

describe("a turn that a crash interrupts", () => {
  it.each([
    ["before the call began", 3, [], 7],
    ["while the call ran", Infinity, [], 7],
    ["before the call began, and the value is another one", 3, [9], undefined],
    ["while the call ran, and the value is another one", Infinity, [9], undefined],
  ])("after an approval with another input, %s: it runs, or is asked about", async (...row) => {
    const [, hangsAt, saved, result] = row;
    const { keys, tools, about } = hanging("none");
    let checks = -1;
    const policy = () => (++checks === hangsAt ? hang() : ({ ask: "Is that right?" } as const));
    const chat = new Crashing(tools, { ...about, policy });
    await chat.store.save({ name: "other", value: 6 });
    await chat.run(call);
    const [approvalId = ""] = waitingCalls(chat.history.newest()).keys();
    await chat.decide({ approvalId, approved: true, input: { n: "$other" } });
    expect(keys).toHaveLength(hangsAt === 3 ? 0 : 1);
    if (keys.length === 0) keys.push(undefined);
    for (const value of saved) await chat.store.save({ name: "other", value });
    const after = await chat.recover([text("$act_1"), finish()]);
    const message = JSON.stringify(after.result?.message.parts);
    if (result !== undefined) expect(message).toContain(`"text":"${result}"`);
    const waiting = [...waitingCalls(chat.history.newest()).values()];
    const asked = { input: { n: "$other" }, isChanged: true };
    expect(waiting).toMatchObject(result === undefined ? [asked] : []);
    expect(keys).toHaveLength(hangsAt === 3 && result === undefined ? 1 : keys.length);
    expect(message).toContain('"input":{"n":1}');
  });

  it("after one of two calls was approved: the other still has what it needs", async () => {
    const { tools, about } = hanging("none");
    const chat = new Crashing(tools, { ...about, policies: { act: { approval: true } } });
    await chat.store.save({ name: "sum", value: 5 });
    await chat.store.save({ name: "other", value: 7 });
    const one = toolCall("act", { n: "$sum" }, { id: "a" });
    await chat.run([one, toolCall("act", { n: "$other" }, { id: "b" }), asked]);
    const [first = "", second = ""] = waitingCalls(chat.history.newest()).keys();
    await chat.approve(first);
    const after = await chat.recover();
    expect([...waitingCalls(chat.history.newest()).keys()]).toEqual([second]);
    expect(after.journal.head()?.needs).toContain("other");
    expect(chat.store.holds.has("other")).toBe(true);
    const last = await chat.approve(second, [text("$act_2"), finish()]);
    expect(JSON.stringify(last.result?.message.parts)).toContain('"text":"8"');
    expect(chat.store.holds.has("other")).toBe(false);
  });

  it("while a call runs with a changed value: a person is asked if the policy requires it", async () => {
    const { keys, tools, about } = hanging("none");
    let asks = true;
    const policy = () => (asks ? { ask: "Is that right?" } : "allow");
    const chat = new Crashing(tools, { ...about, policy });
    await chat.store.save({ name: "sum", value: 5 });
    await chat.run([toolCall("act", { n: "$sum" }), asked]);
    const [approval = ""] = waitingCalls(chat.history.newest()).keys();
    await chat.store.save({ name: "sum", value: 5_000 });
    asks = false;
    await chat.approve(approval);
    asks = true;
    await chat.recover();
    expect(keys).toHaveLength(1);
    expect(waitingCalls(chat.history.newest()).size).toBe(1);
  });

  it.each([
    ["idempotent", /outcome_unknown: /u, 1],
    ["none", /"value":7/u, 2],
  ] as const)("while a call runs with a changed value, with effects: %s", async (...row) => {
    const [effects, outcome, runs] = row;
    const { keys, tools, about } = hanging(effects);
    const chat = new Crashing(tools, about);
    await chat.store.save({ name: "sum", value: 5 });
    await chat.run([toolCall("act", { n: "$sum" }), asked]);
    await chat.store.save({ name: "sum", value: 6 });
    const { result } = await chat.recover([text("So."), finish()]);
    expect(JSON.stringify(result?.message.parts)).toMatch(outcome);
    expect(keys).toHaveLength(runs);
  });

  it("runs no call again that has a result", async () => {
    const ran: number[] = [];
    const act = tool({
      inputSchema,
      execute: ({ n }) => (ran.push(n) === 2 ? hang() : n),
    });
    const chat = new Crashing({ act }, { effects: { act: "none" } });
    const [one, two] = [1, 2].map((n) => toolCall("act", { n }, { id: `call_${n}` }));
    await chat.run([one ?? [], two ?? [], asked]);
    const { result } = await chat.recover([text("$act_1 $act_2"), finish()]);
    expect(result?.message.parts.at(-1)).toMatchObject({ text: "1 2" });
    expect(ran).toEqual([1, 2, 2]);
  });

  it("keeps the late result of a provider's own call", async () => {
    const about = { type: "provider", id: "scripted.search", isProviderExecuted: true } as const;
    const search = tool({ ...about, args: {}, inputSchema: z.object({}), outputSchema: z.any() });
    const act = tool({ inputSchema, execute: ({ n }) => (n === 2 ? hang() : n) });
    const chat = new Crashing({ search, act }, { effects: { act: "once" } });
    const made = { toolCallId: "p", toolName: "search", providerExecuted: true };
    const late = {
      type: "tool-result",
      toolCallId: "p",
      toolName: "search",
      result: "late",
    } as const;
    await chat.run(
      [{ type: "tool-call", ...made, input: "{}" }, ...call],
      [late, toolCall("act", { n: 2 }, { id: "b" }), asked],
    );
    const { result } = await chat.recover([text("So."), finish()]);
    expect(result?.message.parts[1]).toMatchObject({ toolCallId: "p", output: "late" });
  });

  it("gets three new tries after progress", async () => {
    const chat = new Crashing({ act: tool({ inputSchema, execute: () => 1 }) });
    await chat.run(never);
    for (const further of [[never], [call, never], [never], [never]]) {
      expect((await chat.recover(...further)).result).toBeUndefined();
    }
    expect((await chat.recover(never)).result?.error?.code).toBe("turn_failed");
  });

  it("is retried ten times if its end cannot be written and the process survives", async () => {
    const chat = new Crashing({});
    const model = [text("All is well."), finish()];
    chat.sql.refused = "All is well.";
    expect((await chat.run(model)).error).toMatchObject({ code: "storage_full" });
    for (let tries = 1; tries <= limits.maxTries; tries++) {
      const again = await chat.retry(model);
      expect(again.recoveredLog).toMatchObject({ attempts: tries, deaths: 0 });
      expect(again.error).toMatchObject({ code: "storage_full" });
    }
    const last = await chat.retry(model);
    expect(last.result?.error?.message).toContain("tried 10 more times");
  });

  it("goes on after a crash, however often its process has survived a try before", async () => {
    const chat = new Crashing({});
    const model = [text("All is well."), finish()];
    chat.sql.refused = "All is well.";
    await chat.run(model);
    for (let tries = 0; tries < limits.maxTurnDeaths; tries++) await chat.retry(model);
    chat.sql.refused = undefined;
    const { result, recoveredLog } = await chat.recover(model);
    expect(recoveredLog).toMatchObject({ deaths: 1 });
    expect(result?.error).toBeUndefined();
  });
});

describe("a turn without enough storage", () => {
  const whole = (chat: Crashing) =>
    expect(chat.sql.all("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);

  it("continues without the result that does not fit, and the model sees an error", async () => {
    const large = tool({ inputSchema, execute: () => "x".repeat(3_000_000) });
    const chat = new Crashing({ act: large });
    chat.sql.limitPages(200);
    const { result } = await chat.run(call, [text("No room."), finish()]);
    expect(result?.message.parts[1]).toMatchObject({
      state: "output-error",
      errorText: expect.stringMatching(/^storage_full: /),
    });
    expect(result?.error).toBeUndefined();
    expect(chat.store.count()).toBe(0);
    whole(chat);
  });

  it("fails with storage_full if nothing can be written, and continues when there is room", async () => {
    const chat = new Crashing({});
    chat.sql.limitPages(1);
    const long: Step = [text("x".repeat(400_000), { chunks: 1_000 }), finish()];
    const full = await chat.run(long);
    expect(full.error).toMatchObject({ code: "storage_full" });
    expect(full.journal.head()).toMatchObject({ isOpen: true });
    expect(chat.history.count()).toBe(1);
    whole(chat);
    chat.sql.limitPages(100_000);
    const after = await chat.recover(long);
    expect(after.result?.error).toBeUndefined();
    expect(chat.history.count()).toBe(2);
    whole(chat);
  });

  it("leaves nothing in later prompts if its start did not fit", async () => {
    const chat = new Crashing({});
    await chat.run([text("One."), finish()]);
    chat.sql.refused = '"attempt":2';
    expect((await chat.run([])).error).toMatchObject({ code: "storage_full" });
    chat.sql.refused = undefined;
    expect(chat.history.window().map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(chat.history.count()).toBe(2);
  });

  it("is in the history once if its end did not fit at first", async () => {
    const chat = new Crashing({});
    chat.sql.refused = '"isOpen":false';
    const full = await chat.run([text("One."), finish()]);
    expect(full.error).toMatchObject({ code: "storage_full" });
    expect(full.types).not.toContain("finish");
    expect(chat.history.count()).toBe(1);
    chat.sql.refused = undefined;
    const after = await chat.recover([text("Two."), finish()]);
    expect([after.types.at(-1), chat.history.count()]).toEqual(["finish", 2]);
    expect(JSON.stringify(chat.history.newest()?.parts)).toContain("Two.");
  });
});

const recoveredLogWith = (attempts: number, deaths: number) =>
  ({ attempts, deaths, attemptMs: 1_000, steps: 1, entries: [], calls: [] }) as const;

it("a turn whose process survives is retried at once, then with growing delays, whatever the clock says", () => {
  const delays = (nowMs: number) =>
    Array.from({ length: 12 }, (_, attempts) =>
      recoveryDelayMs(recoveredLogWith(attempts, 0), nowMs),
    );
  const seconds = [0, 0, 0, 0, 0, 1, 2, 5, 15, 60, 300, 0];
  expect(delays(1_000)).toEqual(seconds.map((delay) => delay * 1_000));
  // With the clock a day back, and a day ahead.
  expect(delays(-86_400_000)).toEqual(delays(1_000));
  expect(Math.max(...delays(86_400_000))).toBe(0);
});

it("a turn whose process died is retried at once, then after a second in the new process", () => {
  for (const nowMs of [1_000, 86_400_000]) {
    const delays = [1, 2, 3].map((deaths) =>
      recoveryDelayMs(recoveredLogWith(deaths, deaths), nowMs),
    );
    expect(delays).toEqual([0, 1_000, 0]);
  }
});
