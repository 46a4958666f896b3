import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as limits from "../../src/limits.ts";
import { guideOf } from "../../src/turn/agent.ts";
import { guidedText } from "../../src/turn/history/guide.ts";
import { finish, text, toolCall } from "../../packages/testing/src/testing.ts";
import {
  Conversation,
  historyText,
  promptOf,
  readMessage,
  resultShown,
  type Turn,
  turnWith,
  typesOf,
} from "../support/turn.ts";

const MARKER = "only-in-the-value";
const asked = finish("tool-calls");

/** Records of at least 200,000 characters, with a marker that no preview and no suggested path shows. */
const rows = Array.from({ length: 4_200 }, (_, id) => ({
  id,
  name: id === 2_000 ? MARKER : `Customer ${id}`,
  total: id * 1.5,
}));
const longText = `${"Lorem ipsum. ".repeat(8_000)}${MARKER}${" dolor sit amet".repeat(7_000)}`;
const wide = Object.fromEntries(
  Array.from({ length: 5_000 }, (_, at) => [
    `key_${at}`,
    { at, note: at === 2_500 ? MARKER : "x".repeat(20) },
  ]),
);

function toolsFor(value: unknown, taken: unknown[]) {
  return {
    load: tool({ inputSchema: z.object({ id: z.string() }), execute: () => value }),
    take: tool({
      inputSchema: z.object({ all: z.unknown(), note: z.string().optional() }),
      execute: (input) => {
        taken.push(input);
        return { taken: true };
      },
    }),
  };
}

describe("a result of 200,000 characters", () => {
  it.each<[string, unknown]>([
    ["an array", rows],
    ["a text", longText],
    ["an object", wide],
  ])("reaches a tool, but never the model, the history or the client: %s", async (_, value) => {
    const json = JSON.stringify(value);
    expect(json.length).toBeGreaterThanOrEqual(200_000);
    const taken: { all: unknown }[] = [];
    const chat = new Conversation({ tools: toolsFor(value, taken) });
    const first = await chat.say({
      steps: [
        [toolCall("load", { id: "big" }, { chunks: 4 }), asked],
        [toolCall("take", { all: "$load_big" }, { chunks: 4 }), asked],
        [text("I have handed it on."), finish()],
      ],
    });
    const second = await chat.say({
      question: "Once more.",
      steps: [
        [toolCall("take", { all: "$load_big", note: "again" }), asked],
        [text("Done."), finish()],
      ],
    });
    expect(taken.map(({ all }) => JSON.stringify(all) === json)).toEqual([true, true]);
    for (const turn of [first, second]) {
      expect(turn.result.error).toBeUndefined();
      for (const { prompt } of turn.calls) {
        expect(JSON.stringify(prompt)).not.toContain(MARKER);
      }
      expect(JSON.stringify(turn.chunks)).not.toContain(MARKER);
      expect(JSON.stringify(turn.result)).not.toContain(MARKER);
    }
    expect(JSON.stringify(promptOf(first, 1)).length).toBeLessThan(3_000);
    expect(historyText(chat.history)).not.toContain(MARKER);
    expect(JSON.stringify(chat.store.list())).not.toContain(MARKER);
  });
});

describe("the list of variables", () => {
  const lastText = ({ calls }: Turn, call: number) => {
    const message = promptOf({ calls }, call).at(-1);
    const [part] = message?.role === "user" ? message.content : [];
    return part?.type === "text" ? part.text : "";
  };

  it("follows the messages, contains what they do not show, and leaves them unchanged", async () => {
    const chat = new Conversation({ tools: toolsFor(rows, []) });
    await chat.store.save({ name: "old", value: 1 });
    const turn = await chat.say({
      steps: [
        [text("Let me see."), toolCall("load", { id: "a" }, { id: "1" }), asked],
        [toolCall("load", { id: "b" }, { id: "2" }), toolCall("take", { all: 1 }), asked],
        [text("Done."), finish()],
      ],
    });
    expect(lastText(turn, 0)).toBe("<variables>\n$old: number\n</variables>");
    const after = [1, 2].map((call) => lastText(turn, call));
    for (const tail of after) {
      expect(tail).toMatch(/^<variables>\nIn any argument .*\n\$old: number\n<\/variables>$/);
    }
    for (const call of [0, 1]) {
      const stable = promptOf(turn, call).slice(0, -1);
      expect(promptOf(turn, call + 1).slice(0, stable.length)).toEqual(stable);
    }
    expect(historyText(chat.history)).not.toContain("<variables>");
  });

  it.each([
    [limits.maxListedVariables, 0],
    [limits.maxListedVariables + 1, 1],
    [45, 25],
  ])("of %i shows the newest 20 and says that %i are not listed", async (count, more) => {
    const chat = new Conversation({});
    for (let at = 0; at < count; at++) await chat.store.save({ name: `v_${at}`, value: at });
    const turn = await chat.say({ steps: [[text("Hi."), finish()]] });
    const lines = lastText(turn, 0).split("\n");
    const notes = more === 0 ? [] : [`(${more} older variables are not listed)`];
    const names = Array.from({ length: 20 }, (_, at) => `$v_${count - 20 + at}: number`);
    expect(lines).toEqual(["<variables>", ...notes, ...names, "</variables>"]);
  });
});

