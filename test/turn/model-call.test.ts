import { APICallError, type LanguageModelV2, type LanguageModelV3 } from "@ai-sdk/provider";
import { tool, type LanguageModel, type ModelMessage, type ToolSet, type UIMessageChunk } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { shownText, typesOf } from "../support/turn.ts";
import { finish, type Part, scriptedModel, type Step, text, toolCall } from "byref/testing";
import {
  fileChunk,
  callModel,
  type CallModelResult,
  type ModelOutput,
} from "../../src/turn/model/model-call.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { Account } from "../../src/turn/spend/account.ts";
import { NOTHING_SPENT, Spend } from "../../src/turn/spend/spend.ts";

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
  /** False makes the call fail instead of retrying. Default: the call can retry. */
  readonly canReset?: false;
}

/**
 * Calls a model once, outside of a turn. Waits take no time. `log` has a `reset-step` where chunks were taken back,
 * and `chunks` has those that were not.
 */
async function callWith(options: Calling) {
  const { steps = [], tools = {}, messages = HELLO, canReset = true } = options;
  const scripted = scriptedModel(steps);
  const log: UIMessageChunk[] = [];
  const delaysMs: number[] = [];
  const account = new Account(new MemoryStore(), new Spend({}, NOTHING_SPENT));
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
    ...(canReset ? { reset: () => void log.push({ type: "reset-step" }) } : {}),
  };
  const outcome: { result?: CallModelResult; error?: unknown } = await callModel(
    context,
    request,
    output,
  ).then(
    (result) => ({ result }),
    (error: unknown) => ({ error }),
  );
  const chunks = log.slice(log.findLastIndex(({ type }) => type === "reset-step") + 1);
  const { usage } = account.counts;
  return { ...outcome, usage, chunks, log, delaysMs, calls: scripted.calls };
}

function failing(statusCode: number, responseHeaders: Record<string, string> = {}): Step {
  return () => {
    const about = { message: `Said ${statusCode}.`, url: "", requestBodyValues: {} };
    throw new APICallError({ ...about, statusCode, responseHeaders });
  };
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

afterEach(() => {
  globalThis.AI_SDK_DEFAULT_PROVIDER = undefined;
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe("a model that fails for a moment", () => {
  it("is retried without a reset if nothing was shown", async () => {
    const { result, usage, log, delaysMs, calls } = await callWith({
      steps: [failing(429, { "retry-after": "7" }), failing(503), said],
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

  it("is not retried if its output cannot be reset", async () => {
    const { error, calls } = await callWith({ steps: [failing(500), said], canReset: false });
    expect(error).toMatchObject({ code: "model_failed" });
    expect(calls).toHaveLength(1);
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

  it.each(["length", "content-filter", "other"] as const)(
    "is not retried, whatever its reason: %s",
    async (reason) => {
      const { result, calls } = await callWith({ steps: [[text("Hello."), finish(reason)]] });
      expect([result?.finishReason, calls.length]).toEqual([reason, 1]);
    },
  );
});

describe("a silent model", () => {
  it("gets its full timeout after each part", async () => {
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

  it("has its answer cancelled if it arrives too late", async () => {
    vi.useFakeTimers();
    let cancelled = 0;
    const late = new ReadableStream<Part>({ cancel: () => void cancelled++ });
    const answer = Promise.withResolvers<{ stream: ReadableStream<Part> }>();
    const running = callWith({
      model: {
        specificationVersion: "v4",
        provider: "late",
        modelId: "late",
        supportedUrls: {},
        doGenerate: () => Promise.reject(new Error("It only streams.")),
        doStream: () => answer.promise,
      },
      canReset: false,
    });
    await vi.advanceTimersByTimeAsync(limits.modelSilenceMs);
    expect((await running).error).toMatchObject({ code: "model_timeout" });
    answer.resolve({ stream: late });
    await vi.advanceTimersByTimeAsync(0);
    expect(cancelled).toBe(1);
  });
});

describe("a chunk that the turn fails to write", () => {
  it.each<[string, () => void | Promise<void>]>([
    [
      "at once",
      () => {
        throw Object.assign(new Error("The disk is full."), { retryable: true });
      },
    ],
    ["later", () => Promise.reject(Object.assign(new Error("The disk is full."), { status: 500 }))],
  ])("%s is not a failure of the model", async (_, write) => {
    const { error, calls } = await callWith({ steps: [said, said], write });
    expect(error).toMatchObject({ message: "The disk is full." });
    expect(error).not.toHaveProperty("code");
    expect(calls).toHaveLength(1);
  });
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

describe("a file that a model gives as a URL", () => {
  it("is fetched and embedded", async () => {
    const url = "data:image/png;base64,AQI=";
    const chunk = await chunkOf(new Uint8Array([1, 2]));
    expect(chunk).toEqual({ type: "file", mediaType: "image/png", url });
  });

  it("may be at most as large as a message", async () => {
    const largest = new Uint8Array(limits.maxMessageBytes);
    await expect(chunkOf(largest)).resolves.toMatchObject({ type: "file" });
    const tooLarge = new Uint8Array(limits.maxMessageBytes + 1);
    await expect(chunkOf(tooLarge)).rejects.toThrow("exceeded maximum size");
  });
});
