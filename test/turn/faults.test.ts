import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { cut, never, stalling, status } from "../support/fault-steps.ts";
import { expectOutcome, fakeTimers, type Outcome, TIMERS } from "../support/fault-turn.ts";
import { DEEP } from "../support/fault-values.ts";
import { NodeSql } from "../support/node-sql.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, promptOf, shownText, START_MS } from "../support/turn.ts";
import { hostile, isCode } from "../support/fault-outputs.ts";

/**
 * The table of faults. Models and clocks: here. Tools: here and in `test/edge/turns`.
 * Clients and posts: `test/edge/turns/stream.test.ts`. A stop, a deletion, an alarm, at each stage of a
 * turn: `test/edge-node/turns/faults.test.ts`. Megabytes: `faults.large.test.ts`. The same failures of models over a
 * real wire: `test/process/models.large.test.ts`; crashes: `test/simulation`,
 * `test/chaos`.
 */
const asked = finish("tool-calls");
const said: Step = [text("Hello."), finish()];
const opened = (words: string) => text(words).slice(0, -1);
const half = opened("Hello, wor");
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

afterEach(() => {
  vi.useRealTimers();
});

describe("a model", () => {
  const twice = (step: Step): readonly Step[] => [step, step, said];
  const always = (step: Step): readonly Step[] => [step, step, step];
  const answered = (calls: number): Outcome => ({ ends: "finish", keeps: ["Hello."], calls });
  const failed = (calls: number, ...keeps: readonly string[]): Outcome => ({
    ends: "model_failed",
    keeps,
    calls,
  });
  const late = (...keeps: readonly string[]): Outcome => ({
    ends: "model_timeout",
    keeps,
    calls: 3,
  });

  it.each<[string, readonly Step[], Outcome]>([
    ["says 429 twice", twice(status(429, { "retry-after": "7" })), answered(3)],
    ["says 429 always", always(status(429)), failed(3)],
    ["says 500 twice", twice(status(500)), answered(3)],
    ["says 500 always", always(status(500)), failed(3)],
    ["says 401", [status(401)], failed(1)],
    ["fails to begin twice", twice(never), answered(3)],
    ["never begins", always(never), late()],
    ["stalls in mid-stream twice", twice(stalling(half)), answered(3)],
    ["stalls in mid-stream always", always(stalling(half)), late("Hello, wor")],
    ["loses its connection in mid-delta twice", twice(cut(half)), answered(3)],
    ["loses its connection in mid-delta always", always(cut(half)), failed(3, "Hello, wor")],
    [
      "loses its connection in a tool call",
      [cut(toolCall("echo", '{"n": 1', { chunks: 2 }).slice(0, -2)), said],
      answered(2),
    ],
    ["loses its connection after its end", [cut(text("Hello."), finish())], answered(1)],
    ["says nothing and ends", [[finish()]], { ends: "finish", keeps: [], calls: 1 }],
    ["ends without a finish part", always([half]), failed(3, "Hello, wor")],
  ])("that %s", async (_, steps, outcome) => {
    const timers = fakeTimers();
    const chat = new Conversation({ tools: { echo } });
    const running = chat.say({ steps });
    await vi.advanceTimersByTimeAsync(6 * limits.modelSilenceMs);
    const turn = await running;
    expect(timers()).toBe(0);
    vi.useRealTimers();
    await expectOutcome(chat, turn, outcome);
  });

  it.each<[string, Step, readonly string[]]>([
    ["is not JSON", [toolCall("echo", '{"n": 1'), asked], ["echo invalid_tool_input"]],
    [
      "is not JSON, in pieces",
      [toolCall("echo", "{n", { chunks: 1 }), asked],
      ["echo invalid_tool_input"],
    ],
    ["has an invalid input", [toolCall("echo", { n: [] }), asked], ["echo invalid_tool_input"]],
    ["is nested too deeply", [toolCall("echo", DEEP), asked], ["echo invalid_tool_input"]],
    ["is for an unknown tool", [toolCall("nope", { n: 1 }), asked], ["nope unknown_tool"]],
    [
      "has the name of an object's built-in property",
      [toolCall("constructor", {}), toolCall("__proto__", {}, { id: "b" }), asked],
      ["constructor unknown_tool", "__proto__ unknown_tool"],
    ],
  ])("whose tool call %s sees the error, and continues", async (_, step, keeps) => {
    const chat = new Conversation({ tools: { echo } });
    const turn = await chat.say({ steps: [step, said] });
    expect(JSON.stringify(promptOf(turn, 1)).match(/"error-text"/g)).toHaveLength(keeps.length);
    expect(chat.store.count()).toBe(0);
    await expectOutcome(chat, turn, { ends: "finish", keeps: [...keeps, "Hello."], calls: 2 });
  });
});

