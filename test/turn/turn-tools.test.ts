import { tool, type ToolSet } from "ai";
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
  typesOf,
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

/** Runs a turn in which the model calls `act` once, without arguments. */
function acting(execute: () => unknown): Promise<Turn> {
  const act = tool({ inputSchema: z.object({}), execute });
  return turnWith({ tools: { act }, steps: [[toolCall("act", {}), asked], done] });
}

function expectNormalEnd(turn: Turn): void {
  expect(turn.result.error).toBeUndefined();
  expect(turn.chunks.at(-1)).toEqual({ type: "finish", finishReason: "stop" });
  expect(shownText(turn.chunks)).toBe("Done.");
  expect(turn.calls).toHaveLength(2);
}

function saying(message: string): () => never {
  return () => {
    throw new Error(message);
  };
}

function cycle(): unknown {
  const value: Record<string, unknown> = { a: 1 };
  value["self"] = value;
  return value;
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

describe("a tool's result is stored as JSON:", () => {
  it("keys of the prototype, of which a handle is shown", async () => {
    const given = '{"__proto__":{"a":1}}';
    const turn = await acting(() => JSON.parse(given) as unknown);
    expect(JSON.stringify(await turn.store.read("act_1"))).toBe(given);
    expect(resultShown(turn, 1, "call_act")).toMatchObject({ $var: "act_1", preview: given });
  });
});

describe("a misbehaving tool leads to an error that the model sees, if it", () => {
  it.each<[string, () => unknown, string]>([
    ["throws", saying("The disk is full."), "tool_failed: The disk is full."],
    ["rejects", () => Promise.reject(new Error("No.")), "tool_failed: No."],
    ["throws a string", throwing("Just words."), "tool_failed: Just words."],
    ["throws undefined", throwing(undefined), "tool_failed: Unknown error"],
    ["throws an error without a message", saying(""), "tool_failed: Unknown error"],
    ["throws with a foreign code", throwing(withCode("ENOENT")), "tool_failed: No such file."],
    ["returns a cycle", cycle, "bad_value: A value that contains itself cannot be kept"],
    ["returns a function", () => () => 1, "bad_value: A function cannot be kept"],
    ["returns a symbol", () => Symbol("x"), "bad_value: A symbol cannot be kept"],
    ["returns bytes in JSON", () => [new Uint8Array(3)], "bad_value: Bytes cannot be kept"],
    ["returns an unreadable object", unreadable, "bad_value: An object that cannot be read (No.)"],
    [
      "returns a value that is nested too deeply",
      () => deep(201),
      "limit_exceeded: maxDepth is at most 200",
    ],
    ["returns too much", () => ["x".repeat(17_000_000)], "limit_exceeded: maxJsonBytes"],
    ["breaks while it yields", breaking, "tool_failed: Half way."],
  ])("%s", async (_, execute, message) => {
    const turn = await acting(execute);
    expectNormalEnd(turn);
    const shown = resultShown(turn, 1, "call_act");
    expect(shown).toContain(message);
    const [sent] = chunksOf(turn.chunks, "tool-output-error");
    expect(sent?.errorText).toBe(shown);
    expect(turn.store.count()).toBe(0);
    expect(dataOf(turn.chunks, "data-variable")).toEqual([]);
    expect(turn.history.newest()?.parts[1]).toMatchObject({ state: "output-error" });
  });

  it("has no execute function", async () => {
    const tools: ToolSet = { here: tool({ inputSchema: z.object({}) }) };
    const turn = await turnWith({ tools, steps: [[toolCall("here", {}), asked], done] });
    expectNormalEnd(turn);
    expect(resultShown(turn, 1, "call_here")).toContain("unknown_tool: here cannot be executed");
  });
});

function throwing(thrown: unknown): () => never {
  return () => {
    throw thrown;
  };
}

function withCode(code: string): Error {
  return Object.assign(new Error("No such file."), { code });
}

function unreadable(): unknown {
  return {
    get a(): never {
      throw new Error("No.");
    },
  };
}

function deep(levels: number): unknown {
  let value: unknown[] = [];
  for (let at = 1; at < levels; at++) value = [value];
  return value;
}

async function* breaking() {
  yield 1;
  throw new Error("Half way.");
}

describe("a reference in a tool's input", () => {
  it("is shown in chunks, parts and prompts instead of its value", async () => {
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
});

describe("calls in parallel", () => {
  it("run concurrently, and their results are saved and shown in the order of the calls", async () => {
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

  it("see each other's results if they name them, and are not stopped by one that fails", async () => {
    const { take, taken } = taker();
    const fail: ToolSet[string] = tool({
      inputSchema: z.object({}),
      execute: (): string => saying("No.")(),
    });
    const turn = await turnWith({
      tools: { take, fail },
      steps: [
        [
          toolCall("take", { it: 1 }, { id: "a" }),
          toolCall("fail", {}, { id: "b" }),
          toolCall("take", { it: "$take_1" }, { id: "c" }),
          asked,
        ],
        done,
      ],
    });
    expectNormalEnd(turn);
    expect(taken).toEqual([1, "taken"]);
    expect(typesOf(turn.chunks).filter((type) => type.startsWith("tool-output"))).toEqual([
      "tool-output-available",
      "tool-output-error",
      "tool-output-available",
    ]);
    expect(turn.store.count()).toBe(2);
  });
});
