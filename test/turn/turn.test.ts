import { tool, type UIMessageChunk, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { guideOf } from "../../src/turn/agent.ts";
import { guidedText } from "../../src/turn/history/guide.ts";
import { finish, type Part, type Step, text, toolCall } from "byref/testing";
import {
  Conversation,
  historyText,
  promptOf,
  readMessage,
  resultShown,
  turnWith,
  typesOf,
  chunksOf,
  dataOf,
  shownText,
  START_MS,
  type Turn,
} from "../support/turn.ts";
import { toolOf } from "../support/tool-of.ts";

const MARKER = "only-in-the-value";
const asked = finish("tool-calls");

/** Records of at least 200,000 characters, with a marker that no preview and no suggested path shows. */
const rows = Array.from({ length: 4_200 }, (_, id) => ({
  id,
  name: id === 2_000 ? MARKER : `Customer ${id}`,
  total: id * 1.5,
}));
const longText = `${"Lorem ipsum. ".repeat(8_000)}${MARKER}${" dolor sit amet".repeat(7_000)}`;
const wide = Object.fromEntries(
  Array.from({ length: 5_000 }, (_, at) => [
    `key_${at}`,
    { at, note: at === 2_500 ? MARKER : "x".repeat(20) },
  ]),
);

function toolsFor(value: unknown, taken: unknown[]) {
  return {
    load: toolOf({ id: z.string() }, () => value),
    take: toolOf({ all: z.unknown(), note: z.string().optional() }, (input) => {
      taken.push(input);
      return { taken: true };
    }),
  };
}

it.each<[string, unknown]>([
  ["an array", rows],
  ["a text", longText],
  ["an object", wide],
])("a result of 200,000 characters reaches a tool only: %s", async (_, value) => {
  const json = JSON.stringify(value);
  expect(json.length).toBeGreaterThanOrEqual(200_000);
  const taken: { all: unknown }[] = [];
  const chat = new Conversation({ tools: toolsFor(value, taken) });
  const first = await chat.say({
    steps: [
      [toolCall("load", { id: "big" }, { chunks: 4 }), asked],
      [toolCall("take", { all: "$load_big" }, { chunks: 4 }), asked],
      [text("I have handed it on."), finish()],
    ],
  });
  const second = await chat.say({
    question: "Once more.",
    steps: [
      [toolCall("take", { all: "$load_big", note: "again" }), asked],
      [text("Done."), finish()],
    ],
  });
  expect(taken.map(({ all }) => JSON.stringify(all) === json)).toEqual([true, true]);
  for (const turn of [first, second]) {
    expect(turn.result.error).toBeUndefined();
    for (const { prompt } of turn.calls) {
      expect(JSON.stringify(prompt)).not.toContain(MARKER);
    }
    expect(JSON.stringify(turn.chunks)).not.toContain(MARKER);
    expect(JSON.stringify(turn.result)).not.toContain(MARKER);
  }
  expect(JSON.stringify(promptOf(first, 1)).length).toBeLessThan(3_000);
  expect(historyText(chat.history)).not.toContain(MARKER);
  expect(JSON.stringify(chat.store.list())).not.toContain(MARKER);
});

describe("the loop", () => {
  const again = (at: number) => [toolCall("load", { id: "x" }, { id: `call_${at}` }), asked];

  it("calls the model at most 20 times", async () => {
    let runs = 0;
    const load = toolOf({ id: z.string() }, () => ++runs);
    const turn = await turnWith({
      tools: { load },
      steps: Array.from({ length: limits.maxSteps + 5 }, (_, at) => again(at)),
    });
    expect([turn.calls.length, runs]).toEqual([limits.maxSteps, limits.maxSteps]);
    expect(turn.result.error).toMatchObject({ code: "limit_exceeded" });
    expect(turn.chunks.at(-1)).toMatchObject({
      type: "error",
      errorText: expect.stringMatching(/^limit_exceeded: maxSteps is at most 20/),
    });
    const results = turn.result.message.parts.filter((part) => part.type === "tool-load");
    expect(results.every((part) => "output" in part)).toBe(true);
  });

  it("emits its id first, then every step, its metadata and its end", async () => {
    const turn = await turnWith({
      tools: toolsFor(1, []),
      steps: [
        [toolCall("load", { id: "x" }), asked],
        [text("Hi."), finish("stop", { input: 10, output: 5 })],
      ],
    });
    expect(typesOf(turn.chunks).join(" ")).toBe(
      "start start-step tool-input-available data-variable tool-output-available finish-step " +
        "start-step text-start text-delta text-end finish-step message-metadata finish",
    );
    expect(turn.chunks[0]).toEqual({ type: "start", messageId: turn.result.message.id });
    const { message } = await readMessage(turn.chunks);
    expect(message).toEqual(turn.result.message);
    expect(turn.result.metadata.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
    });
  });
});

