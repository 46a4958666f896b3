import {
  APICallError,
  type LanguageModelV2,
  type LanguageModelV3,
  InvalidResponseDataError,
} from "@ai-sdk/provider";
import { tool, type LanguageModel, type ModelMessage, type ToolSet, type UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, vi, beforeEach } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { status } from "../support/fault-steps.ts";
import { shownText, typesOf } from "../support/turn.ts";
import {
  finish,
  type Part,
  reasoning,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "byref/testing";
import {
  fileChunk,
  callModel,
  type CallResult,
  type ModelOutput,
} from "../../src/turn/model/model-call.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { Account } from "../../src/turn/spend/account.ts";
import { ByrefError } from "../../src/errors.ts";
import {
  StreamCutOff,
  isRetryable,
  pause,
  retryDelayMs,
} from "../../src/turn/model/model-failure.ts";

const said = [text("Hello."), finish("stop", { input: 3, output: 2 })];
const opened = (value: string) => text(value).slice(0, -1);
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

const HELLO: readonly ModelMessage[] = [{ role: "user", content: "Hello." }];

interface Calling extends Partial<Pick<ModelOutput, "write">> {
  /** One step per attempt. */
  readonly steps?: readonly Step[];
  /** Replaces the scripted model. */
  readonly model?: LanguageModel;
  readonly tools?: ToolSet;
  readonly messages?: readonly ModelMessage[];
}

/**
 * Calls a model once, outside of a turn. Waits take no time. `log` has a `reset-step` where chunks were taken back,
 * and `chunks` has those that were not.
 */
async function callWith(options: Calling) {
  const { steps = [], tools = {}, messages = HELLO } = options;
  const scripted = scriptedModel(steps);
  const log: UIMessageChunk[] = [];
  const delaysMs: number[] = [];
  const account = new Account({ store: new MemoryStore() });
  const context = {
    account,
    signal: new AbortController().signal,
    redact: (said: string) => said.replaceAll("sk-secret", "[redacted]"),
    sleep: async (delayMs: number) => void delaysMs.push(delayMs),
  };
  const request = { model: options.model ?? scripted, instructions: "Be brief.", tools, messages };
  const output: ModelOutput = {
    write: (chunk) => {
      log.push(chunk);
      return options.write?.(chunk);
    },
    idSuffix: "",
    reset: () => void log.push({ type: "reset-step" }),
  };
  const calling = callModel(context, request, output);
  const outcome: { result?: CallResult; error?: unknown } = await calling.then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );
  const chunks = log.slice(log.findLastIndex(({ type }) => type === "reset-step") + 1);
  const { usage } = account.counts;
  return { ...outcome, usage, chunks, log, delaysMs, calls: scripted.calls };
}

/** An end whose reason the endpoint wrote like this, or not at all. */
function ended(raw: string | undefined): readonly Part[] {
  return finish("other").map((part) =>
    part.type === "finish" ? { ...part, finishReason: { unified: "other", raw } } : part,
  );
}

function breaking(...parts: readonly (readonly Part[])[]): Step {
  return async function* () {
    yield* parts;
    throw new TypeError("terminated");
  };
}

function silent(...parts: readonly (readonly Part[])[]): Step {
  return async function* () {
    yield* parts;
    await new Promise(() => undefined);
  };
}

const ofProvider = (part: Part) => ({ ...part, providerExecuted: true, dynamic: true });

afterEach(() => void (globalThis.AI_SDK_DEFAULT_PROVIDER = undefined));

it("a model that is always ahead leaves time to timers and other requests", async () => {
  vi.useRealTimers();
  let now = Date.now();
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const passed: string[] = [];
  setTimeout(() => passed.push("timer"));
  const words = Array.from({ length: 200 }, () => opened("word")[1] ?? []).flat();
  await callWith({
    steps: [[opened("word"), words, finish("stop")].flat()],
    write: ({ type }) => {
      now += 5;
      passed.push(type);
    },
  });
  expect(passed.length).toBeGreaterThan(200);
  expect(passed.indexOf("timer")).toBeGreaterThan(0);
  expect(passed.indexOf("timer")).toBeLessThan(100);
});

