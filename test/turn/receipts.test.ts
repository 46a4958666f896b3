import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as limits from "../../src/limits.ts";
import { finish, type Step, text, toolCall } from "../../packages/testing/src/testing.ts";
import { answerReceipt } from "../../src/turn/history/answer-receipt.ts";
import { toUIMessage } from "../../src/turn/history/stored-message.ts";
import { canonicalJson, type Json } from "../../src/value/json.ts";
import { Crashing, hang } from "../support/crashing.ts";
import { slow } from "../support/slow.ts";
import { Conversation, shownText, START_MS } from "../support/turn.ts";
import type { Agent } from "../../src/turn/agent.ts";
import { toolOf } from "../support/tool-of.ts";

const totals = { total: 12.5, rows: [{ b: 2, a: 1 }] };
const count = toolOf({}, () => totals);
const asked: Step = [
  text("One moment, $n."),
  toolCall("count", {}, { id: "c1" }),
  finish("tool-calls"),
];

/** Computes a digest independently. */
function digest(value: Json): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex").slice(0, 32);
}

/** Returns the receipt of the newest answer, with the shown texts of its spans and typed figures. */
function received(chat: Pick<Conversation, "history">) {
  const [question, message] = chat.history.page({ limit: 2 }).messages;
  if (message === undefined) throw new Error("There is no answer.");
  const receipt = answerReceipt(message, question);
  const { parts } = toUIMessage(message, "display");
  const textAt = ({ part, start, end }: { part: number; start: number; end: number }) => {
    const at = parts[part];
    return at?.type === "text" ? at.text.slice(start, end) : undefined;
  };
  return { ...receipt, texts: receipt.spans.map(textAt), typed: receipt.typedFigures.map(textAt) };
}

describe("the receipt of an answer", () => {
  it("contains variable, version, path, digest, tool, call and time of each value", async () => {
    const chat = new Conversation({ tools: { count } });
    await chat.store.save({ name: "n", value: "Ann" });
    await chat.store.save({ name: "n", value: "Bob" });
    const answer = text("The total is $count_1.total, of 40:\n$count_1.rows\n\\$n 12", {
      chunks: 3,
    });
    await chat.say({ steps: [asked, [answer, finish()]] });
    const { spans, texts, typed, complete } = received(chat);
    expect(texts).toEqual(["Bob", "12.5", "\n| b | a |\n| --- | --- |\n| 2 | 1 |\n"]);
    const at = "2026-01-01T00:00:00.000Z";
    const call = { tool: "count", call: "c1", at, variable: "count_1", version: 1 };
    expect(spans).toMatchObject([
      { part: 1, reference: "$n", variable: "n", path: "", version: 2, digest: digest("Bob"), at },
      { part: 4, reference: "$count_1.total", path: ".total", digest: digest(12.5), ...call },
      { reference: "$count_1.rows", path: ".rows", digest: digest(totals.rows), ...call },
    ]);
    expect(spans[0]).not.toHaveProperty("call");
    expect([typed, complete]).toEqual([["40", "12"], true]);
  });

  it("names a secret, without its digest", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "key", value: "s3cret", visibility: "secret" });
    await chat.say({ steps: [[text("It is $key."), finish()]] });
    const { spans, texts } = received(chat);
    expect(texts).toEqual(["[secret: key]"]);
    expect(spans).toEqual([
      { part: 1, start: 6, end: 19, reference: "$key", variable: "key", path: "" },
    ]);
  });

  it("contains nothing of an answer that was cut off and retried", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "n", value: 11 });
    const breaking: Step = async function* () {
      yield text("Here is $n, or $n or", { chunks: 3 }).slice(0, -1);
      throw new TypeError("terminated");
    };
    await chat.say({ steps: [breaking, [text("It is $n."), finish()]] });
    expect(received(chat).spans).toMatchObject([{ start: 6, end: 8 }]);
    expect(received(chat).spans).toHaveLength(1);
  });

  it("digests a limited number of characters", slow, async () => {
    const chat = new Conversation({});
    const big = Array.from({ length: 40 }, () => "x".repeat(limits.maxInsertedChars / 50));
    await chat.store.save({ name: "big", value: big });
    const answer = "$big\n\n$big[1:]\n\n$big[2:]";
    await chat.say({ steps: [[text(answer), finish()]] });
    const digests = received(chat).spans.map(({ digest: known }) => known);
    expect(digests).toEqual([expect.any(String), undefined, undefined]);
  });

  it("survives a crash, and forgets a step that was reset", async () => {
    const chat = new Crashing({ count });
    await chat.store.save({ name: "n", value: "Ann" });
    const half: Step = async function* () {
      yield text("Half $count_1.total ", { chunks: 2 }).slice(0, -1);
      await hang();
    };
    await chat.run(asked, half);
    await chat.recover([text("So $count_1.total"), finish()]);
    const { texts, spans } = received(chat);
    expect(texts).toEqual(["Ann", "12.5"]);
    expect(spans).toMatchObject([{ digest: digest("Ann") }, { digest: digest(12.5), part: 4 }]);
  });

  it("ends after a maximum number of values, and says so", async () => {
    const chat = new Conversation({});
    await chat.store.save({ name: "n", value: 11 });
    const answer = `${"$n ".repeat(limits.maxItems)} 33 $n 44`;
    await chat.say({ steps: [[text(answer), finish()]] });
    const { spans, complete, typed } = received(chat);
    expect(spans).toHaveLength(limits.maxItems);
    expect([complete, typed]).toEqual([false, []]);
    await chat.say({ steps: [[text(answer.slice(3)), finish()]] });
    expect(received(chat)).toMatchObject({ complete: true, typed: ["33", "44"] });
  });
});

const DAY_MS = 86_400_000;

/** A conversation whose model has called `look` and `double`; then all values were evicted. */
async function evicted(agent: Partial<Agent> = {}, steps: readonly Step[] = MADE) {
  const ran: string[] = [];
  const tools = {
    look: toolOf({ id: z.any() }, ({ id }) => {
      ran.push("look");
      return { id, rows: [3, 4] };
    }),
    double: toolOf({ of: z.array(z.number()) }, ({ of }) => {
      ran.push("double");
      return of.map((one) => one * 2);
    }),
    show: toolOf({ what: z.any() }, ({ what }) => {
      ran.push(`show ${JSON.stringify(what)}`);
      return "shown";
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
    expect([shownText(chunks), ran]).toEqual(["It is 6, of 3.", ["look", "double"]]);
    const message = chat.history.newest();
    const { spans } = answerReceipt(message ?? expect.fail());
    expect(spans).toMatchObject([
      { reference: "$twice[0]", remade: true, version: 2 },
      { reference: "$found.rows[0]", remade: true, version: 2 },
    ]);
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
      why: "a call with references of a plan, which would stay text",
      steps: [{ tool: "look", input: { id: "†found", _outputPath: "$twice" } }, "."],
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
      double: toolOf({ of: z.any() }, (): number => {
        tries++;
        throw new Error("down");
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
    expect([result.error?.code, ran]).toEqual(["spend_exceeded", ["look"]]);
  });
});