it("savings are counted to the character", async () => {
  const chat = new Conversation({ tools: toolsFor(rows, []) });
  const turn = await chat.say({
    question: "Hi.",
    steps: [
      [toolCall("load", { id: "a" }), asked],
      [toolCall("take", { all: "$load_a", note: "of $load_a[1].id" }), asked],
      [text("Row \\$load_a is $load_a[3].total, $5, $nope."), finish()],
    ],
  });
  const { length: system } = guidedText(chat.agent.instructions, guideOf(chat.agent));
  const handle = JSON.stringify(resultShown(turn, 1, "call_load")).length;
  const small = '{"$var":"take_of_1","value":{"taken":true}}'.length;
  const inputs = ['{"id":"a"}', '{"all":"$load_a","note":"of $load_a[1].id"}'];
  const [first = "", second = ""] = inputs;
  const tail = `<variables>\n${guideOf(chat.agent).details}\n</variables>`.length;
  const start = system + "Hi.".length;
  const tools = turn.calls.reduce((sum, call) => sum + JSON.stringify(call.tools).length, 0);
  const promptChars =
    tools +
    start +
    (start + first.length + handle + tail) +
    (start + first.length + handle + second.length + small + tail);
  const value = JSON.stringify(rows).length;
  expect(turn.result.metadata.savings).toEqual({
    promptChars,
    inlinePromptChars: promptChars + 2 * (value - handle),
    authoredChars: "$load_a".length + "$load_a[1].id".length + "$load_a[3].total".length,
    resolvedChars: value + "1".length + "4.5".length,
  });
});

it("savings exclude what would not have fit into the model's context window", async () => {
  const agent = { name: "a", description: "", instructions: "", tools: toolsFor(rows, []) };
  const steps = [
    [toolCall("load", { id: "a" }), asked],
    [text("Done."), finish()],
  ];
  const [small, large] = await Promise.all(
    [2_000, 1_000_000].map((contextTokens) =>
      turnWith({ agent: { ...agent, contextTokens }, steps }),
    ),
  );
  const { promptChars, ...counted } = small?.result.metadata.savings ?? { promptChars: 0 };
  const [first] = small?.calls ?? [];
  const start = JSON.stringify(first?.tools).length + String(first?.prompt[0]?.content).length;
  // The first call fits. The second counts as a full window of 2,000 tokens, at four characters per token.
  const question = "Hello.".length;
  expect(counted).toMatchObject({ wouldNotFit: 1, inlinePromptChars: start + question + 8_000 });
  expect(promptChars).toBeLessThan(8_000);
  expect(large?.result.metadata.savings).not.toHaveProperty("wouldNotFit");
});

it("a turn that waits often keeps the newest ten attempts of its timeline", async () => {
  const act = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 });
  const chat = new Conversation({ tools: { act } });
  let attempts = 0;
  const about = { agent: "a", model: "m", provider: "p", durationMs: 1, activities: [] };
  const timeline = () => ({ ...about, startedAt: `${++attempts}` });
  const steps = [[toolCall("act", {}), asked]];
  await chat.say({ steps, timeline });
  for (let waits = 0; waits < 11; waits++) await chat.approve({ steps, timeline });
  const kept = chat.history.newest()?.timeline?.map(({ startedAt }) => Number(startedAt));
  expect(kept).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
});

