import { tool, type ToolSet, type UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { chunksOf, Conversation } from "../support/turn.ts";
import * as limits from "../../src/limits.ts";
import { mayWrite } from "../../src/turn/steps.ts";
import type { Written } from "../../src/tool/wrapped-tool.ts";
import { storeWith } from "../support/wrapped.ts";
import { toolOf } from "../support/tool-of.ts";

const AGENT = {
  name: "test",
  description: "For tests.",
  instructions: "Help.",
  outputPath: true,
  references: { syntaxes: ["dollar", "dagger"] },
} as const;
const done = [text("Done."), finish()];

/** Creates tools that record their inputs in the order in which they start. */
function recording(): { readonly seen: unknown[]; readonly tools: ToolSet } {
  const seen: unknown[] = [];
  const tools = {
    memory_recall: toolOf({ q: z.string() }, ({ q }) => {
      seen.push(["memory_recall", q]);
      if (q === "fail") throw new Error("There is no memory.");
      return { about: q };
    }),
    list_orders: toolOf({}, () => {
      seen.push(["list_orders"]);
      return [{ id: 1 }];
    }),
    echo: toolOf({ v: z.unknown() }, ({ v }) => {
      seen.push(["echo", v]);
      return { said: v };
    }),
    guarded: tool({ inputSchema: z.object({}).loose(), needsApproval: true, execute: () => 1 }),
  };
  return { seen, tools };
}

async function stepOf(
  calls: readonly (readonly [tool: string, input: object])[],
  filled: Readonly<Record<string, unknown>> = {},
) {
  const { seen, tools } = recording();
  const conversation = new Conversation({ agent: { ...AGENT, tools } });
  for (const [name, value] of Object.entries(filled)) {
    await conversation.store.save({ name, value: value as never });
  }
  const parts = calls.flatMap(([name, input], index) => toolCall(name, input, { id: `c${index}` }));
  const { chunks } = await conversation.say({ steps: [[...parts, finish("tool-calls")], done] });
  const steps = chunksOf(chunks, "start-step").length;
  return { seen, errors: errorsIn(chunks), steps, conversation };
}

function errorsIn(chunks: readonly UIMessageChunk[]): Record<string, string> {
  return Object.fromEntries(
    chunksOf(chunks, "tool-output-error").map(({ toolCallId, errorText }) => [
      toolCallId,
      errorText,
    ]),
  );
}

describe("a call that reads what another call of the same step writes", () => {
  it("gets the value under the other's default name", async () => {
    const { seen, errors } = await stepOf([
      ["memory_recall", { q: "q" }],
      ["echo", { v: "$memory_recall_q" }],
    ]);
    expect(seen).toEqual([
      ["memory_recall", "q"],
      ["echo", { about: "q" }],
    ]);
    expect(errors).toEqual({});
  });

  it("gets it under a numbered name, in a chosen place, and inside a text", async () => {
    const { seen, errors } = await stepOf([
      ["list_orders", {}],
      ["memory_recall", { q: "x", _outputPath: "$state.memory" }],
      ["echo", { v: "$list_orders_1[0].id" }],
      ["echo", { v: "It says: $state.memory.about." }],
    ]);
    expect(seen.slice(2)).toEqual([
      ["echo", 1],
      ["echo", "It says: x."],
    ]);
    expect(errors).toEqual({});
  });

  it.each([
    { v: "$note", name: "note", filled: { note: "old", state: { c: 0 } }, old: "old" },
    { v: "$state.b", name: "state.b", filled: { state: { b: 0 } }, old: 0 },
  ])("gets $v as it is if the other comes later", async ({ v, name, filled, old }) => {
    const calls = [
      ["echo", { v }],
      ["set_variable", { name: "state.a", value: 1 }],
      ["set_variable", { name, value: "new" }],
    ] as const;
    const { seen, errors } = await stepOf(calls, filled);
    expect([seen, errors]).toEqual([[["echo", old]], {}]);
    const without = await stepOf(calls, { state: { c: 0 } });
    expect(without.seen).toEqual([]);
    expect(without.errors).toEqual({ c0: expect.stringMatching(/^skipped: .*set_variable/u) });
    expect(await without.conversation.store.read(name.split(".")[0] ?? "")).toBeDefined();
  });

  it("makes all calls of the step run in their order", async () => {
    const { seen, errors, steps, conversation } = await stepOf([
      ["list_orders", {}],
      ["memory_recall", { q: "start", _outputPath: "$a" }],
      ["echo", { v: "$a.about", _outputPath: "$b" }],
      ["echo", { v: "$b.said", _outputPath: "$c" }],
      ["list_orders", {}],
    ]);
    expect(errors).toEqual({});
    expect(seen).toEqual([
      ["list_orders"],
      ["memory_recall", "start"],
      ["echo", "start"],
      ["echo", "start"],
      ["list_orders"],
    ]);
    expect(await conversation.store.read("c")).toEqual({ said: "start" });
    expect(steps).toBe(2);
  });

  it("may be a call of one of Byref's own tools", async () => {
    const { errors, conversation } = await stepOf([
      ["memory_recall", { q: "x" }],
      ["read_variable", { name: "memory_recall_x" }],
    ]);
    expect(errors).toEqual({});
    expect(JSON.stringify(conversation.store.list().map(({ name }) => name))).toContain("recall_x");
  });
});

describe("a call that needs what no call before it has written", () => {
  it("is skipped with the reason, and so are those that need its result", async () => {
    const { seen, errors } = await stepOf([
      ["memory_recall", { q: "fail" }],
      ["echo", { v: "$memory_recall_fail", _outputPath: "$b" }],
      ["echo", { v: "$b" }],
      ["echo", { v: "independent" }],
    ]);
    expect(seen).toEqual([
      ["memory_recall", "fail"],
      ["echo", "independent"],
    ]);
    expect(errors).toMatchObject({
      c0: expect.stringContaining("tool_failed: "),
      c1: expect.stringMatching(/^skipped: \$memory_recall_fail .*memory_recall/u),
      c2: expect.stringMatching(/^skipped: \$b .*echo/u),
    });
  });

  it("never runs with the reference as text", async () => {
    const { seen, errors } = await stepOf([
      ["list_orders", {}],
      ["echo", { v: "see $list_orders_7" }],
    ]);
    expect(seen).toEqual([["list_orders"]]);
    expect(errors.c1).toMatch(/^skipped: \$list_orders_7 /u);
  });

  it("runs if its reference has an alternative", async () => {
    const { seen } = await stepOf(
      [
        ["memory_recall", { q: "fail", _outputPath: "$a" }],
        ["echo", { v: "†a || †b" }],
      ],
      { b: "other" },
    );
    expect(seen).toEqual([
      ["memory_recall", "fail"],
      ["echo", "other"],
    ]);
  });
});

const set = (value: unknown, mode: string) =>
  ["set_variable", { name: "notes", value, mode }] as const;

it.each([
  ["replace, then append", [set(["a"], "replace"), set(["b"], "append")], ["a", "b"]],
  ["delete, then append", [["delete_variable", { name: "notes" }], set(["b"], "append")], ["b"]],
] as const)(
  "calls of a step extend what the previous one wrote: %s",
  async (_, calls, expected) => {
    const { errors, conversation } = await stepOf(calls, { notes: { an: "object" } });
    expect(errors).toEqual({});
    expect(await conversation.store.read("notes")).toEqual(expected);
  },
);

it("the maximum number of calls in a step may each depend on the one before", async () => {
  const { seen, errors, conversation } = await stepOf(
    Array.from({ length: limits.maxBatchItems }, (_, at) => [
      "echo",
      { v: at === 0 ? 0 : `$v${at - 1}.said`, _outputPath: `$v${at}` },
    ]),
  );
  expect(errors).toEqual({});
  expect(seen).toHaveLength(limits.maxBatchItems);
  expect(await conversation.store.read(`v${limits.maxBatchItems - 1}`)).toEqual({ said: 0 });
});

it("a call that a person denies in the middle of a chain causes those after it to be skipped", async () => {
  const { conversation, seen } = await stepOf([
    ["echo", { v: 1, _outputPath: "$a" }],
    ["guarded", { v: "$a.said", _outputPath: "$b" }],
    ["echo", { v: "$b.said", _outputPath: "$c" }],
    ["echo", { v: "$c.said" }],
  ]);
  const { chunks, result } = await conversation.deny({ steps: [done] });
  expect(seen).toEqual([["echo", 1]]);
  expect(errorsIn(chunks)).toEqual({
    c2: expect.stringMatching(/^skipped: \$b/u),
    c3: expect.stringMatching(/^skipped: \$c/u),
  });
  expect(result.finishReason).toBe("stop");
});

describe("a call may write what another reads", () => {
  const written: Readonly<Record<string, Written>> = {
    "$a.b.c": { name: "a", path: [{ key: "b" }, { key: "c" }] },
    "$a[0].b": { name: "a", path: [{ index: 0 }, { key: "b" }] },
    "find_x, or with a number": { base: "find_x" },
    "find, or what begins so": { prefix: "find" },
  };

  it.each<[string, yes: string, no: string]>([
    ["$a.b.c", "a a.b a.b.c.d", "a.c a.b.d b"],
    // An index may be any element.
    ["$a[0].b", "a a[5].b a.x.b", "a[5].c"],
    ["find_x, or with a number", "find_x find_x_2", "find_y_2 find_x_y find_x_3"],
    ["find, or what begins so", "find find_anything", "finder_x find_old find_x_3"],
  ])("%s: %s, not %s", async (what, yes, no) => {
    const store = await storeWith({ find_x: 1, find_x_3: 1, find_old: 1 });
    const mayBe = (text: string) => {
      const [name = "", ...keys] = text.split(/[.[]/u);
      const path = keys.map((key) => (key === "5]" ? { index: 5 } : { key }));
      return mayWrite(written[what] ?? expect.fail(), { name, path }, store);
    };
    const all = [yes, no].map((texts) => texts.split(" ").map(mayBe));
    expect(all.map((some) => [...new Set(some)])).toEqual([[true], [false]]);
  });
});
