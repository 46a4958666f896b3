import { UI_MESSAGE_STREAM_HEADERS, tool, type JSONValue } from "ai";
import { describe, expect, it, vi } from "vitest";
import {
  ask,
  call,
  get,
  json,
  messagesOf,
  namesIn,
  newId,
  problemIn,
  textOf,
  put,
} from "../../support/edge.ts";
import { LIVE } from "../../support/event-reader.ts";
import { alarmOf } from "../../support/storage.ts";
import { watchRows } from "../../support/written-rows.ts";
import { chunksIn, framesIn, messageFrom } from "../../support/turn-client.ts";
import * as z from "zod";
import { type Agent, capabilityTags, planSupport, queries, runCode } from "../../../src/byref.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import type { RuntimeOptions } from "../../../src/edge/create-runtime.ts";
import type { PromptDescription } from "../../../src/turn/describe-prompt.ts";

const NYC = "Weather in NYC?";
const FIRST_TOUCH_ROWS = 13;
const sentence = /^It is -?[\d.]+ °C in New York with \d+ % humidity: [a-z ]+\.$/;

function userMessage(text: string, id = newId()) {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** Posts messages as a stock `useChat` does. */
function chat(id: string, messages: readonly unknown[], more: object = {}): Promise<Response> {
  const body = { id, messages, trigger: "submit-message", messageId: undefined, ...more };
  return call("POST", "/conversations", json(body));
}

function short(id: string, body: object, accept?: string): Promise<Response> {
  const headers = accept === undefined ? {} : { accept };
  return call("POST", `/conversations/${id}/messages`, json(body, headers));
}

it.each([
  ["POST /conversations", (id: string) => chat(id, [userMessage(NYC)])],
  ["POST /conversations/:id/messages", (id: string) => short(id, { message: userMessage(NYC) })],
])("a turn as a UI message stream comes from %s", async (_, post) => {
  const id = newId();
  const response = await post(id);
  expect(response.status).toBe(200);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    ...UI_MESSAGE_STREAM_HEADERS,
    ...LIVE,
  });
  const stream = await response.text();
  const frames = framesIn(stream);
  const ids = frames.slice(0, -1).map((frame) => Number(frame.id));
  expect(ids).toEqual(ids.map((_, index) => (ids[0] ?? 0) + index));
  expect(frames.at(-1)).toEqual({ id: undefined, data: "[DONE]" });
  const chunks = chunksIn(stream);
  const types = chunks.map(({ type }) => type);
  expect(types[0]).toBe("start");
  expect(types.slice(-3)).toEqual(["finish-step", "message-metadata", "finish"]);
  expect(types.filter((type) => type === "start-step")).toHaveLength(2);
  expect(types.indexOf("tool-output-available")).toBeLessThan(types.indexOf("text-start"));
  const [question, answer] = (await messagesOf(id)).messages;
  expect(textOf(question)).toBe(NYC);
  expect(textOf(answer)).toMatch(sentence);

  const seen = await messageFrom(chunks);
  expect(seen?.id).toBe(answer?.id);
  expect(textOf(seen)).toBe(textOf(answer));
  expect(seen?.parts.map(({ type }) => type)).toEqual(answer?.parts.map(({ type }) => type));
  expect(seen?.metadata).toEqual({
    usage: expect.any(Object),
    savings: expect.any(Object),
    // Question, begin, step, variable with result, answer, end, events and the last alarm.
    cost: { rowsRead: expect.any(Number), rowsWritten: 9, alarms: 1 },
  });
});

/** Waits until the alarm's handler has seen the turn's end and has set the next alarm. */
async function untilArmed(id: string): Promise<void> {
  await vi.waitUntil(async () => ((await alarmOf(id)) ?? 0) > Date.now());
}

it.each([
  { question: "Who are you?", rowsWritten: 5 },
  { question: "Weather in NYC?", rowsWritten: 8 },
  { question: "Compare NYC and London", rowsWritten: 12 },
])("the cost of a turn is reported exactly: $question", async ({ question, rowsWritten }) => {
  const id = newId();
  const written = await watchRows(id);
  const { cost } = await ask(id, question);
  await untilArmed(id);
  expect(cost).toMatchObject({ rowsWritten: rowsWritten + 1, alarms: 1 });
  // The tables and the first alarm, which is also the first turn's, are part of the conversation's cost.
  const whole = rowsWritten + 1 + FIRST_TOUCH_ROWS;
  expect(written()).toMatchObject({ rowsWritten: whole, alarms: 2 });
  for (let times = 0; times < 2; times++) {
    const { cost } = await ask(id, question);
    await untilArmed(id);
    const both = { rowsWritten: rowsWritten + 2, alarms: 2 };
    expect(cost).toMatchObject(both);
    expect(written()).toMatchObject(both);
  }
});

