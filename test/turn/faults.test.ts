import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { limits } from "../../src/limits.ts";
import { cut, never, stalling, status } from "../support/fault-steps.ts";
import { expectOutcome, type Outcome, TIMERS } from "../support/fault-turn.ts";
import { DEEP } from "../support/fault-values.ts";
import { finish, type Step, text, toolCall } from "../support/scripted-model.ts";
import { Conversation, promptOf } from "../support/turn.ts";

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
    vi.useFakeTimers({ toFake: [...TIMERS] });
    const chat = new Conversation({ tools: { echo } });
    const running = chat.say({ steps });
    await vi.advanceTimersByTimeAsync(6 * limits.modelSilenceMs);
    const turn = await running;
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await expectOutcome(chat, turn, outcome);
  });

  it.each<[string, Step, readonly string[]]>([
    ["is no JSON", [toolCall("echo", '{"n": 1'), asked], ["echo AI_InvalidToolInputError"]],
    [
      "is no JSON, in pieces",
      [toolCall("echo", "{n", { chunks: 1 }), asked],
      ["echo AI_InvalidToolInputError"],
    ],
    ["is not what it takes", [toolCall("echo", { n: [] }), asked], ["echo invalid_tool_input"]],
    ["is deeper than any value", [toolCall("echo", DEEP), asked], ["echo invalid_tool_input"]],
    ["is for none that there is", [toolCall("nope", { n: 1 }), asked], ["nope AI_NoSuchToolError"]],
    [
      "is for what every object has",
      [toolCall("constructor", {}), toolCall("__proto__", {}, { id: "b" }), asked],
      ["constructor AI_NoSuchToolError", "__proto__ AI_NoSuchToolError"],
    ],
  ])("whose tool call %s is told so, and goes on", async (_, step, keeps) => {
    const chat = new Conversation({ tools: { echo } });
    const turn = await chat.say({ steps: [step, said] });
    expect(JSON.stringify(promptOf(turn, 1)).match(/"error-text"/g)).toHaveLength(keeps.length);
    expect(chat.store.count()).toBe(0);
    await expectOutcome(chat, turn, { ends: "finish", keeps: [...keeps, "Hello."], calls: 2 });
  });
});
