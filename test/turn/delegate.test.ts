import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { asker, delegating, saying, textsOf, type Role } from "../support/called-agents.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import {
  chunksOf,
  Conversation,
  dataOf,
  readMessage,
  resultShown,
  shownText,
} from "../support/turn.ts";

const asked = finish("tool-calls", { input: 60, output: 40 });
const ROWS = Array.from({ length: 500 }, (_, id) => ({ id, name: `Order ${id}` }));

/** A tool with a large result. */
const find = tool({ inputSchema: z.object({}), execute: () => ROWS });
const finding: Step = [toolCall("find", {}), asked];

/** The tools of an empty conversation whose agent has none. */
const NO_OTHER = [{ name: "set_variable" }];

describe("an agent that asks another", () => {
  it("shares only variables with it, and gets a variable back", async () => {
    const { chat, callsOf } = asker({
      researcher: {
        tools: { find },
        steps: [finding, saying("There are 500: $find_1")],
      },
    });
    await chat.store.save({ name: "city", value: "Oslo" });
    await chat.say({ question: "The password is 1234.", steps: [saying("I see.")] });
    const turn = await chat.say({
      question: "Find the orders of $city.",
      steps: [
        delegating("researcher", "Find the orders of $city."),
        saying("Found: $find_1[0].name, in $delegate_researcher[0:14]"),
      ],
    });
    expect(turn.result.error).toBeUndefined();
    const [first] = callsOf("researcher");
    expect(textsOf(first).slice(1)).toEqual([
      "Find the orders of $city.",
      "<variables>\n$city: string (4)\n</variables>",
    ]);
    expect(JSON.stringify(callsOf("researcher"))).not.toContain("1234");
    expect(chat.store.info("delegate_researcher")).toMatchObject({
      tool: "delegate",
      toolCallId: "call_delegate",
      input: { agent: "researcher", task: "Find the orders of $city." },
      sources: ["agent:researcher", "tool:find"],
      trusted: true,
      visibility: "model",
    });
    expect(resultShown(turn, 1, "call_delegate")).toMatchObject({
      $var: "delegate_researcher",
      type: "string",
    });
    expect(shownText(turn.chunks)).toBe("Found: Order 0, in There are 500:");
  });

  it("gives it set_variable from the start, dependent calls and similar names", async () => {
    const taken: unknown[] = [];
    const take = tool({
      inputSchema: z.object({ it: z.unknown() }),
      execute: (given) => void taken.push(given.it),
    });
    const calls: Step = [
      toolCall("set_variable", { name: "note", value: 7 }, { id: "noting" }),
      toolCall("take", { it: "$note" }, { id: "taking" }),
      toolCall("tak", { it: 1 }, { id: "wrong" }),
      asked,
    ].flat();
    const { chat, callsOf } = asker({
      researcher: { tools: { take }, steps: [calls, saying("Done.")] },
    });
    await chat.say({ steps: [delegating("researcher", "Take it."), saying("Done.")] });
    const [first, second] = callsOf("researcher");
    expect(first?.tools?.map(({ name }) => name)).toEqual(["take", "set_variable"]);
    expect(taken).toEqual([7]);
    const results = JSON.stringify(second?.prompt.filter(({ role }) => role === "tool"));
    expect(results).toContain("unknown_tool: There is no tool tak. Did you mean: take.");
  });

  it("gets the value itself if the answer is a single reference", async () => {
    const { chat } = asker({
      researcher: { tools: { find }, steps: [finding, saying("$find_1")] },
    });
    const turn = await chat.say({ steps: [delegating("researcher", "Find."), saying("Done.")] });
    expect(await chat.store.read("delegate_researcher")).toEqual(ROWS);
    expect(resultShown(turn, 1, "call_delegate")).toMatchObject({ type: "array", count: 500 });
    expect(JSON.stringify(turn.calls)).not.toContain("Order 400");
  });

  it("sees a short answer whole", async () => {
    const { chat } = asker({ researcher: { steps: [saying("42")] } });
    const turn = await chat.say({ steps: [delegating("researcher", "Sum."), saying("Done.")] });
    expect(resultShown(turn, 1, "call_delegate")).toEqual({
      $var: "delegate_researcher",
      value: "42",
    });
  });

  it("gets a new version for the same question, and another variable for another one", async () => {
    const { chat } = asker({ researcher: { steps: ["a", "b", "c"].map(saying) } });
    await chat.say({
      steps: [
        delegating("researcher", "Sum."),
        delegating("researcher", "Sum."),
        delegating("researcher", "Find."),
        saying("Done."),
      ],
    });
    expect(chat.store.list().map(({ name, version }) => [name, version])).toEqual([
      ["delegate_researcher", 2],
      ["delegate_researcher_2", 1],
    ]);
  });

  it("shows the client the call and the variables, but nothing else from inside", async () => {
    const { chat } = asker({
      researcher: {
        tools: { find },
        steps: [[text("I look."), toolCall("find", {}), asked], saying("There are 500.")],
      },
    });
    const { chunks } = await chat.say({
      steps: [delegating("researcher", "Find."), saying("Done.")],
    });
    expect(shownText(chunks)).toBe("Done.");
    const called = chunksOf(chunks, "tool-input-available").map(({ toolName }) => toolName);
    expect(called).toEqual(["delegate"]);
    expect(chunksOf(chunks, "start-step")).toHaveLength(2);
    expect(dataOf(chunks, "data-variable")).toMatchObject([
      { name: "find_1" },
      { name: "delegate_researcher" },
    ]);
    const { message, errors } = await readMessage(chunks);
    expect(errors).toEqual([]);
    expect(message?.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "tool-delegate",
      "step-start",
      "text",
    ]);
  });

  it("may ask several concurrently", async () => {
    const { chat } = asker(
      { researcher: { steps: [saying("Facts.")] }, writer: { steps: [saying("Prose.")] } },
      { delegates: ["researcher", "writer"] },
    );
    await chat.say({
      steps: [
        [
          toolCall("delegate", { agent: "researcher", task: "Find." }, { id: "a" }),
          toolCall("delegate", { agent: "writer", task: "Write." }, { id: "b" }),
          asked,
        ],
        saying("Done."),
      ],
    });
    expect(await chat.store.read("delegate_researcher")).toBe("Facts.");
    expect(await chat.store.read("delegate_writer")).toBe("Prose.");
  });

  it("pays for it: calls, tokens and savings are the turn's", async () => {
    const { chat } = asker({
      researcher: { tools: { find }, steps: [finding, saying("$find_1")] },
    });
    const { result } = await chat.say({
      steps: [delegating("researcher", "Find."), saying("Done.")],
    });
    expect(result.metadata.usage.totalTokens).toBe(220);
    expect(chat.journal.head()?.spent).toEqual({ modelCalls: 4, toolCalls: 2, tokens: 220 });
    const { promptChars, inlinePromptChars } = result.metadata.savings;
    expect(inlinePromptChars - promptChars).toBeGreaterThan(2 * 10_000);
  });
});