it("a turn in another form is the whole result as application/json", async () => {
  const id = newId();
  const response = await short(id, { message: NYC }, "application/json");
  expect(response.headers.get("content-type")).toBe("application/json");
  const turn = await response.json<Record<string, unknown>>();
  expect(Object.keys(turn).sort()).toEqual(
    ["cost", "message", "savings", "usage", "variables"].sort(),
  );
  const { message, variables, usage, savings, cost } = await ask(id, "And in Rome?");
  expect(message).toMatchObject({ role: "assistant", metadata: { usage, savings, cost } });
  expect(textOf(message)).toContain("in Rome with");
  expect(variables.map(({ name }) => name)).toEqual(["get_weather_nyc", "get_weather_rome"]);
  const counted: unknown = expect.any(Number);
  const tokens = { inputTokens: counted, outputTokens: counted, totalTokens: counted };
  // The demo model reports no cached tokens.
  expect(usage).toEqual({ ...tokens, cachedInputTokens: 0 });
  expect(usage.totalTokens).toBe((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0));
  const chars = { promptChars: counted, inlinePromptChars: counted };
  expect(savings).toEqual({ ...chars, authoredChars: counted, resolvedChars: counted });
  for (const count of Object.values(savings)) expect(count).toBeGreaterThan(0);
  expect(cost).toEqual({ rowsRead: counted, rowsWritten: counted, alarms: counted });
});

it("a turn is answered by the named agent, by both routes", async () => {
  const id = newId();
  const question = "Show my orders";
  expect(textOf((await ask(id, question)).message)).toContain("list_orders is not offered");
  expect(textOf((await ask(id, question, { agent: "orders" })).message)).toContain("5000 orders");
  await (await chat(id, [userMessage("Show my refunded orders")], { agent: "orders" })).text();
  expect(await namesIn(id)).toEqual(["list_orders_1", "list_orders_refunded"]);
});

it("a turn refuses an unknown agent in every form, and keeps nothing of the request", async () => {
  const id = newId();
  for (const accept of ["text/event-stream", "text/plain", "application/json"]) {
    for (const agent of ["nobody", "", "__proto__", "Weather"]) {
      const body = { message: NYC, agent, input: { a: 1 } };
      const { detail } = await problemIn(await short(id, body, accept), "not_found");
      expect(detail).toContain("weather, orders");
    }
  }
  expect(await messagesOf(id)).toEqual({ messages: [] });
  expect(await namesIn(id)).toEqual([]);
});

it("a turn keeps the input as the variable `input`, by both routes", async () => {
  const id = newId();
  await ask(id, NYC);
  await problemIn(await get(id, "input"), "variable_not_found");
  const input = { city: "NYC", deep: [{ "a b": null }] };
  await ask(id, NYC, { input });
  expect(await (await get(id, "input")).json()).toEqual(input);
  await (await chat(id, [userMessage(NYC)], { input: {} })).text();
  expect(await (await get(id, "input")).json()).toEqual({});
});

// Pages of any size: test/turn/history.test.ts.
it("GET /conversations/:id/messages has pages, each oldest first, and where the next one ends", async () => {
  const id = newId();
  for (const name of ["m1", "m2"]) await ask(id, userMessage("Who are you?", name));
  const { messages, ...more } = await messagesOf(id);
  expect([messages.map(({ role }) => role), more]).toEqual([
    ["user", "assistant", "user", "assistant"],
    {},
  ]);
  const { next, ...newest } = await messagesOf(id, "?limit=3");
  expect(newest.messages).toEqual(messages.slice(1));
  expect(await messagesOf(id, `?limit=3&before=${next}`)).toEqual({
    messages: messages.slice(0, 1),
  });
});

const PNG = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10, 0, 255]);
const dataUrl = (bytes: Uint8Array, type: string) =>
  `data:${type};base64,${btoa(String.fromCharCode(...bytes))}`;

async function sayParts(id: string, parts: readonly object[]) {
  const init = json({ message: { role: "user", parts } }, { accept: "application/json" });
  return call("POST", `/conversations/${id}/messages`, init);
}