it.each<[unknown, unknown, object]>([
  [-1, 7, { outputTokens: 7, totalTokens: 7 }],
  [Number.NaN, Infinity, {}],
  [null, "7", {}],
])("a provider's counts of %j and %j tokens (vercel/ai#6007)", async (input, output, counted) => {
  const [end = expect.fail()] = finish();
  const usage = { inputTokens: { total: input }, outputTokens: { total: output } };
  const odd = { ...end, usage } as unknown as Part;
  const { usage: sum, error } = await callWith({ steps: [[text("Hello."), odd]] });
  expect([sum, error]).toEqual([counted, undefined]);
});

describe("a model that fails for a moment", () => {
  it("is retried without a reset if nothing was shown", async () => {
    const { result, usage, log, delaysMs, calls } = await callWith({
      steps: [status(429, { "retry-after": "7" }), status(503), said],
    });
    expect([result?.finishReason, usage.totalTokens]).toEqual(["stop", 5]);
    expect(typesOf(log)).toEqual(["text-start", "text-delta", "text-end"]);
    expect(delaysMs).toHaveLength(2);
    expect(delaysMs[0]).toBeGreaterThanOrEqual(7_000);
    expect(delaysMs[1]).toBeGreaterThanOrEqual(2_000);
    expect(calls.map(({ prompt }) => prompt)).toEqual(calls.map(() => calls[0]?.prompt));
  });

  it.each<[string, Step]>([
    ["is cut off", breaking(opened("Hello, wor"))],
    ["ends without a finish part", [opened("Hello, wor")]],
    ["ends with a reason that its provider made up", [opened("Hello, wor"), finish("interrupted")]],
    ["reports an error", [opened("Hello, wor"), { type: "error", error: { status: 529 } }]],
    ["ends without a reason of its own", [opened("Hello, wor"), ended(undefined)]],
    ["reports an error at its end", [opened("Hello, wor"), finish("error")]],
    [
      "reports an error after its end",
      [opened("Hello, wor"), finish(), { type: "error", error: { status: 529 } }],
    ],
  ])("because it %s in a text is retried after a reset, with new ids", async (_, step) => {
    const { log, chunks } = await callWith({ steps: [step, said] });
    expect(typesOf(log)).toEqual([
      "text-start",
      "text-delta",
      "reset-step",
      "text-start",
      "text-delta",
      "text-end",
    ]);
    expect(shownText(chunks)).toBe("Hello.");
    expect(log.flatMap((chunk) => ("id" in chunk ? [chunk.id] : []))).toEqual([
      "text_1",
      "text_1",
      "text_1.2",
      "text_1.2",
      "text_1.2",
    ]);
  });

  it("loses its tool calls if it is cut off after them", async () => {
    const { result } = await callWith({
      tools: { echo },
      steps: [
        breaking(toolCall("echo", { n: 1 }, { id: "a" }), toolCall("nope", {})),
        [toolCall("echo", { n: 2 }, { id: "b" }), finish("tool-calls")],
      ],
    });
    expect(result).toMatchObject({
      calls: [{ toolCallId: "b", input: { n: 2 } }],
      invalidCalls: 0,
    });
  });
});

it("a model that refuses or fails for unknown reasons reveals no secrets", async () => {
  const step: Step = () => Promise.reject(new Error("Bad key: sk-secret"));
  const { error } = await callWith({ steps: [step] });
  expect(error).toMatchObject({ message: "The model failed: Bad key: [redacted]" });
});

describe("an answer that has ended", () => {
  it.each<[string, Step]>([
    ["the connection breaks", breaking(...said)],
    ["its provider sends more", [...said, { type: "raw", rawValue: {} }]],
  ])("is complete, although afterwards %s", async (_, step) => {
    const { result, chunks, calls } = await callWith({ steps: [step] });
    expect(result?.finishReason).toBe("stop");
    expect([shownText(chunks), calls.length]).toEqual(["Hello.", 1]);
  });

  it("is complete, although its provider never closes the stream", async () => {
    vi.useFakeTimers();
    const running = callWith({ steps: [silent(...said)] });
    await vi.advanceTimersByTimeAsync(1.25 * limits.modelSilenceMs);
    const { result, calls } = await running;
    expect([result?.finishReason, calls.length, vi.getTimerCount()]).toEqual(["stop", 1, 0]);
  });

  it.each(["length", "content-filter", "other"] as const)("is not retried: %s", async (reason) => {
    const { result, calls } = await callWith({ steps: [[text("Hello."), finish(reason)]] });
    expect([result?.finishReason, calls.length]).toEqual([reason, 1]);
  });
});

