import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation, type ConversationOptions, type Turn } from "../support/turn.ts";

const done: Step = [text("Done."), finish()];

type Call = readonly [tool: string, input: object];

function stepWith(calls: readonly Call[]): Step {
  const parts = calls.flatMap(([name, input], index) => toolCall(name, input, { id: `c${index}` }));
  return [...parts, finish("tool-calls")];
}

/** Creates a conversation whose tools record their inputs in the order in which they start. */
function conversationWith(more: Partial<ConversationOptions> & { readonly tools?: ToolSet } = {}) {
  const seen: unknown[] = [];
  const echo = tool({
    inputSchema: z.object({ v: z.unknown() }),
    execute: ({ v }) => {
      seen.push(v);
      return { said: v };
    },
  });
  const guarded = tool({
    inputSchema: z.object({ v: z.unknown() }),
    needsApproval: true,
    execute: ({ v }) => {
      seen.push(["guarded", v]);
      return { said: v };
    },
  });
  const { tools = {}, ...options } = more;
  const chat = new Conversation({
    agent: {
      name: "test",
      description: "For tests.",
      instructions: "Help.",
      outputPath: true,
      policies: { echo: { secrets: ["key"] } },
      tools: { echo, guarded, ...tools },
    },
    ...options,
  });
  return { chat, seen };
}

function errorsIn({ chunks }: Turn): Readonly<Record<string, string>> {
  return Object.fromEntries(
    chunks.flatMap((chunk) =>
      chunk.type === "tool-output-error" ? [[chunk.toolCallId, chunk.errorText]] : [],
    ),
  );
}

describe("large steps", () => {
  it("with the maximum number of calls, each depending on the one before, run", async () => {
    const { chat, seen } = conversationWith();
    const last = limits.maxBatchItems - 1;
    const calls = Array.from({ length: limits.maxBatchItems }, (_, at): Call => [
      "echo",
      { v: at === 0 ? 0 : `$v${at - 1}.said`, _outputPath: `$v${at}` },
    ]);
    const turn = await chat.say({ steps: [stepWith(calls), done] });
    expect(errorsIn(turn)).toEqual({});
    expect(seen).toHaveLength(limits.maxBatchItems);
    expect(await chat.store.read(`v${last}`)).toEqual({ said: 0 });
  });

  it("in which each call reads all others run nothing", async () => {
    const { chat, seen } = conversationWith();
    const all = Array.from({ length: limits.maxBatchItems }, (_, at) => `$v${at}`).join(" ");
    const calls = Array.from({ length: limits.maxBatchItems }, (_, at): Call => [
      "echo",
      { v: all, _outputPath: `$v${at}` },
    ]);
    const errors = Object.values(errorsIn(await chat.say({ steps: [stepWith(calls), done] })));
    expect(seen).toEqual([]);
    expect(errors).toHaveLength(limits.maxBatchItems);
    expect(errors.every((error) => error.startsWith("skipped: "))).toBe(true);
  });

  it("with many references in each call wait for the call that writes", async () => {
    const { chat, seen } = conversationWith();
    await chat.store.save({ name: "old", value: "o" });
    const words = Array.from({ length: 900 }, (_, at) => `$n${at}`).join(" ");
    const many = { v: `${words} $new.said ${"$old ".repeat(99)}` };
    const calls: Call[] = Array.from({ length: 8 }, () => ["echo", many]);
    calls.unshift(["echo", { v: "x", _outputPath: "$new" }]);
    const turn = await chat.say({ steps: [stepWith(calls), done] });
    expect(errorsIn(turn)).toEqual({});
    expect(seen[0]).toBe("x");
    expect(seen).toHaveLength(9);
    expect(seen.slice(1).every((v) => String(v).includes("$n899 x o o"))).toBe(true);
  });
});