const long = "Zoë said: ".repeat(2_001);

it("a person's long text is a variable: the model reads its handle, and the person its text", async () => {
  const id = newId();
  const { savings } = await ask(id, long);
  expect(await (await get(id, "message_1")).text()).toBe(long);
  expect(await (await get(id, "message_1/info")).json()).toMatchObject({
    sources: ["user"],
    trusted: true,
    count: [...long].length,
  });
  const [shown] = (await messagesOf(id)).messages;
  expect(shown?.parts).toEqual([{ type: "text", text: long }]);
  const [kept] = (await messagesOf(id, "?form=reference")).messages;
  expect(JSON.stringify(kept)).toContain('\\"$var\\":\\"message_1\\"');
  expect(JSON.stringify(kept).length).toBeLessThan(1_500);
  // Includes the definitions of the tools.
  expect(savings.promptChars).toBeLessThan(long.length / 2);
});

describe("a person's file", () => {
  it("is a byte variable that the message links to", async () => {
    const id = newId();
    const url = dataUrl(PNG, "image/png");
    const file = { type: "file", mediaType: "image/png", filename: "My photo.png", url };
    const response = await sayParts(id, [{ type: "text", text: "Who are you?" }, file]);
    expect(response.status).toBe(200);
    const value = await get(id, "My_photo");
    expect(value.headers.get("content-type")).toBe("image/png");
    expect(new Uint8Array(await value.arrayBuffer())).toEqual(PNG);
    const [question] = (await messagesOf(id)).messages;
    expect(question?.parts[1]).toMatchObject({
      type: "file",
      mediaType: "image/png",
      filename: "My photo.png",
      url: `/conversations/${id}/variables/My_photo`,
    });
    expect(JSON.stringify(await messagesOf(id, "?form=reference"))).not.toContain("base64");
  });

  it.each([
    ["application/json", '{"a":[1]}', { a: [1] }],
    ["text/plain; charset=utf-8", "Hällo", "Hällo"],
  ])("is a parsed value: %s", async (mediaType, text, value) => {
    const id = newId();
    const url = dataUrl(new TextEncoder().encode(text), "text/plain");
    expect((await sayParts(id, [{ type: "file", mediaType, url }])).status).toBe(200);
    const stored = await get(id, "file");
    expect(typeof value === "string" ? await stored.text() : await stored.json()).toEqual(value);
  });

  it("is refused if its data cannot be read", async () => {
    const file = { type: "file", mediaType: "image/png", url: "data:image/png;base64,###" };
    const turn = await (await sayParts(newId(), [file])).text();
    expect(turn).toContain("bad_value");
  });
});

const LONG = "A paragraph. ".repeat(200);

const writer: Agent = { name: "writer", description: "Writes.", instructions: "", tools: {} };
const shop: Agent = {
  name: "shop",
  description: "Answers questions about orders.",
  instructions: "Look orders up.",
  tools: {
    list_rows: tool({
      description: "All rows.",
      inputSchema: z.object({ of: z.string().optional() }),
      execute: () => Array.from({ length: 300 }, (_, id) => ({ id })),
    }),
    read_text: tool({ inputSchema: z.object({}), execute: () => LONG }),
    count: tool({ inputSchema: z.object({ rows: z.array(z.unknown()) }), execute: () => 1 }),
  },
};

/** All optional features of a Worker. */
const ALL = { code: runCode, queries, plans: planSupport() };

interface Talk {
  readonly own: OwnRuntime;
  /** The prompts that the model received, one for each call. */
  readonly calls: ReturnType<typeof scriptedModel>["calls"];
  /** Sends a message, and returns the answer's metadata. */
  say(message: string): Promise<{ readonly savings: { readonly promptChars: number } }>;
}

function talk(
  { agents = [shop], ...options }: Partial<RuntimeOptions>,
  steps: readonly Step[],
  work: (talk: Talk) => Promise<void>,
): Promise<void> {
  const model = scriptedModel(steps);
  return withRuntime({ agents, model, ...options }, (own) =>
    work({
      own,
      calls: model.calls,
      async say(message) {
        const init = json({ message }, { accept: "application/json" });
        const response = await own.call("POST", "/conversations/c/messages", init);
        expect(response.status).toBe(200);
        return response.json();
      },
    }),
  );
}

