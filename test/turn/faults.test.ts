import { tool, type ToolSet } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { limits } from "../../src/limits.ts";
import { cut, keptIn, never, stalling, status } from "../support/fault-steps.ts";
import {
  answering,
  handled,
  bottomless,
  breakingStream,
  closedProxy,
  cyclic,
  cyclicMap,
  detached,
  doubled,
  endless,
  hangingStream,
  lockedStream,
  mute,
  nested,
  readResponse,
  revoked,
  throwing,
  unending,
  yielding,
} from "../support/fault-values.ts";
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
/** JSON of more levels than a value may have. */
const DEEP = "[".repeat(300) + "]".repeat(300);
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

afterEach(() => {
  vi.useRealTimers();
});

function endOf({ chunks }: Turn): string {
  const last = chunks.at(-1);
  return last?.type === "error" ? (last.errorText.split(": ")[0] ?? "") : String(last?.type);
}

/** Passes when there is nothing left to wait for but this. */
const TIMERS = ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] as const;

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
  expect(keptIn(message)).toEqual(outcome.keeps);
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
    vi.useFakeTimers({ toFake: [...TIMERS] });
    const chat = new Conversation({ tools: { echo } });
    const running = chat.say({ steps });
    await vi.advanceTimersByTimeAsync(6 * limits.modelSilenceMs);
    const turn = await running;
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await expectOutcome(chat, turn, outcome);
  });

  const inDeep = "[".repeat(300) + "]".repeat(300);

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

