import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import {
  chunksOf,
  Conversation,
  dataOf,
  historyText,
  promptOf,
  resultShown,
  shownText,
  type Turn,
  turnWith,
} from "../support/turn.ts";

const asked = finish("tool-calls");
const done = [text("Done."), finish()];

/** Creates a tool that records its inputs. */
function taker() {
  const taken: unknown[] = [];
  const take = tool({
    inputSchema: z.object({ it: z.unknown() }),
    execute: (input) => {
      taken.push(input.it);
      return "taken";
    },
  });
  return { taken, take };
}

function expectNormalEnd(turn: Turn): void {
  expect(turn.result.error).toBeUndefined();
  expect(turn.chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  expect(shownText(turn.chunks)).toBe("Done.");
  expect(turn.calls).toHaveLength(2);
}

describe("a result is shown in full", () => {
  it.each([
    [{}, 990, 1_010],
    [{ contextTokens: 100_000 }, 990, 1_010],
    [{ contextTokens: 1_000_000 }, 4_990, 5_010],
    [{ contextTokens: 100_000_000 }, 19_990, 20_010],
    [{ inlineChars: 100 }, 90, 110],
    [{ contextTokens: 1_000_000, inlineChars: 2_000 }, 1_990, 2_010],
  ])("by an agent with %j up to %i characters, not %i", async (options, shown, hidden) => {
    const sizes = [shown, hidden];
    const shownIn = sizes.map(async (size) => {
      const act = tool({ inputSchema: z.object({}), execute: () => "x".repeat(size) });
      const agent = { name: "a", description: "", instructions: "", tools: { act }, ...options };
      const turn = await turnWith({ agent, steps: [[toolCall("act", {}), asked], done] });
      return "value" in (resultShown(turn, 1, "call_act") as object);
    });
    expect(await Promise.all(shownIn)).toEqual([true, false]);
  });

  it("by no agent with an impossible limit", async () => {
    const agent = { name: "a", description: "", instructions: "", tools: {}, inlineChars: -1 };
    const { result } = await turnWith({ agent, steps: [done] });
    expect(result.error).toMatchObject({ code: "bad_configuration" });
  });
});

it("a reference in a tool's input is shown in chunks, parts and prompts instead of its value", async () => {
  const { take, taken } = taker();
  const chat = new Conversation({ tools: { take } });
  await chat.store.save({ name: "secret_plan", value: { steps: ["only-in-the-value"] } });
  const input = { it: "$secret_plan" };
  const first = await chat.say({
    steps: [[toolCall("take", input, { chunks: 5 }), asked], done],
  });
  const second = await chat.say({ steps: [done] });
  expect(taken).toEqual([{ steps: ["only-in-the-value"] }]);
  expect(chunksOf(first.chunks, "tool-input-available")[0]?.input).toEqual(input);
  const deltas = chunksOf(first.chunks, "tool-input-delta").map((chunk) => chunk.inputTextDelta);
  expect(deltas.join("")).toBe('{"it":"$secret_plan"}');
  expect(chat.history.page({ limit: 9 }).messages[1]?.parts[1]).toMatchObject({ input });
  expect(dataOf(first.chunks, "data-variable")).toMatchObject([{ tool: "take", input }]);
  for (const prompt of [promptOf(first, 1), promptOf(second, 0)]) {
    expect(JSON.stringify(prompt)).toContain('"input":{"it":"$secret_plan"}');
  }
  const everything = [first.chunks, second.chunks, first.calls, second.calls, first.result];
  expect(JSON.stringify(everything)).not.toContain("only-in-the-value");
  expect(historyText(chat.history)).not.toContain("only-in-the-value");
});

it("calls in parallel run concurrently, and their results are saved and shown in the order of the calls", async () => {
  const running: string[] = [];
  const all = Promise.withResolvers<void>();
  const meet = tool({
    inputSchema: z.object({ name: z.string() }),
    execute: async ({ name }) => {
      running.push(name);
      if (running.length === 3) all.resolve();
      await all.promise;
      // The call that started first ends last.
      for (let wait = 3 - running.indexOf(name); wait > 0; wait--) await Promise.resolve();
      return name;
    },
  });
  const names = ["a", "b", "c"];
  const calls = names.map((name) => toolCall("meet", { name }, { id: `call_${name}` }));
  const turn = await turnWith({ tools: { meet }, steps: [[...calls, asked], done] });
  expectNormalEnd(turn);
  expect(running.toSorted()).toEqual(names);
  expect(turn.store.list().map(({ name }) => name)).toEqual(["meet_a", "meet_b", "meet_c"]);
  const ids = chunksOf(turn.chunks, "tool-output-available").map((chunk) => chunk.toolCallId);
  expect(ids).toEqual(["call_a", "call_b", "call_c"]);
});