async function promptOf(own: OwnRuntime, query = ""): Promise<PromptDescription> {
  const response = await own.call("GET", `/agents/shop/prompt${query}`);
  expect(response.status).toBe(200);
  return response.json<PromptDescription>();
}

const ANSWER: Step = [text("Well."), finish("stop")];

/** Returns the definitions of the tools that a description lists as sent, in the provider's form. */
function definitionsIn({ tools }: PromptDescription): readonly unknown[] {
  return tools
    .filter(({ sent }) => sent)
    .map(({ name, description, inputSchema }) => ({
      type: "function",
      name,
      inputSchema,
      ...(description === undefined ? {} : { description }),
    }));
}

/** Requires that the description is what the model received in this call. */
function expectReceived(prompt: PromptDescription, call: Talk["calls"][number] | undefined): void {
  const { prompt: sent = [], tools = [] } = call ?? {};
  const [first, ...messages] = sent;
  const instructions = first?.role === "system" ? first.content : "";
  expect(prompt.instructions).toEqual({ text: instructions, chars: instructions.length });
  expect(prompt.toolChars).toBe(tools.length === 0 ? 0 : JSON.stringify(tools).length);
  expect(messages.map(({ role }) => role)).toEqual(prompt.messages.map(({ role }) => role));
  const parts = prompt.messages.reduce((sum, { chars }) => sum + chars, 0);
  expect(prompt.sentChars).toBe(prompt.instructions.chars + prompt.toolChars + parts);
  if (tools.length === 0) return;
  expect(JSON.stringify(definitionsIn(prompt))).toBe(JSON.stringify(tools));
  const sizes = prompt.tools.filter((one) => one.sent).map(({ chars }) => chars);
  expect(sizes).toEqual(tools.map((one) => JSON.stringify(one).length));
}

describe("the prompt over HTTP", () => {
  it.each<readonly [string, Partial<RuntimeOptions>]>([
    ["a plain Worker", {}],
    ["a Worker with a sandbox, tables and plans", ALL],
    ["an agent that asks another", { agents: [{ ...shop, delegates: ["writer"] }, writer] }],
    ["output paths", { agents: [{ ...shop, outputPath: true, variableTools: false }] }],
    ["tools as tags", { agents: [{ ...shop, toolCalls: capabilityTags }], ...ALL }],
  ])("is what the model receives in the first call: %s", async (_, options) => {
    await talk(options, [ANSWER], async ({ own, calls, say }) => {
      const prompt = await promptOf(own);
      await say("What is there?");
      expect(calls).toHaveLength(1);
      expectReceived(prompt, calls[0]);
      expect(prompt.messages).toEqual([{ role: "user", chars: 0 }]);
    });
  });

  it("of a conversation has its messages, the guide and the variables, as in the next call", async () => {
    const steps: readonly Step[] = [
      [toolCall("list_rows", {}), finish("tool-calls")],
      [text("All: $list_rows_1[0].id"), finish("stop")],
      ANSWER,
    ];
    await talk(ALL, steps, async ({ own, calls, say }) => {
      const before = await promptOf(own);
      await say("Which rows?");
      await own.call("PUT", "/conversations/c/variables/limit", json(7));
      const prompt = await promptOf(own, "?conversation=c");
      expect(prompt.guide).toEqual({ ...before.guide, sent: true });
      expect(prompt.laterChars).toBeLessThan(before.laterChars);
      const question = "And now?";
      const { savings } = await say(question);
      const received = calls.at(-1);
      expectReceived(prompt, received);
      const last = received?.prompt.at(-1)?.content;
      expect(last).toEqual([{ type: "text", text: prompt.tail?.text }]);
      expect(prompt.tail?.text).toContain("$limit: number");
      expect(prompt.tail?.chars).toBe(prompt.messages.at(-1)?.chars);
      expect(savings.promptChars).toBe(prompt.sentChars + question.length);
    });
  });

  it("has no sealed value, and is the same for every value of its length", async () => {
    const sizeOf = async (value: JSONValue) => {
      const id = newId();
      await put(id, "pin?visibility=sealed", value as string);
      const response = await call("GET", `/agents/weather/prompt?conversation=${id}`);
      return response.text();
    };
    const one = await sizeOf("sesame");
    expect(one).toContain("$pin: string (6) sealed");
    expect(one).not.toContain("sesame");
    expect(await sizeOf("secret")).toBe(one);
  });
});
