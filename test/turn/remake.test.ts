import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../src/turn/agent.ts";
import { answerReceipt } from "../../src/turn/history/answer-receipt.ts";
import { Conversation, shownText, START_MS } from "../support/turn.ts";
import type { Step } from "../../packages/testing/src/testing.ts";

const DAY_MS = 86_400_000;

/** A conversation whose model has called `look` and `double`; then all values were evicted. */
async function evicted(agent: Partial<Agent> = {}, steps: readonly Step[] = MADE) {
  const ran: string[] = [];
  const tools = {
    look: tool({
      inputSchema: z.object({ id: z.any() }),
      execute: ({ id }) => {
        ran.push("look");
        return { id, rows: [3, 4] };
      },
    }),
    double: tool({
      inputSchema: z.object({ of: z.array(z.number()) }),
      execute: ({ of }) => {
        ran.push("double");
        return of.map((one) => one * 2);
      },
    }),
    show: tool({
      inputSchema: z.object({ what: z.any() }),
      execute: ({ what }) => {
        ran.push(`show ${JSON.stringify(what)}`);
        return "shown";
      },
    }),
  };
  const chat = new Conversation({
    agent: {
      name: "a",
      description: "",
      instructions: "",
      tools,
      outputPath: true,
      effects: { look: "none", double: "none" },
      ...agent,
    },
  });
  await chat.say({ steps });
  chat.nowMs = START_MS + 400 * DAY_MS;
  chat.store.evictDue(chat.nowMs, 100);
  expect(chat.store.list()).toEqual([]);
  ran.length = 0;
  return { chat, ran };
}

const look = { tool: "look", input: { id: "12345678901234567890", _outputPath: "$found" } };
const double = { tool: "double", input: { of: "$found.rows", _outputPath: "$twice" } };
const MADE: readonly Step[] = [look, double, "Done."];
const show = (what: string) => ({ tool: "show", input: { what } });

interface Left {
  readonly why: string;
  readonly agent?: Partial<Agent>;
  readonly steps?: readonly Step[];
}

let asks = false;

/** A policy that asks about `double` once `asks` is set. */
const askingLater: Agent["policy"] = ({ tool: name }) =>
  asks && name === "double" ? { ask: "Why?" } : "allow";

describe("a reference to an evicted value", () => {
  it("makes it again for a call, and first what it is made of, once", async () => {
    const { chat, ran } = await evicted();
    const { calls } = await chat.say({ steps: [[show("$twice"), show("$found.id")], "."] });
    expect(calls).toHaveLength(2);
    expect(ran).toEqual(["look", "double", "show [6,8]", 'show "12345678901234567890"']);
    expect(chat.store.info("twice")).toMatchObject({
      version: 2,
      tool: "double",
      madeOf: { found: 2 },
    });
  });

  it("makes it again for an answer, whose receipt says so", async () => {
    const { chat, ran } = await evicted();
    const { chunks } = await chat.say({ steps: ["It is $twice[0], of $found.rows[0]."] });
    expect(shownText(chunks)).toBe("It is 6, of 3.");
    expect(ran).toEqual(["look", "double"]);
    const message = chat.history.newest();
    const { spans } = answerReceipt(message ?? expect.fail());
    expect(spans).toMatchObject([
      { reference: "$twice[0]", remade: true, version: 2 },
      { reference: "$found.rows[0]", remade: true, version: 2 },
    ]);
  });

  it("makes it again for a tool of the runtime that names it", async () => {
    const { chat, ran } = await evicted();
    await chat.say({ steps: [{ tool: "read_variable", input: { name: "twice" } }, "."] });
    expect(ran).toEqual(["look", "double"]);
  });

  const left: readonly Left[] = [
    { why: "a tool with effects", agent: { effects: { look: "none" } } },
    { why: "a tool whose effects are not known", agent: { effects: {} } },
    { why: "an untrusted value", agent: { policies: { double: { trusted: false } } } },
    { why: "a sealed value", agent: { policies: { double: { sealed: true } } } },
    { why: "a value made of a sealed one", agent: { policies: { look: { sealed: true } } } },
    { why: "a call that needs approval now", agent: { policy: askingLater } },
    {
      why: "a value that was edited after its call",
      steps: [
        ...MADE.slice(0, 2),
        { tool: "set_variable", input: { name: "twice[0]", value: 1 } },
        ".",
      ],
    },
    {
      why: "a value of several calls",
      steps: [
        { tool: "look", input: { id: 1, _outputPath: "$twice.a" } },
        { tool: "look", input: { id: 2, _outputPath: "$twice.b" } },
        "Done.",
      ],
    },
    {
      why: "a value that a model wrote",
      steps: [{ tool: "set_variable", input: { name: "twice", value: [1] } }, "."],
    },
  ];
  it.each(left)("fails for $why", async ({ agent, steps }) => {
    asks = false;
    const { chat, ran } = await evicted(agent, steps);
    asks = true;
    const { chunks } = await chat.say({ steps: [show("$twice"), "It is $twice."] });
    expect(ran.filter((one) => !one.startsWith("look"))).toEqual([]);
    expect(shownText(chunks)).toBe("It is $twice.");
    expect(chat.store.info("twice")).toBeUndefined();
  });

  it("fails if its call fails now, which is tried once", async () => {
    let tries = 0;
    const { chat } = await evicted();
    const { tools } = chat.agent;
    Object.assign(tools, {
      double: tool({
        inputSchema: z.object({ of: z.any() }),
        execute: (): number => {
          tries++;
          throw new Error("down");
        },
      }),
    });
    const { chunks } = await chat.say({ steps: [show("$twice"), "It is $twice and $twice."] });
    expect([tries, shownText(chunks)]).toEqual([1, "It is $twice and $twice."]);
  });

  it("does not go on without end for values that are made of each other", async () => {
    const { chat, ran } = await evicted({}, [
      { tool: "look", input: { id: 1, _outputPath: "$a" } },
      { tool: "look", input: { id: "$a", _outputPath: "$b" } },
      { tool: "look", input: { id: "$b", _outputPath: "$a" } },
      "Done.",
    ]);
    await chat.say({ steps: [show("$b"), "."] });
    expect(ran.length).toBeLessThanOrEqual(2);
  });

  it("counts as tool calls of the turn", async () => {
    const { chat, ran } = await evicted();
    const limited = new Conversation({
      agent: chat.agent,
      store: chat.store,
      history: chat.history,
      spendLimits: { turn: { toolCalls: 1 } },
    });
    const { result } = await limited.say({ steps: ["It is $twice."] });
    expect(result.error?.code).toBe("spend_exceeded");
    expect(ran).toEqual(["look"]);
  });
});
