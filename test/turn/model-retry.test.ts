import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { cut, status } from "../support/fault-steps.ts";
import { callWith } from "../support/model-call.ts";
import { finish, type Part, type Step, text, toolCall } from "byref/testing";
import { shownText, typesOf } from "../support/turn.ts";

const said = [text("Hello."), finish("stop", { input: 3, output: 2 })];
const opened = (value: string) => text(value).slice(0, -1);
const echo = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });

/** An end whose reason the endpoint wrote like this, or not at all. */
function ended(raw: string | undefined): readonly Part[] {
  return finish("other").map((part) =>
    part.type === "finish" ? { ...part, finishReason: { unified: "other", raw } } : part,
  );
}

function silent(...parts: readonly (readonly Part[])[]): Step {
  return async function* () {
    yield* parts;
    await new Promise(() => undefined);
  };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("a model that fails for a moment", () => {
  it("is retried without a reset if nothing was shown", async () => {
    const { result, log, delaysMs, calls } = await callWith({
      steps: [status(429, { "retry-after": "7" }), status(503), said],
    });
    expect(result).toMatchObject({ finishReason: "stop", usage: { totalTokens: 5 } });
    expect(typesOf(log)).toEqual(["text-start", "text-delta", "text-end"]);
    expect(delaysMs).toHaveLength(2);
    expect(delaysMs[0]).toBeGreaterThanOrEqual(7_000);
    expect(delaysMs[1]).toBeGreaterThanOrEqual(2_000);
    expect(calls.map(({ prompt }) => prompt)).toEqual(calls.map(() => calls[0]?.prompt));
  });

  it.each<[string, Step]>([
    ["is cut off", cut(opened("Hello, wor"))],
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
        cut(toolCall("echo", { n: 1 }, { id: "a" }), toolCall("nope", {})),
        [toolCall("echo", { n: 2 }, { id: "b" }), finish("tool-calls")],
      ],
    });
    expect(result).toMatchObject({
      calls: [{ toolCallId: "b", input: { n: 2 } }],
      invalidCalls: 0,
    });
  });

  it("is not retried if its output cannot be reset", async () => {
    const { error, calls } = await callWith({ steps: [status(500), said], canReset: false });
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
    ["the connection breaks", cut(...said)],
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