describe("the loop", () => {
  const again = (at: number) => [toolCall("load", { id: "x" }, { id: `call_${at}` }), asked];

  it("calls the model at most 20 times", async () => {
    let runs = 0;
    const load = tool({ inputSchema: z.object({ id: z.string() }), execute: () => ++runs });
    const turn = await turnWith({
      tools: { load },
      steps: Array.from({ length: limits.maxSteps + 5 }, (_, at) => again(at)),
    });
    expect([turn.calls.length, runs]).toEqual([limits.maxSteps, limits.maxSteps]);
    expect(turn.result.error).toMatchObject({ code: "limit_exceeded" });
    expect(turn.chunks.at(-1)).toMatchObject({
      type: "error",
      errorText: expect.stringMatching(/^limit_exceeded: maxSteps is at most 20/),
    });
    const results = turn.result.message.parts.filter((part) => part.type === "tool-load");
    expect(results.every((part) => "output" in part)).toBe(true);
  });

  it("emits its id first, then every step, its metadata and its end", async () => {
    const turn = await turnWith({
      tools: toolsFor(1, []),
      steps: [
        [toolCall("load", { id: "x" }), asked],
        [text("Hi."), finish("stop", { input: 10, output: 5 })],
      ],
    });
    expect(typesOf(turn.chunks).join(" ")).toBe(
      "start start-step tool-input-available data-variable tool-output-available finish-step " +
        "start-step text-start text-delta text-end finish-step message-metadata finish",
    );
    expect(turn.chunks[0]).toEqual({ type: "start", messageId: turn.result.message.id });
    const { message } = await readMessage(turn.chunks);
    expect(message).toEqual(turn.result.message);
    expect(turn.result.metadata.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
    });
  });
});

describe("savings", () => {
  it("are counted to the character", async () => {
    const chat = new Conversation({ tools: toolsFor(rows, []) });
    const turn = await chat.say({
      question: "Hi.",
      steps: [
        [toolCall("load", { id: "a" }), asked],
        [toolCall("take", { all: "$load_a", note: "of $load_a[1].id" }), asked],
        [text("Row \\$load_a is $load_a[3].total, $5, $nope."), finish()],
      ],
    });
    const { length: system } = guidedText(chat.agent.instructions, guideOf(chat.agent));
    const handle = JSON.stringify(resultShown(turn, 1, "call_load")).length;
    const small = '{"$var":"take_of_1","value":{"taken":true}}'.length;
    const inputs = ['{"id":"a"}', '{"all":"$load_a","note":"of $load_a[1].id"}'];
    const [first = "", second = ""] = inputs;
    const tail = `<variables>\n${guideOf(chat.agent).details}\n</variables>`.length;
    const start = system + "Hi.".length;
    const tools = turn.calls.reduce((sum, call) => sum + JSON.stringify(call.tools).length, 0);
    const promptChars =
      tools +
      start +
      (start + first.length + handle + tail) +
      (start + first.length + handle + second.length + small + tail);
    const value = JSON.stringify(rows).length;
    expect(turn.result.metadata.savings).toEqual({
      promptChars,
      inlinePromptChars: promptChars + 2 * (value - handle),
      authoredChars: "$load_a".length + "$load_a[1].id".length + "$load_a[3].total".length,
      resolvedChars: value + "1".length + "4.5".length,
    });
  });

  it("exclude what would not have fit into the model's context window", async () => {
    const agent = { name: "a", description: "", instructions: "", tools: toolsFor(rows, []) };
    const steps = [
      [toolCall("load", { id: "a" }), asked],
      [text("Done."), finish()],
    ];
    const [small, large] = await Promise.all(
      [2_000, 1_000_000].map((contextTokens) =>
        turnWith({ agent: { ...agent, contextTokens }, steps }),
      ),
    );
    const { promptChars, ...counted } = small?.result.metadata.savings ?? { promptChars: 0 };
    const [first] = small?.calls ?? [];
    const start = JSON.stringify(first?.tools).length + String(first?.prompt[0]?.content).length;
    // The first call fits. The second counts as a full window of 2,000 tokens, at four characters per token.
    const question = "Hello.".length;
    expect(counted).toMatchObject({ wouldNotFit: 1, inlinePromptChars: start + question + 8_000 });
    expect(promptChars).toBeLessThan(8_000);
    expect(large?.result.metadata.savings).not.toHaveProperty("wouldNotFit");
  });
});