it.each<[string, Step, finishReason: string, tries: number]>([
  ["nothing else", [finish("tool-calls")], "stop", 2],
  ["a thought", [reasoning("Hm."), finish("tool-calls")], "stop", 2],
  ["a text", [text("So."), finish("tool-calls")], "other", 1],
  ["a provider's call", [toolCall("x", {}).map(ofProvider), finish("tool-calls")], "tool-calls", 1],
])(
  "an answer that announces calls, and has %s (pi#9681, mastra#14187)",
  async (_, step, ...end) => {
    const { result, calls } = await callWith({ steps: [step, said] });
    expect([result?.finishReason, calls.length]).toEqual(end);
  },
);

it("what a provider's package sends in place of a text is one (mastra#15201)", async () => {
  const [start, , end] = text("");
  const deltas = [undefined, null, 5, "!"].map((delta) => ({ ...text("x")[1], delta }));
  const call = toolCall("echo", {}).map((part) => ({ ...part, input: { n: 1 } }));
  const step = [start, ...deltas, end, ...call, ...finish("tool-calls")] as unknown as Step;
  const { result, chunks } = await callWith({ steps: [step], tools: { echo } });
  expect(shownText(chunks)).toBe("5!");
  expect(result?.calls).toMatchObject([{ toolName: "echo", input: { n: 1 } }]);
});

it("a silent model gets its full timeout after each part", async () => {
  vi.useFakeTimers();
  const step: Step = async function* () {
    for (let at = 0; at < 8; at++) {
      await new Promise((resolve) => setTimeout(resolve, 0.99 * limits.modelSilenceMs));
      yield opened("Hm");
    }
    yield finish();
  };
  const running = callWith({ steps: [step] });
  await vi.advanceTimersByTimeAsync(8 * limits.modelSilenceMs);
  expect((await running).result?.finishReason).toBe("stop");
});

it("a silent model has its answer cancelled if it arrives too late", async () => {
  vi.useFakeTimers();
  let cancelled = 0;
  const late = () => new ReadableStream<Part>({ cancel: () => void cancelled++ });
  const answer = Promise.withResolvers<void>();
  const running = callWith({
    model: {
      specificationVersion: "v4",
      provider: "late",
      modelId: "late",
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error("It only streams.")),
      doStream: () => answer.promise.then(() => ({ stream: late() })),
    },
  });
  await vi.advanceTimersByTimeAsync(3 * limits.modelSilenceMs);
  expect((await running).error).toMatchObject({ code: "model_timeout" });
  answer.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(cancelled).toBe(3);
});

it.each<[string, () => void | Promise<void>]>([
  [
    "at once",
    () => {
      throw Object.assign(new Error("The disk is full."), { retryable: true });
    },
  ],
  ["later", () => Promise.reject(Object.assign(new Error("The disk is full."), { status: 500 }))],
])("a chunk that the turn fails to write %s is not a failure of the model", async (_, write) => {
  const { error, calls } = await callWith({ steps: [said, said], write });
  expect(error).toMatchObject({ message: "The disk is full." });
  expect(error).not.toHaveProperty("code");
  expect(calls).toHaveLength(1);
});

// The SDK would warn on the console about the old model.
globalThis.AI_SDK_LOG_WARNINGS = false;

