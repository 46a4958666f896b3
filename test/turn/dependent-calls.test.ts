import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import { Conversation } from "../support/turn.ts";

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
    memory_recall: tool({
      inputSchema: z.object({ q: z.string() }),
      execute: ({ q }) => {
        seen.push(["memory_recall", q]);
        if (q === "fail") throw new Error("There is no memory.");
        return { about: q };
      },
    }),
    list_orders: tool({
      inputSchema: z.object({}),
      execute: () => {
        seen.push(["list_orders"]);
        return [{ id: 1 }];
      },
    }),
    echo: tool({
      inputSchema: z.object({ v: z.unknown() }),
      execute: ({ v }) => {
        seen.push(["echo", v]);
        return { said: v };
      },
    }),
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
  const errors = chunks.flatMap((chunk) =>
    chunk.type === "tool-output-error" ? [[chunk.toolCallId, chunk.errorText]] : [],
  );
  return { seen, errors: Object.fromEntries(errors) as Record<string, string>, conversation };
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

  it("gets the new value of a variable that exists", async () => {
    const { seen } = await stepOf(
      [
        ["set_variable", { name: "note", value: "new" }],
        ["echo", { v: "$note" }],
      ],
      { note: "old" },
    );
    expect(seen).toEqual([["echo", "new"]]);
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
    const { seen, errors, conversation } = await stepOf([
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
  });

  it("gets it under a default name that depends on a value", async () => {
    const { seen, errors } = await stepOf(
      [
        ["memory_recall", { q: "$topic" }],
        ["echo", { v: "$memory_recall_skills.about" }],
      ],
      { topic: "skills" },
    );
    expect(errors).toEqual({});
    expect(seen).toEqual([
      ["memory_recall", "skills"],
      ["echo", "skills"],
    ]);
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

  it("is skipped without running if two need each other", async () => {
    const { seen, errors } = await stepOf([
      ["echo", { v: "$b", _outputPath: "$a" }],
      ["echo", { v: "$a", _outputPath: "$b" }],
      ["echo", { v: "independent" }],
    ]);
    expect(seen).toEqual([["echo", "independent"]]);
    expect(Object.values(errors)).toEqual([
      expect.stringContaining("skipped: "),
      expect.stringContaining("skipped: "),
    ]);
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

it("calls that wait for no other start together, and their texts are unchanged", async () => {
  let begun = 0;
  const both = Promise.withResolvers<void>();
  const meet = tool({
    inputSchema: z.object({ text: z.string() }),
    execute: async ({ text: said }) => {
      if (++begun === 2) both.resolve();
      await both.promise;
      return said;
    },
  });
  const conversation = new Conversation({ tools: { meet } });
  const calls = ["$5 and $HOME", "$unknown"].flatMap((said, index) =>
    toolCall("meet", { text: said }, { id: `c${index}` }),
  );
  await conversation.say({ steps: [[...calls, finish("tool-calls")], done] });
  const values = await Promise.all(
    conversation.store.list().map(({ name }) => conversation.store.read(name)),
  );
  expect(values).toEqual(["$5 and $HOME", "$unknown"]);
});