describe("an agent's delegates", () => {
  it("are named by its tool, which exists only if there are any", async () => {
    const { chat } = asker({ researcher: { steps: [] } });
    const turn = await chat.say({ steps: [saying("Hm.")] });
    expect(turn.calls[0]?.tools).toMatchObject([
      { name: "set_variable" },
      {
        name: "delegate",
        description: expect.stringMatching(/\nresearcher: Is researcher\.$/),
        inputSchema: {
          properties: { agent: { type: "string", enum: ["researcher"] }, task: { type: "string" } },
        },
      },
    ]);
    const alone = new Conversation({ agent: chat.agent });
    expect((await alone.say({ steps: [saying("Hm.")] })).calls[0]?.tools).toMatchObject(NO_OTHER);
    const { chat: modest } = asker({ researcher: { steps: [] } }, { delegates: [] });
    expect((await modest.say({ steps: [saying("Hm.")] })).calls[0]?.tools).toMatchObject(NO_OTHER);
  });

  it("are the only agents that it may ask", async () => {
    const { chat, callsOf } = asker({
      researcher: { steps: [] },
      banker: { steps: [saying("Paid.")] },
    });
    const turn = await chat.say({ steps: [delegating("banker", "Pay."), saying("No.")] });
    expect(resultShown(turn, 1, "call_delegate")).toMatch(/^invalid_tool_input: /);
    expect(callsOf("banker")).toHaveLength(0);
  });

  it("may ask others in turn, down to a maximum depth", async () => {
    const depth = limits.maxDelegateDepth;
    const roles = Object.fromEntries(
      Array.from({ length: depth + 1 }, (_, at): [string, Role] => [
        at === 0 ? "researcher" : `agent_${at}`,
        {
          delegates: [`agent_${at + 1}`],
          steps: [delegating(`agent_${at + 1}`, "Go on."), saying(`${at} did what it could.`)],
        },
      ]).concat([[`agent_${depth + 1}`, { steps: [saying("Too deep.")] }]]),
    );
    const { chat, callsOf } = asker(roles);
    const turn = await chat.say({ steps: [delegating("researcher", "Go."), saying("Done.")] });
    expect(turn.result.error).toBeUndefined();
    const last = callsOf(`agent_${depth - 1}`);
    expect(textsOf(last[1]).join("")).toContain(
      `limit_exceeded: maxDelegateDepth is at most ${depth}, this is ${depth + 1}.`,
    );
    expect(callsOf(`agent_${depth}`)).toHaveLength(0);
    expect(await chat.store.read("delegate_researcher")).toBe("0 did what it could.");
  });

  it("must exist", async () => {
    const { chat } = asker({}, { delegates: ["nobody"] });
    const { result } = await chat.say({ steps: [saying("Hm.")] });
    expect(result.error).toEqual({ code: "not_found", message: "There is no agent nobody." });
  });

  it("do not replace the agent's own tool named delegate", async () => {
    const own = tool({ inputSchema: z.object({}), execute: () => "own" });
    const { chat } = asker({ researcher: { steps: [] } }, { tools: { delegate: own } });
    const turn = await chat.say({
      steps: [[toolCall("delegate", {}), asked], saying("$delegate_1")],
    });
    expect(shownText(turn.chunks)).toBe("own");
  });
});