it("calls with more references than an input may have fail with that limit, and the others run", async () => {
  const { chat, seen } = conversationWith();
  const v = Array.from({ length: 9_000 }, (_, at) => `$n${at}`).join(" ");
  const calls: readonly Call[] = [
    ["echo", { v: "x", _outputPath: "$new" }],
    ["echo", { v }],
    ["echo", { v: `${v} $new`, _outputPath: "$other" }],
    ["echo", { v: "$other" }],
  ];
  const errors = errorsIn(await chat.say({ steps: [stepWith(calls), done] }));
  expect(seen).toEqual(["x"]);
  expect(errors).toEqual({
    c1: expect.stringMatching(/^limit_exceeded: /u),
    c2: expect.stringMatching(/^limit_exceeded: /u),
    c3: expect.stringMatching(/^skipped: \$other/u),
  });
});

describe("a call in the middle of a chain that needs approval", () => {
  const chain: readonly Call[] = [
    ["echo", { v: 1, _outputPath: "$a" }],
    ["guarded", { v: "$a.said", _outputPath: "$b" }],
    ["echo", { v: "$b.said", _outputPath: "$c" }],
    ["echo", { v: "$c.said" }],
  ];

  it("causes the calls after it to be skipped if it is denied", async () => {
    const { chat, seen } = conversationWith();
    await chat.say({ steps: [stepWith(chain)] });
    const turn = await chat.deny({ steps: [done] });
    expect(seen).toEqual([1]);
    expect(errorsIn(turn)).toEqual({
      c2: expect.stringMatching(/^skipped: \$b/u),
      c3: expect.stringMatching(/^skipped: \$c/u),
    });
    expect(turn.result.finishReason).toBe("stop");
  });

  it("asks again if a value that it reads has changed, and the calls after it still wait", async () => {
    const { chat, seen } = conversationWith();
    await chat.say({ steps: [stepWith(chain)] });
    await chat.store.save({ name: "a", value: { said: 2 } });
    await chat.approve({ steps: [] });
    expect(seen).toEqual([1]);
    await chat.approve({ steps: [done] });
    expect(seen).toEqual([1, ["guarded", 2], 2, 2]);
  });
});

describe("deferred calls", () => {
  it("never begin after a stop, and have an outcome", async () => {
    const stop = new AbortController();
    const slow = tool({
      inputSchema: z.object({}),
      execute: () => {
        stop.abort(new Error("stopped"));
        return 1;
      },
    });
    const { chat, seen } = conversationWith({ tools: { slow } });
    const calls: readonly Call[] = [
      ["slow", { _outputPath: "$a" }],
      ["echo", { v: "$a" }],
    ];
    const step = stepWith(calls);
    const turn = await chat.say({ steps: [step, done], signal: stop.signal });
    expect(seen).toEqual([]);
    expect(Object.keys(errorsIn(turn))).toContain("c1");
    expect(chat.history.newest()?.deferred).toBeUndefined();
    const next = await chat.say({ steps: [done] });
    expect(next.result.finishReason).toBe("stop");
  });

  it("get a secret only if the policy lists their tool, and its text is shown nowhere", async () => {
    const { chat, seen } = conversationWith();
    await chat.store.save({ name: "key", value: "k1", visibility: "secret" });
    const calls: readonly Call[] = [
      ["echo", { v: "go", _outputPath: "$a" }],
      ["echo", { v: ["$a.said", "$key"] }],
      ["guarded", { v: ["$a.said", "$key"] }],
    ];
    const turn = await chat.say({ steps: [stepWith(calls), done] });
    expect(seen).toEqual(["go", ["go", "k1"]]);
    expect(errorsIn(turn)["c2"]).toMatch(/^variable_secret: /u);
    expect(JSON.stringify(turn.chunks)).not.toContain("k1");
    expect(JSON.stringify(turn.calls)).not.toContain("k1");
  });

  it("get nothing through the name of a run's variable", async () => {
    const { chat, seen } = conversationWith();
    await chat.store.save({ name: "state_r1", value: { n: 1 }, run: "r1" });
    const calls: readonly Call[] = [
      ["echo", { v: "$state_r1.n" }],
      ["echo", { v: 2, _outputPath: "$state_r1" }],
    ];
    const turn = await chat.say({ steps: [stepWith(calls), done] });
    expect(seen).not.toContain(1);
    expect(errorsIn(turn)["c1"]).toBeDefined();
    expect(await chat.store.read("state_r1")).toEqual({ n: 1 });
  });
});