describe("a clock that jumps", () => {
  const MINUTE_MS = 60_000;
  const HOUR_MS = 60 * MINUTE_MS;
  const DAY_MS = 24 * HOUR_MS;
  const sql = () => {
    const made = new NodeSql();
    migrate(made);
    return made;
  };

  /** Creates a conversation with some variables, one of which expires after half an hour. */
  async function started() {
    const rows = sql();
    const open = () => new SqlStore(rows, { now: () => chat.nowMs, idleMs: 100 * DAY_MS });
    let inTool = () => {};
    const act = tool({ inputSchema: z.object({ n: z.number() }), execute: () => (inTool(), 1) });
    const chat: Conversation = new Conversation({ tools: { act }, store: open() });
    const calls = (n: number): Step => [text("So: "), toolCall("act", { n }), asked];
    await chat.say({ steps: [calls(1), said] });
    await chat.store.save({ name: "short", value: 1, ttlMs: 30 * MINUTE_MS });
    await chat.store.save({ name: "long", value: 1, ttlMs: 30 * DAY_MS });
    const onTool = (work: () => void) => {
      inTool = work;
    };
    return { chat, calls, onTool, open };
  }

  const jumps: readonly [string, number][] = [
    ["an hour ahead", HOUR_MS],
    ["three hours back", -3 * HOUR_MS],
    ["a day ahead", DAY_MS],
    ["a day back", -DAY_MS],
  ];
  const moments = ["between turns", "while the model speaks", "while a tool runs"] as const;
  const rows = jumps.flatMap(([name, byMs]) => moments.map((when) => [name, when, byMs] as const));

  it.each(rows)("%s %s", async (_, when, byMs) => {
    const { chat, calls, onTool, open } = await started();
    const jump = () => void (chat.nowMs += byMs);
    if (when === "between turns") jump();
    if (when === "while a tool runs") onTool(jump);
    const turn = await chat.say({
      question: "And then?",
      steps: [calls(2), [text("Here: $short.", { chunks: 3 }), finish()]],
      onChunk: ({ type }, chunks) => {
        const isFirst = chunks.filter((chunk) => chunk.type === type).length === 1;
        if (when === "while the model speaks" && type === "text-delta" && isFirst) jump();
      },
    });
    expect(turn.result.error).toBeUndefined();
    expect(turn.chunks.at(-1)).toMatchObject({ type: "finish" });
    // Variables that have expired by the clock are removed. All others keep their order.
    const isOver = byMs > 30 * MINUTE_MS;
    const names = ["act_1", ...(isOver ? [] : ["short"]), "long", "act_2"];
    const namesNow = () => chat.store.list().map(({ name }) => name);
    expect(namesNow()).toEqual(names);
    expect(await chat.store.read("short")).toBe(isOver ? undefined : 1);
    expect(shownText(turn.chunks)).toContain(isOver ? "$short." : "Here: 1.");
    expect(chat.history.page({ limit: 10 }).messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    // A TTL counts from the current time of the clock. An earlier TTL keeps its end.
    const fresh = await chat.store.save({ name: "fresh", value: 1, ttlMs: MINUTE_MS });
    expect(Date.parse(fresh.expiresAt ?? "")).toBe(chat.nowMs + MINUTE_MS);
    expect(namesNow()).toEqual([...names, "fresh"]);
    // A restart does not change the order either.
    expect(
      open()
        .list()
        .map(({ name }) => name),
    ).toEqual([...names, "fresh"]);
    expect(await open().save({ name: "last", value: 1 })).toMatchObject({ name: "last" });
    expect(open().list().at(-1)?.name).toBe("last");
    chat.nowMs = START_MS + 30 * MINUTE_MS;
    expect(await chat.store.read("short")).toBeUndefined();
    const next = await chat.say({ question: "And now?", steps: [said] });
    expect(shownText(next.chunks)).toBe("Hello.");
  });

  it("back does not bring back an expired variable whose last read is recorded late", async () => {
    let nowMs = START_MS;
    const store = new SqlStore(sql(), { now: () => nowMs });
    await store.save({ name: "used", value: 1, ttlMs: 3 * HOUR_MS });
    nowMs += 2 * HOUR_MS;
    expect(await store.read("used")).toBe(1);
    nowMs += HOUR_MS;
    expect(await store.read("used")).toBeUndefined();
    store.flushAccess();
    nowMs -= 3 * HOUR_MS;
    expect(await store.read("used")).toBeUndefined();
  });
});

describe("a tool that returns or throws", () => {
  it.each(Object.entries(hostile))("%s", async (_, [run, becomes]) => {
    const hangs = becomes === "tool_timeout";
    if (hangs) vi.useFakeTimers({ toFake: [...TIMERS] });
    const begun = Promise.withResolvers<void>();
    const execute = () => {
      begun.resolve();
      return run();
    };
    const act = tool({ inputSchema: z.object({}), execute });
    const chat = new Conversation({ tools: { act, echo } });
    const calls = [toolCall("act", {}), toolCall("echo", { n: 7 }), asked];
    const running = chat.say({ steps: [calls, said] });
    await begun.promise;
    if (hangs) await vi.advanceTimersByTimeAsync(limits.toolMs);
    const turn = await running;
    vi.useRealTimers();
    const isError = isCode(becomes);
    await expectOutcome(chat, turn, {
      ends: "finish",
      keeps: [`act ${isError ? becomes : "output-available"}`, "echo output-available", "Hello."],
      calls: 2,
    });
    expect(await chat.store.read("echo_1")).toBe(7);
    const info = chat.store.info("act_1");
    if (isError) return expect(info).toBeUndefined();
    const value = info?.type === "bytes" ? "bytes" : JSON.stringify(await chat.store.read("act_1"));
    expect(value).toBe(becomes);
  });
});
