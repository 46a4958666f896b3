import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { saveTargetIn } from "../../src/tool/save-target.ts";
import { wrapTool } from "../../src/tool/tool-call.ts";
import type { AnyTool, CallOptions } from "../../src/tool/wrapped-tool.ts";
import { call, failureOf, run, runOnce } from "../support/wrapped.ts";

function acting(execute: (input: never, options: never) => unknown, more: object = {}): AnyTool {
  return { inputSchema: z.any(), execute, ...more } as unknown as AnyTool;
}

async function runWith(act: AnyTool, options: Partial<CallOptions> = {}) {
  const store = new MemoryStore();
  const ran = await run(await wrapTool("act", act, { store }), { n: 1 }, { ...call, ...options });
  if (ran.kind === "done") await ran.save();
  return { ran, store };
}

describe("a tool that yields several results", () => {
  it("has the last one", async () => {
    const act = acting(async function* () {
      yield 1;
      yield 2;
    });
    expect(await (await runOnce(act, {})).store.read("act_1")).toBe(2);
  });

  it("is closed when the call is stopped", async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const more = Promise.withResolvers<void>();
    const act = acting(async function* () {
      try {
        controller.abort();
        await more.promise;
        yield 1;
        yield 2;
      } finally {
        closed.resolve();
      }
    });
    const { ran } = await runWith(act, { signal: controller.signal });
    expect(failureOf(ran)).toMatchObject({ code: "tool_failed", message: "act was stopped." });
    more.resolve();
    await closed.promise;
  });
});

it("a call that was stopped before it runs does not run its tool", async () => {
  let runs = 0;
  const { ran } = await runWith(
    acting(() => ++runs),
    { signal: AbortSignal.abort() },
  );
  expect([failureOf(ran)?.message, runs]).toEqual(["act was stopped.", 0]);
});

const seenBy = async (options: Partial<CallOptions>) => {
  const seen: Record<string, unknown>[] = [];
  await runWith(
    acting((_, given) => void seen.push({ ...(given as object) })),
    options,
  );
  return seen[0];
};

it("the options of a tool are the SDK's", async () => {
  const extras = { experimental_context: { user: 7 } };
  expect(await seenBy({ idempotencyKey: "k", extras })).toEqual({
    toolCallId: "call_1",
    abortSignal: expect.any(AbortSignal),
    messages: [],
    idempotencyKey: "k",
    ...extras,
  });
  expect(await seenBy({})).not.toHaveProperty("idempotencyKey");
});

it("a tool that is notified of its input receives it before it runs, once it is validated", async () => {
  const order: unknown[] = [];
  const onInputAvailable = (given: { input: unknown; toolCallId: string }) =>
    void order.push([given.input, given.toolCallId]);
  await runWith(acting(() => void order.push("runs"), { onInputAvailable }));
  expect(order).toEqual([[{ n: 1 }, "call_1"], "runs"]);
});

describe("the place that a tool chooses", () => {
  const choosing = (result: unknown, saveTo: string) =>
    runWith(
      acting(() => result),
      { saveTo: saveTargetIn(saveTo) },
    );

  it.each([
    [{ _outputPath: "$b", value: 1, more: 2 }],
    [{ _outputPath: 5, value: 1 }],
    [{ _outputPath: "$b", values: 1 }],
  ])("is no choice in another result: %j", async (result) => {
    const { store } = await choosing(result, "$a || $b");
    expect(await store.read("a")).toEqual(result);
  });

  it("is not its own if the input is guarded", async () => {
    const store = new MemoryStore();
    await store.save({ name: "seal", value: 1, visibility: "sealed" });
    const act = tool({ inputSchema: z.any(), execute: () => ({ _outputPath: "$b", value: 1 }) });
    const options = { ...call, saveTo: saveTargetIn("$a || $b") };
    const ran = await run(await wrapTool("act", act, { store }), { n: "$seal" }, options);
    if (ran.kind === "done") await ran.save();
    expect(await store.read("a")).toBe(1);
    expect(store.info("b")).toBeUndefined();
  });
});