/** Made anew for each test: some of these can be read only once, and some change. */
const hostile: Readonly<Record<string, readonly [run: () => unknown, becomes: string]>> = {
  "a cycle": [() => cyclic(), "bad_value"],
  "a Map and a Set in a cycle": [() => cyclicMap(), "bad_value"],
  "a BigInt": [() => 2n ** 64n, '"18446744073709551616"'],
  "a BigInt inside": [() => ({ n: [1n] }), '{"n":["1"]}'],
  undefined: [() => undefined, "null"],
  "a function": [() => () => 1, "bad_value"],
  "a symbol": [() => Symbol("s"), "bad_value"],
  "functions and symbols inside": [() => [() => 1, Symbol("s"), { f: () => 1 }], "[null,null,{}]"],
  "numbers that are none": [() => [Number.NaN, Infinity, -0], "[null,null,0]"],
  "an invalid date": [() => [new Date(Number.NaN)], "[null]"],
  "what only looks like a date": [() => Object.create(Date.prototype), "bad_value"],
  "a Map with keys of the same text": [
    () =>
      new Map<unknown, 1>([
        [1, 1],
        ["1", 1],
      ]),
    "bad_value",
  ],
  "a Map and a Set": [() => new Map([["a", new Set([1])]]), '{"a":[1]}'],
  "a WeakMap": [() => new WeakMap(), "{}"],
  "a getter that throws": [
    () => ({
      get a() {
        throw new Error("No.");
      },
    }),
    "bad_value",
  ],
  "a getter for bytes that throws": [
    () => ({
      get bytes() {
        throw new Error("No.");
      },
    }),
    "tool_failed",
  ],
  "a toJSON that throws": [() => [{ toJSON: throwing("No.") }], "bad_value"],
  "a toJSON that throws nothing at all": [() => [{ toJSON: throwing(undefined) }], "bad_value"],
  "a toJSON that has no end": [() => endless(), "limit_exceeded"],
  "a Proxy that throws": [() => closedProxy(), "tool_failed"],
  "a Proxy that throws, inside": [() => ({ a: [closedProxy()] }), "bad_value"],
  "a Proxy that has been revoked": [() => revoked(), "tool_failed"],
  "a Proxy inside that has been revoked": [() => [revoked()], "bad_value"],
  "a Proxy that has no end": [() => bottomless(), "limit_exceeded"],
  "a thenable that throws": [() => ({ then: throwing("No.") }), "tool_failed"],
  "a thenable that never comes": [() => ({ then: () => undefined }), "tool_timeout"],
  "a promise inside that is going to fail": [
    () => [handled(Promise.reject(new Error("No.")))],
    "bad_value",
  ],
  "an array without elements": [
    () => Array.from({ length: 3 }).concat(Array(2 ** 31)),
    "limit_exceeded",
  ],
  "an array of ten million": [() => Array(1e7).fill(0), "limit_exceeded"],
  "two million objects": [() => Array.from({ length: 2e6 }, () => ({})), "limit_exceeded"],
  "300 levels": [() => JSON.parse(DEEP), "limit_exceeded"],
  "100,000 levels": [() => nested(100_000), "limit_exceeded"],
  "a few objects that stand for very many": [() => doubled(60), "limit_exceeded"],
  "lone surrogates": [() => ["\ud800", "\udc00 a \ud800"], '["\\ud800","\\udc00 a \\ud800"]'],
  "a lone surrogate alone": [() => "a\ud800", '"a\\ud800"'],
  "NUL, line ends, BOM": [() => "\0\r\n\u2028\ufeff", '"\\u0000\\r\\n\u2028\ufeff"'],
  "a key named __proto__": [() => JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
  "what looks like our own output": [
    () => ({ $var: "other", value: 1 }),
    '{"$var":"other","value":1}',
  ],
  "an error": [() => new TypeError("No."), '{"name":"TypeError","message":"No."}'],
  "a detached buffer": [() => detached(), "tool_failed"],
  "a Blob": [() => new Blob(["ab"], { type: "text/plain" }), "bytes"],
  "a Response with an error": [() => new Response("No.", { status: 500 }), "tool_failed"],
  "a Response that is not what it says": [() => answering("{"), "bad_json"],
  "a Response whose body breaks": [() => answering(breakingStream()), "tool_failed"],
  "a Response whose body hangs": [() => answering(hangingStream()), "tool_timeout"],
  "a Response that was read": [() => readResponse(), "tool_failed"],
  "a stream that breaks": [() => breakingStream(), "tool_failed"],
  "a stream that hangs": [() => hangingStream(), "tool_timeout"],
  "a stream of what is no bytes": [
    () => new ReadableStream({ start: (c) => c.enqueue({}) }),
    "tool_failed",
  ],
  "a stream that somebody reads": [() => lockedStream(), "tool_failed"],
  "results one after the other that break": [() => yielding(throwing("No.")), "tool_failed"],
  "results one after the other that hang": [() => yielding(never), "tool_timeout"],
  "results one after the other that never end": [() => unending(), "tool_timeout"],
  "an iterator that is none": [() => ({ [Symbol.asyncIterator]: 5 }), "tool_failed"],
  "nothing, ever": [never, "tool_timeout"],
  "an error that it throws": [throwing(new Error("No.")), "tool_failed"],
  "a word that it throws": [throwing("No."), "tool_failed"],
  "undefined that it throws": [throwing(undefined), "tool_failed"],
  "null that it throws": [throwing(null), "tool_failed"],
  "a BigInt that it throws": [throwing(1n), "tool_failed"],
  "a symbol that it throws": [throwing(Symbol("s")), "tool_failed"],
  "a Proxy that it throws": [throwing(closedProxy()), "tool_failed"],
  "an error with a cycle that it throws": [throwing(cyclic()), "tool_failed"],
  "an error that cannot say what it is": [throwing(mute()), "tool_failed"],
  "an error of a megabyte": [throwing(new Error("x".repeat(1_000_000))), "tool_failed"],
  "an error that calls itself ours": [
    throwing({ code: "storage_full", message: "No." }),
    "storage_full",
  ],
  "an abort that nobody asked for": [
    throwing(new DOMException("No.", "AbortError")),
    "tool_failed",
  ],
};

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
    const isError = /^[a-z]+_[a-z]+$/.test(becomes);
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

  it("something else in each call, all of them at once, breaks nothing", async () => {
    const names = Object.keys(hostile).filter((name) => hostile[name]?.[1] !== "tool_timeout");
    const act = tool({
      inputSchema: z.object({ name: z.string() }),
      execute: ({ name }) => hostile[name]?.[0](),
    });
    const chat = new Conversation({ tools: { act } });
    const calls = names.map((name, index) => toolCall("act", { name }, { id: `call_${index}` }));
    const turn = await chat.say({ steps: [[...calls, asked], said] });
    expect(endOf(turn)).toBe("finish");
    const states = keptIn(chat.history.newest()).slice(0, -1);
    const isError = (becomes = "") => /^[a-z]+_[a-z]+$/.test(becomes);
    const expected = names.map((name) => hostile[name]?.[1]);
    expect(states).toEqual(
      expected.map((becomes) => `act ${isError(becomes) ? becomes : "output-available"}`),
    );
  });
});