it("an answer with a long value is shown in deltas of a limited length", async () => {
  const chat = new Conversation({});
  await chat.store.save({ name: "big", value: "x".repeat(3 * limits.maxPieceChars) });
  const { chunks } = await say(chat, "All: $big, $big. That is all.", 1);
  const deltas = chunksOf(chunks, "text-delta").map(({ delta }) => delta);
  expect(Math.max(...deltas.map(({ length }) => length))).toBeLessThanOrEqual(limits.maxPieceChars);
  expect(deltas.join("")).toBe(chat.history.newest()?.display?.join(""));
  expect(deltas.length).toBeGreaterThan(3);
});

function say(chat: Conversation, answer: string, chunks?: number | readonly string[]) {
  const cut = chunks === undefined ? {} : { chunks };
  return chat.say({ steps: [[text(answer, cut), finish()]] });
}

it("an answer with references is shown with their values, but stored and sent to the model as written", async () => {
  const chat = new Conversation({});
  await chat.store.save({ name: "city", value: MARKER });
  const first = await say(chat, "You are in $city.", 4);
  expect(shownText(first.chunks)).toBe(`You are in ${MARKER}.`);
  expect(first.result.message.parts.at(-1)).toMatchObject({ text: `You are in ${MARKER}.` });
  const kept = chat.history.newest();
  expect(JSON.stringify(kept?.parts)).toContain("You are in $city.");
  expect(JSON.stringify(kept?.parts)).not.toContain(MARKER);
  expect(kept?.display).toEqual([`You are in ${MARKER}.`]);
  const second = await say(chat, "As I said.");
  expect(JSON.stringify(promptOf(second, 0))).toContain("You are in $city.");
  expect(JSON.stringify(promptOf(second, 0))).not.toContain(MARKER);
});

it("an answer with references shows each of several texts with its own values", async () => {
  const chat = new Conversation({});
  await chat.store.save({ name: "a", value: 1 });
  const one = text("One is $a", { id: "1" });
  const two = text("plain", { id: "2" });
  const three = text("$a.", { id: "3" });
  const { chunks, result } = await chat.say({ steps: [[one, two, three, finish()]] });
  const { message } = await readMessage(chunks);
  const texts = ["One is 1", "plain", "1."];
  expect(message?.parts.slice(1)).toMatchObject(texts.map((text) => ({ text })));
  expect(result.message.parts).toEqual(message?.parts);
  expect(chat.history.newest()?.display).toEqual(texts);
});

it("an answer with references leaves reasoning alone", async () => {
  const chat = new Conversation({});
  await chat.store.save({ name: "a", value: 1 });
  const thought: Part[] = [
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "It is $a." },
    { type: "reasoning-end", id: "r" },
  ];
  const { chunks } = await chat.say({ steps: [[thought, text("$a"), finish()]] });
  expect(chunksOf(chunks, "reasoning-delta").map(({ delta }) => delta)).toEqual(["It is $a."]);
  expect([shownText(chunks), chat.history.newest()?.display]).toEqual(["1", ["1"]]);
});

async function withEvicted(): Promise<Conversation> {
  const chat = new Conversation({});
  const value = { temp: 72 };
  const input = { location: "NYC" };
  await chat.store.save({ name: "nyc", value, tool: "get_weather", input, ttlMs: 1_000 });
  chat.nowMs = START_MS + 1_000;
  return chat;
}

it.each([true, false])(
  "a variable that no longer exists stays as written in an answer, with a notice (swept: %s)",
  async (isSwept) => {
    const chat = await withEvicted();
    if (isSwept) chat.store.evictDue(chat.nowMs, 10);
    const { chunks, result } = await say(chat, "It is $nyc.temp °F.", 3);
    expect(shownText(chunks)).toBe("It is $nyc.temp °F.");
    expect(dataOf(chunks, "data-unresolved")).toEqual([
      {
        reference: "$nyc.temp",
        code: "variable_evicted",
        message:
          "$nyc was evicted at 2026-01-01T00:00:01.000Z (expired). It came from " +
          'get_weather({"location":"NYC"}): call that again to have it back.',
      },
    ]);
    expect(chunksOf(chunks, "data-unresolved")).toMatchObject([{ transient: true }]);
    expect(result.error).toBeUndefined();
    expect(historyText(chat.history)).toContain("It is $nyc.temp °F.");
    expect(chat.history.newest()).not.toHaveProperty("display");
  },
);

