import { tool, type ToolSet } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { limits } from "../../src/limits.ts";
import { cut, keptIn, never, stalling, status } from "../support/fault-steps.ts";
import { finish, type Step, text, toolCall } from "../support/scripted-model.ts";
import { Conversation, promptOf, readMessage, shownText, type Turn } from "../support/turn.ts";

/** What a fault comes to. After each of them the next message is answered. */
interface Outcome {
  /** The last part that a client gets; of an error its code. */
  readonly ends: string;
  /** What the answer in the history has, part by part; empty if there is none. */
  readonly keeps: readonly string[];
  /** How often the model was called. */
  readonly calls: number;
}

const asked = finish("tool-calls");
const said: Step = [text("Hello."), finish()];
const opened = (words: string) => text(words).slice(0, -1);
const half = opened("Hello, wor");
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

afterEach(() => {
  vi.useRealTimers();
});

function endOf({ chunks }: Turn): string {
  const last = chunks.at(-1);
  return last?.type === "error" ? (last.errorText.split(": ")[0] ?? "") : String(last?.type);
}

/** Hours in a moment, for what waits for timers; digests are made outside of the clock. */
async function inNoTime<Result>(running: Promise<Result>): Promise<Result> {
  let isDone = false;
  const done = () => void (isDone = true);
  running.then(done, done);
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(limits.modelSilenceMs / 4);
  }
  return running;
}

async function expectOutcome(chat: Conversation, turn: Turn, outcome: Outcome): Promise<void> {
  const { messages } = chat.history.page({ limit: 10 });
  const roles = outcome.keeps.length > 0 ? ["user", "assistant"] : ["user"];
  expect(messages.map(({ role }) => role)).toEqual(roles);
  expect({ ends: endOf(turn), keeps: keptIn(messages[1]), calls: turn.calls.length }).toEqual(
    outcome,
  );
  expect(turn.result.error?.code).toBe(outcome.ends === "finish" ? undefined : outcome.ends);
  // What a stock client has at the end is what was kept.
  const { message, errors } = await readMessage(turn.chunks.filter(({ type }) => type !== "error"));
  expect(errors).toEqual([]);
  expect(keptIn(message as Parameters<typeof keptIn>[0])).toEqual(outcome.keeps);
  expect(chat.journal.head()).toMatchObject({ isOpen: false });
  const next = await chat.say({ question: "And now?", steps: [said] });
  expect([endOf(next), shownText(next.chunks)]).toEqual(["finish", "Hello."]);
  expect(JSON.stringify(promptOf(next, 0))).toContain("And now?");
}

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
    ["does not begin twice", twice(never), answered(3)],
    ["does not begin at all", always(never), late()],
    ["stalls in mid-stream twice", twice(stalling(half)), answered(3)],
    ["stalls in mid-stream always", always(stalling(half)), late("Hello, wor")],
    ["loses its connection in mid-delta twice", twice(cut(half)), answered(3)],
    ["loses its connection in mid-delta always", always(cut(half)), failed(3, "Hello, wor")],
    [
      "loses its connection in a tool call",
      [cut(toolCall("echo", '{"n": 1', { chunks: 2 }).slice(0, -2)), said],
      answered(2),
    ],
    ["loses its connection behind its end", [cut(text("Hello."), finish())], answered(1)],
    ["says nothing, and ends", [[finish()]], { ends: "finish", keeps: [], calls: 1 }],
    ["ends without an end", always([half]), failed(3, "Hello, wor")],
  ])("that %s", async (_, steps, outcome) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    const chat = new Conversation({ tools: { echo } });
    const turn = await inNoTime(chat.say({ steps }));
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await expectOutcome(chat, turn, outcome);
  });

  const inDeep = "[".repeat(300) + "]".repeat(300);

  it.each<[string, Step, readonly string[]]>([
    ["is no JSON", [toolCall("echo", '{"n": 1'), asked], ["echo output-error"]],
    ["is no JSON, in pieces", [toolCall("echo", "{n", { chunks: 1 }), asked], ["echo output-error"]],
    ["is not what the tool takes", [toolCall("echo", { n: [] }), asked], ["echo output-error"]],
    ["is deeper than any value", [toolCall("echo", inDeep), asked], ["echo output-error"]],
    ["is for a tool that is unknown", [toolCall("nope", { n: 1 }), asked], ["nope output-error"]],
    [
      "is for a property of every object",
      [toolCall("constructor", { n: 1 }), toolCall("__proto__", {}, { id: "b" }), asked],
      ["constructor output-error", "__proto__ output-error"],
    ],
  ])("whose tool call %s is told so, and goes on", async (_, step, keeps) => {
    const chat = new Conversation({ tools: { echo } });
    const turn = await chat.say({ steps: [step, said] });
    const told = JSON.stringify(promptOf(turn, 1));
    expect(told).toMatch(/error-text|error-json/);
    const { parts } = chat.history.newest() ?? { parts: [] };
    console.log(JSON.stringify(parts));
    expect(chat.store.count()).toBe(0);
    await expectOutcome(chat, turn, { ends: "finish", keeps: [...keeps, "Hello."], calls: 2 });
  });
});