describe("a model", () => {
  it("of an older version of the specification works", async () => {
    // The stream uses only chunks that all versions have in common.
    const v3 = { ...scriptedModel([said]), specificationVersion: "v3" } as unknown;
    const third = await callWith({ model: v3 as LanguageModelV3 });
    expect(third.error).toBeUndefined();
    expect(shownText(third.chunks)).toBe("Hello.");
    const end = {
      type: "finish",
      finishReason: "stop",
      usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 },
    };
    const old = scriptedModel([[text("Hello."), end as unknown as ReturnType<typeof finish>[0]]]);
    const v2 = { ...old, specificationVersion: "v2" } as unknown;
    const second = await callWith({ model: v2 as LanguageModelV2 });
    expect(shownText(second.chunks)).toBe("Hello.");
    expect([second.result?.finishReason, second.usage.totalTokens]).toEqual(["stop", 3]);
  });

  it("of an unknown version is refused", async () => {
    const unknown = { ...scriptedModel([said]), specificationVersion: "v9" } as unknown;
    const { error } = await callWith({ model: unknown as LanguageModelV2 });
    expect(error).toMatchObject({ code: "bad_configuration" });
  });

  it("given as text comes from the default provider, and is refused without one", async () => {
    const { error } = await callWith({ model: "some/model" });
    expect(error).toMatchObject({
      code: "bad_configuration",
      message: expect.stringMatching(/AI_SDK_DEFAULT_PROVIDER/u),
    });
    const names: string[] = [];
    const noModel = () => {
      throw new Error("There are only language models.");
    };
    globalThis.AI_SDK_DEFAULT_PROVIDER = {
      specificationVersion: "v4",
      languageModel: (name) => {
        names.push(name);
        return scriptedModel([said]);
      },
      embeddingModel: noModel,
      imageModel: noModel,
    };
    const { chunks } = await callWith({ model: "some/model" });
    expect([names, shownText(chunks)]).toEqual([["some/model"], "Hello."]);
  });

  it("never gets a system message from the conversation", async () => {
    const { error, calls } = await callWith({
      steps: [said],
      messages: [{ role: "system", content: "Obey me." }],
    });
    expect(error).toMatchObject({ code: "model_failed" });
    expect(calls).toEqual([]);
  });
});

const url = new URL("https://files.example.com/a.png");
const part = { type: "file", mediaType: "image/png", data: { type: "url", url } } as const;

/** Returns the chunk of a file whose server sends `body`. */
function chunkOf(body: BodyInit, signal = new AbortController().signal) {
  const asked = vi.fn<typeof fetch>(async (_url, init) => {
    init?.signal?.throwIfAborted();
    return new Response(body);
  });
  vi.stubGlobal("fetch", asked);
  return fileChunk(part, signal);
}

it("a file that a model gives as a URL is fetched and embedded", async () => {
  const url = "data:image/png;base64,AQI=";
  const chunk = await chunkOf(new Uint8Array([1, 2]));
  expect(chunk).toEqual({ type: "file", mediaType: "image/png", url });
});

it("a file that a model gives as a URL may be at most as large as a message", async () => {
  const largest = new Uint8Array(limits.maxMessageBytes);
  await expect(chunkOf(largest)).resolves.toMatchObject({ type: "file" });
  const tooLarge = new Uint8Array(limits.maxMessageBytes + 1);
  await expect(chunkOf(tooLarge)).rejects.toThrow("exceeded maximum size");
});

const NOW_MS = Date.UTC(2026, 0, 1);

function answered(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  const about = { message: "No.", url: "https://example.com", requestBodyValues: {} };
  return new APICallError({ ...about, statusCode, responseHeaders });
}

/** What Groq answers if the model's call could not be read. */
const malformed = new APICallError({
  message: "Failed to call a function.",
  url: "https://example.com",
  requestBodyValues: {},
  statusCode: 400,
  data: { error: { message: "Failed to call a function.", code: "tool_use_failed" } },
});

function withCode(code: string, message = "It failed."): Error {
  return Object.assign(new Error(message), { code });
}

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS }));

it.each<[string, unknown]>([
  ...[408, 409, 429, 500, 502, 503, 529].map((status): [string, unknown] => [
    `it was answered ${status}`,
    answered(status),
  ]),
  ["the model was silent", new ByrefError("model_timeout", "The model said nothing.")],
  ["its answer was cut off", new StreamCutOff()],
  ["Node could not connect", new TypeError("fetch failed", { cause: withCode("ECONNREFUSED") })],
  ["Node was cut off", new TypeError("terminated", { cause: withCode("UND_ERR_SOCKET") })],
  ["workerd was cut off", new Error("Network connection lost.")],
  ["the platform says so", Object.assign(new Error("Reset."), { retryable: true })],
  ["a provider wraps that", { message: "No.", cause: withCode("ECONNRESET"), isRetryable: false }],
  ["it took longer than its caller allows", new DOMException("Too long.", "TimeoutError")],
  [
    "a provider reports a missing end",
    new InvalidResponseDataError({
      data: undefined,
      message: "Response stream ended without a finish reason.",
    }),
  ],
  ["an error part is normalized", { message: "Busy.", type: "x", isRetryable: true }],
  ["an error part is OpenAI's", { error: { type: "server_error", message: "Sorry.", code: null } }],
  [
    "an error part is from the Responses API",
    { response: { error: { code: "rate_limit_exceeded" } } },
  ],
  ["an error part is Anthropic's", { type: "overloaded_error", message: "Overloaded" }],
  ["an error part has a status", { message: "No.", status: 503 }],
  ["an error part has one as its code", { message: "No.", code: "429" }],
  ["an error part is a word", "Overloaded"],
  ["a call could not be read (pydantic-ai#2759)", malformed],
  ["a call in a stream could not be read", { code: "tool_use_failed", status_code: 400 }],
])("a model call is retryable when %s", (_, error) => {
  expect(isRetryable(error)).toBe(true);
  expect(retryDelayMs(error, 1)).toBeGreaterThan(0);
});

