import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { cut, never, stalling, status } from "../support/fault-steps.ts";
import { expectOutcome, fakeTimers, type Outcome, TIMERS } from "../support/fault-turn.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

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

/** Returns a function that throws `thrown`. */
function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

function cyclic(): unknown {
  const value: Record<string, unknown> = {};
  value.self = [value];
  return value;
}

/** Throws on every access, except that a promise can see that it is not a thenable. */
function closedProxy(): object {
  const closed = throwing(new Error("Closed."));
  const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"];
  const handler = Object.fromEntries(traps.map((trap) => [trap, closed]));
  return new Proxy({}, { ...handler, get: (_, key) => (key === "then" ? undefined : closed()) });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** An object that promises treat as a promise. */
function thenable(then: () => unknown): object {
  return Object.fromEntries(new Map().set("then", then));
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
}

/** An error whose `message` getter throws. */
function mute(): unknown {
  return Object.defineProperty(new Error("No."), "message", { get: throwing("No message.") });
}

function breakingStream(): ReadableStream<Uint8Array> {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      if (pulls++ > 2) throw new TypeError("terminated");
      controller.enqueue(new Uint8Array(100_000));
    },
  });
}

function hangingStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new Uint8Array([91])),
    pull: never,
  });
}

function lockedStream(): ReadableStream<Uint8Array> {
  const stream = new Blob(["ab"]).stream();
  stream.getReader();
  return stream;
}

/** Returns a response with the JSON content type. */
function answering(body: BodyInit): Response {
  return new Response(body, { headers: { "content-type": "application/json" } });
}

async function readResponse(): Promise<Response> {
  const response = answering("[]");
  await response.text();
  return response;
}

/** Yields one result, then the result of `next`. */
async function* yielding(next: () => unknown): AsyncGenerator<unknown> {
  yield 1;
  yield await next();
}

/** Yields results without an end, one per second. */
async function* unending(): AsyncGenerator<number> {
  for (let n = 0; ; n++) {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    yield n;
  }
}

/**
 * Values that a tool may return or throw, and the outcome: an error code, or the saved value. A function creates
 * each value, because some can be read only once and some change.
 */
const hostile: Readonly<Record<string, readonly [run: () => unknown, becomes: string]>> = {
  "a function": [() => () => 1, "bad_value"],
  "a Map with keys of the same text": [
    () =>
      new Map<unknown, 1>([
        [1, 1],
        ["1", 1],
      ]),
    "bad_value",
  ],
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
  "a Proxy that throws": [() => closedProxy(), "tool_failed"],
  "a Proxy that has been revoked": [() => revoked(), "tool_failed"],
  "a thenable that throws": [() => thenable(throwing("No.")), "tool_failed"],
  "a thenable that never comes": [() => thenable(() => undefined), "tool_timeout"],
  "a promise inside that is going to fail": [() => [Promise.reject(new Error("No."))], "bad_value"],
  "an array without elements": [
    () => Array.from({ length: 3 }).concat(Array(2 ** 31)),
    "limit_exceeded",
  ],
  "an array of ten million": [() => Array(1e7).fill(0), "limit_exceeded"],
  "a million objects and one": [
    () => Array.from({ length: 1_000_001 }, () => ({})),
    "limit_exceeded",
  ],
  "lone surrogates": [() => ["\ud800", "\udc00 a \ud800"], '["\\ud800","\\udc00 a \\ud800"]'],
  "a lone surrogate alone": [() => "a\ud800", '"a\\ud800"'],
  "NUL, line ends, BOM": [() => "\0\r\n\u2028\ufeff", '"\\u0000\\r\\n\u2028\ufeff"'],
  "what looks like our own output": [
    () => ({ $var: "other", value: 1 }),
    '{"$var":"other","value":1}',
  ],
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

function isCode(becomes: string): boolean {
  return /^[a-z]+_[a-z]+$/.test(becomes);
}

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