it.each([1, 1_200])("each of %i unresolved paths is reported once", async (paths) => {
  const chat = await withEvicted();
  const references = Array.from({ length: 1_200 }, (_, n) => `$nyc.t${n % paths}`);
  const said = references.join(" ");
  const { chunks } = await chat.say({ steps: [[text(said), finish()]] });
  expect(shownText(chunks)).toBe(said);
  const reported = dataOf(chunks, "data-unresolved").map((data) => Object(data).reference);
  expect(reported).toEqual(references.slice(0, Math.min(paths, limits.maxItems)));
  expect(JSON.stringify(chunks).length).toBeLessThan(2 * said.length + 400 * reported.length);
});

const done = [text("Done."), finish()];

function expectNormalEnd(turn: Turn): void {
  expect(turn.result.error).toBeUndefined();
  expect(turn.chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  expect(shownText(turn.chunks)).toBe("Done.");
  expect(turn.calls).toHaveLength(2);
}

it.each([
  [{}, 990, 1_010],
  [{ contextTokens: 100_000 }, 990, 1_010],
  [{ contextTokens: 1_000_000 }, 4_990, 5_010],
  [{ contextTokens: 100_000_000 }, 19_990, 20_010],
  [{ inlineChars: 100 }, 90, 110],
  [{ contextTokens: 1_000_000, inlineChars: 2_000 }, 1_990, 2_010],
])(
  "a result is shown in full with %j up to %i characters, not %i",
  async (options, shown, hidden) => {
    const sizes = [shown, hidden];
    const shownIn = sizes.map(async (size) => {
      const act = toolOf({}, () => "x".repeat(size));
      const agent = { name: "a", description: "", instructions: "", tools: { act }, ...options };
      const turn = await turnWith({ agent, steps: [[toolCall("act", {}), asked], done] });
      return "value" in (resultShown(turn, 1, "call_act") as object);
    });
    expect(await Promise.all(shownIn)).toEqual([true, false]);
  },
);

it("a result is shown in full by no agent with an impossible limit", async () => {
  const agent = { name: "a", description: "", instructions: "", tools: {}, inlineChars: -1 };
  const { result } = await turnWith({ agent, steps: [done] });
  expect(result.error).toMatchObject({ code: "bad_configuration" });
});

it("calls in parallel run concurrently, and their results are saved and shown in the order of the calls", async () => {
  const running: string[] = [];
  const all = Promise.withResolvers<void>();
  const meet = toolOf({ name: z.string() }, async ({ name }) => {
    running.push(name);
    if (running.length === 3) all.resolve();
    await all.promise;
    // The call that started first ends last.
    for (let wait = 3 - running.indexOf(name); wait > 0; wait--) await Promise.resolve();
    return name;
  });
  const names = ["a", "b", "c"];
  const calls = names.map((name) => toolCall("meet", { name }, { id: `call_${name}` }));
  const turn = await turnWith({ tools: { meet }, steps: [[...calls, asked], done] });
  expectNormalEnd(turn);
  expect(running.toSorted()).toEqual(names);
  expect(turn.store.list().map(({ name }) => name)).toEqual(["meet_a", "meet_b", "meet_c"]);
  const ids = chunksOf(turn.chunks, "tool-output-available").map((chunk) => chunk.toolCallId);
  expect(ids).toEqual(["call_a", "call_b", "call_c"]);
});

function breaking(...said: readonly (readonly Part[])[]): Step {
  return async function* () {
    yield* said;
    throw new Error("The connection broke.");
  };
}

const echo = toolOf({ n: z.number() }, ({ n }) => n);

/** Asks another question and returns its prompt, which contains the earlier messages. */
async function nextPrompt(chat: Conversation): Promise<string> {
  const next = await chat.say({ question: "And now?", steps: [done] });
  expect(next.result.error).toBeUndefined();
  return JSON.stringify(promptOf(next, 0));
}

it("a model that fails after tool calls causes none of them to run, and later prompts say so", async () => {
  let runs = 0;
  const count = toolOf({}, () => ++runs);
  const chat = new Conversation({ tools: { count } });
  const turn = await chat.say({
    steps: [breaking(toolCall("count", {}), toolCall("count", "{", { chunks: 1, id: "b" }))],
  });
  expect(turn.result.error?.code).toBe("model_failed");
  expect([runs, chat.store.count()]).toEqual([0, 0]);
  expect(await nextPrompt(chat)).toContain("turn_stopped: The turn ended before this call");
});

it.each(["length", "content-filter"] as const)(
  "an answer that ends early (%s) causes none of its calls to run",
  async (reason) => {
    let runs = 0;
    const count = toolOf({}, () => ++runs);
    const turn = await turnWith({
      tools: { count },
      steps: [[toolCall("count", {}), finish(reason)]],
    });
    expect([turn.result.finishReason, runs, turn.calls.length]).toEqual([reason, 0, 1]);
    expect(turn.result.message.parts[1]).toMatchObject({
      errorText: `skipped: The answer is not complete (${reason}).`,
    });
  },
);

it("a question denies the calls that wait for a person", async () => {
  const act = tool({ inputSchema: z.object({}), needsApproval: true, execute: () => 1 });
  const chat = new Conversation({ tools: { act } });
  await chat.say({ steps: [[toolCall("act", {}), asked]] });
  expect(await nextPrompt(chat)).toContain("Another message was sent before it was decided.");
  expect(chat.history.page({ limit: 9 }).messages[1]?.parts[1]).toMatchObject({
    state: "output-denied",
  });
});

describe("a turn that is stopped", () => {
  /** Stops the turn at the first chunk that the test waits for. */
  function stopping(when: (chunk: UIMessageChunk) => boolean) {
    const controller = new AbortController();
    const onChunk = (chunk: UIMessageChunk) => void (when(chunk) && controller.abort());
    return { signal: controller.signal, onChunk };
  }

  function expectStop(turn: Turn): void {
    expect(typesOf(turn.chunks).slice(-2)).toEqual(["message-metadata", "abort"]);
    expect(typesOf(turn.chunks)).not.toContain("finish");
    expect(typesOf(turn.chunks)).not.toContain("error");
  }

  it("during a text keeps the text so far with expanded references, and emits no more", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "city", value: "Rome" });
    const turn = await chat.say({
      steps: [
        [text("In $city and far beyond", { chunks: ["In $cit", "y and", " far"] }), finish()],
      ],
      ...stopping((chunk) => chunk.type === "text-delta" && chunk.delta.includes("and")),
    });
    expectStop(turn);
    expect(shownText(turn.chunks)).toBe("In Rome and");
    expect(chat.history.newest()).toMatchObject({
      role: "assistant",
      parts: [{ type: "step-start" }, { text: "In $city and", state: "done" }],
      display: ["In Rome and"],
    });
    expect(await nextPrompt(chat)).toContain("In $city and");
  });

  it.each([true, false])("during a tool does not wait for it (heeds: %s)", async (heeds) => {
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const tools: ToolSet = {
      echo,
      hang: toolOf({}, (_, { abortSignal }) => {
        seen = abortSignal;
        queueMicrotask(() => controller.abort());
        return new Promise((_, reject) => {
          if (heeds) abortSignal?.addEventListener("abort", () => reject(new Error("Stopped.")));
        });
      }),
    };
    const chat = new Conversation({ tools });
    const unknown = expect.stringMatching(/^outcome_unknown: /);
    const turn = await chat.say({
      steps: [[text("Wait."), toolCall("hang", {}), toolCall("echo", { n: 1 }), asked], done],
      signal: controller.signal,
    });
    expectStop(turn);
    expect(seen?.aborted).toBe(true);
    expect(turn.calls).toHaveLength(1);
    expect(chat.store.count()).toBe(0);
    expect(chat.history.newest()?.parts).toMatchObject([
      { type: "step-start" },
      { type: "text", text: "Wait." },
      { type: "tool-hang", state: "output-error", errorText: unknown },
      { type: "tool-echo", state: "output-error", errorText: unknown },
    ]);
    // The calls may have had effects, so the model must not assume that they failed.
    const prompt = await nextPrompt(chat);
    expect(prompt).toContain("Wait.");
    expect(prompt).toContain("outcome_unknown");
  });
});