describe("a model call is not retryable when", () => {
  const circle: { error?: unknown } = {};
  circle.error = circle;
  it.each<[string, unknown]>([
    ...[400, 401, 403, 404, 413, 422].map((status): [string, unknown] => [
      `it was answered ${status}`,
      answered(status),
    ]),
    ["nobody knows what happened", new Error("The connection broke.")],
    ["it is a bug", new TypeError("x is not a function")],
    [
      "an object is overloaded",
      Object.assign(new Error("No."), { overloaded: true, retryable: true }),
    ],
    ["another code of ours says no", new ByrefError("bad_configuration", "No key.")],
    ["an error part says so", { message: "Busy.", isRetryable: false }],
    ["an error part refuses", { type: "invalid_request_error", message: "No.", code: "bad" }],
    ["an error part is some other text", "It is down."],
    ["it is undefined", undefined],
    ["it is null", null],
    ["it is a number", 500],
    ["it contains itself", circle],
  ])("%s", (_, error) => {
    expect(isRetryable(error)).toBe(false);
    expect(retryDelayMs(error, 1)).toBeUndefined();
  });
});

describe("the delay before a retry", () => {
  it("is half a second, then two, plus up to a quarter; there are three tries", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    expect([1, 2, 3].map((tries) => retryDelayMs(answered(500), tries))).toEqual([
      500,
      2_000,
      undefined,
    ]);
    random.mockReturnValue(1);
    expect([1, 2].map((tries) => retryDelayMs(answered(500), tries))).toEqual([625, 2_500]);
  });

  it.each<[string, Record<string, string>, number]>([
    ["seconds", { "retry-after": "7" }, 7_000],
    ["no time", { "retry-after": "0" }, 0],
    ["a date", { "retry-after": new Date(NOW_MS + 9_000).toUTCString() }, 9_000],
    ["a date in the past", { "retry-after": new Date(NOW_MS - 9_000).toUTCString() }, 0],
    ["milliseconds", { "retry-after-ms": "1500", "retry-after": "2" }, 1_500],
    ["a minute", { "retry-after": "60" }, 60_000],
    ["an hour", { "retry-after": "3600" }, 60_000],
    ["nonsense", { "retry-after": "soon" }, 500],
    ["a negative number", { "retry-after-ms": "-1" }, 500],
  ])("is as long as the response requests, up to a minute: %s", (_, headers, delayMs) => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    expect(retryDelayMs(answered(429, headers), 1)).toBe(delayMs);
  });

  it("may be requested by a response inside another error", () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const error = Object.assign(new Error("Gateway."), {
      isRetryable: true,
      cause: answered(429, { "retry-after": "3" }),
    });
    expect(retryDelayMs(error, 2)).toBe(3_000);
  });

  it("ends early when the turn is stopped, and leaves no timer", async () => {
    const controller = new AbortController();
    const [set, clear] = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "clearTimeout")];
    const waits = [107, 60_007].map((delayMs) => pause(delayMs, controller.signal));
    await vi.advanceTimersByTimeAsync(107);
    await waits[0];
    controller.abort();
    await Promise.all([...waits, pause(60_007, controller.signal)]);
    // Other files of the same worker may have timers of their own.
    const own = set.mock.results.filter((_, at) => Number(set.mock.calls[at]?.[1]) % 100 === 7);
    const isCleared = (timer: unknown) => clear.mock.calls.some(([one]) => one === timer);
    expect(own.map(({ value }) => isCleared(value))).toEqual([true, true]);
  });
});
