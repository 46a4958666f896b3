import { Chat } from "@ai-sdk/react";
import {
  type DataUIPart,
  DefaultChatTransport,
  type UIDataTypes,
  type UIMessage,
  WebSocketChatTransport,
} from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { framesIn, messagesOf, post, textOf } from "../support/turn-client.ts";

const MAX_CHUNK_CHARS = 10_000;

let server: WorkerServer;

beforeAll(async () => {
  server = await startWorkerServer();
});

afterAll(() => server?.stop());

/** The chat class behind `useChat`, and a record of its statuses and errors. */
function openChat(id: string, agent: "weather" | "orders") {
  const statuses: string[] = [];
  const data: DataUIPart<UIDataTypes>[] = [];
  const finished: (string | undefined)[] = [];
  const chat = new Chat<UIMessage>({
    id,
    transport: new DefaultChatTransport({ api: `${server.url}/conversations`, body: { agent } }),
    onData: (part) => data.push(part),
    onFinish: ({ finishReason }) => finished.push(finishReason),
  });
  chat["~registerStatusCallback"](() => statuses.push(chat.status));
  return { chat, statuses, data, finished, conversation: `${server.url}/conversations/${id}` };
}

/** Converts messages to JSON without the cost, which only the stream contains. */
function comparable(messages: readonly UIMessage[]): unknown {
  return JSON.parse(
    JSON.stringify(messages, (key, value: unknown) => (key === "cost" ? undefined : value)),
  );
}

function toolParts(message: UIMessage | undefined) {
  return (message?.parts ?? []).filter((part) => part.type.startsWith("tool-"));
}

describe("the seed's conversation", () => {
  const opened = () => openChat("seed", "weather");
  let seed: ReturnType<typeof opened>;

  beforeAll(async () => {
    seed = opened();
    await seed.chat.sendMessage({ text: "What's the weather in NYC?" });
    await seed.chat.sendMessage({ text: "What about London? Then compare them." });
  });

  it("passes through the statuses of a chat without an error", () => {
    const { chat, statuses, finished } = seed;
    expect(chat.error).toBeUndefined();
    const aTurn = ["submitted", "streaming", "ready"];
    expect(statuses).toEqual([...aTurn, ...aTurn]);
    expect(finished).toEqual(["stop", "stop"]);
  });

  it("ends with texts in which every reference is replaced by its value", () => {
    const { messages } = seed.chat;
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(textOf(messages[1])).toMatch(/^It is -?\d+(\.\d)? °C in New York with \d+ % humidity/);
    expect(textOf(messages[3])).toMatch(/ °C in London with /);
    expect(textOf(messages[3])).toMatch(/New York is .* than London|London is .* than New York/);
    expect(messages.map(textOf).join("")).not.toContain("$");
    const states = messages.flatMap(({ parts }) =>
      parts.flatMap((part) => ("state" in part ? [part.state] : [])),
    );
    expect(new Set(states)).toEqual(new Set(["done", "output-available"]));
  });

  it("shows tool calls with the model's own references, and results as variables", () => {
    const { messages } = seed.chat;
    expect(toolParts(messages[1])).toEqual([
      expect.objectContaining({
        type: "tool-get_weather",
        input: { location: "NYC" },
        output: { $var: "get_weather_nyc", value: expect.objectContaining({ city: "New York" }) },
      }),
    ]);
    expect(toolParts(messages[3])).toEqual([
      expect.objectContaining({
        type: "tool-get_weather",
        input: { location: "London" },
        output: { $var: "get_weather_london", value: expect.objectContaining({ city: "London" }) },
      }),
      expect.objectContaining({
        type: "tool-compare_weather",
        input: { city1: "$get_weather_nyc", city2: "$get_weather_london" },
        output: {
          $var: "compare_weather_1",
          value: expect.objectContaining({ difference: expect.any(Number) }),
        },
      }),
    ]);
  });

  it("reports variables as they are saved, without storing that in the messages", () => {
    const { data, chat } = seed;
    expect(data.map(({ type }) => type)).toEqual(Array(3).fill("data-variable"));
    expect(data.map((part) => part.data)).toEqual([
      expect.objectContaining({ name: "get_weather_nyc", version: 1, type: "object" }),
      expect.objectContaining({ name: "get_weather_london", version: 1, type: "object" }),
      expect.objectContaining({ name: "compare_weather_1", version: 1, type: "object" }),
    ]);
    const types = chat.messages.flatMap(({ parts }) => parts.map(({ type }) => type));
    expect(types.filter((type) => type.startsWith("data-"))).toEqual([]);
  });

  it("has usage, savings and cost in the answer's metadata", () => {
    expect(seed.chat.messages[3]?.metadata).toEqual({
      usage: {
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        totalTokens: expect.any(Number),
        cachedInputTokens: 0,
      },
      savings: {
        promptChars: expect.any(Number),
        inlinePromptChars: expect.any(Number),
        authoredChars: expect.any(Number),
        resolvedChars: expect.any(Number),
      },
      cost: {
        rowsRead: expect.any(Number),
        rowsWritten: expect.any(Number),
        alarms: expect.any(Number),
      },
    });
  });

  it("leaves the server with the same messages as the client", async () => {
    const stored = await messagesOf(seed.conversation);
    expect(comparable(stored)).toEqual(comparable(seed.chat.messages));
  });

  it("continues after a reload, from the server's messages", async () => {
    const { chat, conversation } = openChat("seed", "weather");
    chat.messages = [...(await messagesOf(conversation))];
    await chat.sendMessage({ text: "Compare NYC and London." });
    expect(chat.status).toBe("ready");
    expect(textOf(chat.messages[5])).toMatch(/New York|London/);
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
  });
});

describe("regenerate", () => {
  it("answers the same question again, and the server keeps one answer", async () => {
    const { chat, conversation, finished } = openChat("again", "weather");
    await chat.sendMessage({ text: "What's the weather in Tokyo?" });
    const [question, first] = chat.messages;
    await chat.regenerate();
    const [sameQuestion, second, ...others] = chat.messages;
    expect(others).toEqual([]);
    expect(sameQuestion).toEqual(question);
    expect(second?.id).not.toBe(first?.id);
    expect(textOf(second)).toBe(textOf(first));
    expect(toolParts(second)).toHaveLength(1);
    expect(finished).toEqual(["stop", "stop"]);
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
  });

  it("of an earlier answer removes the later ones, on the server too", async () => {
    const { chat, conversation } = openChat("again-earlier", "weather");
    await chat.sendMessage({ text: "What's the weather in Tokyo?" });
    await chat.sendMessage({ text: "What's the weather in Oslo?" });
    await chat.regenerate({ messageId: chat.messages[1]?.id ?? "" });
    expect(chat.messages).toHaveLength(2);
    expect(textOf(chat.messages[1])).toContain("Tokyo");
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
  });
});

describe("an edited question", () => {
  it("replaces the old question and all that followed, on the server too", async () => {
    const { chat, conversation } = openChat("edited", "weather");
    await chat.sendMessage({ text: "What's the weather in Tokyo?" });
    const messageId = chat.messages[0]?.id ?? "";
    await chat.sendMessage({ text: "What's the weather in Oslo?", messageId });
    expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    expect(textOf(chat.messages[1])).toContain("Oslo");
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
  });
});

describe("5,000 orders", () => {
  it("become a table of totals in the text, without a list of orders", async () => {
    const { chat, data, conversation } = openChat("orders", "orders");
    await chat.sendMessage({ text: "What are the monthly totals?" });
    expect(chat.error).toBeUndefined();
    const answer = chat.messages[1];
    const rows = textOf(answer)
      .split("\n")
      .filter((line) => line.startsWith("|"));
    expect(rows[0]).toBe("| month | orders | total |");
    expect(rows[1]).toMatch(/^\|( -+:? \|){3}$/);
    expect(rows.slice(2).map((row) => row.split(" | ")[0])).toEqual(
      Array.from({ length: 12 }, (_, month) => `| 2025-${String(month + 1).padStart(2, "0")}`),
    );
    const counts = rows.slice(2).map((row) => Number(row.split(" | ")[1]));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(5_000);

    const [list, totals] = toolParts(answer);
    expect(list).toMatchObject({ output: { $var: "list_orders_1", type: "array", count: 5_000 } });
    expect(list).not.toHaveProperty("output.value");
    expect(totals).toMatchObject({ input: { orders: "$list_orders_1" } });
    expect(data.map((part) => part.data)).toMatchObject([{ count: 5_000 }, { count: 12 }]);
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
    const value = await fetch(`${conversation}/variables/list_orders_1`);
    expect(await value.json()).toHaveLength(5_000);
  });

  it("stream in chunks of at most 10 KB", async () => {
    const conversation = `${server.url}/conversations/orders-chunks`;
    const frames = (
      await Promise.all(
        ["Show my orders.", "Summarize my orders.", "Write a report."].map(async (question) =>
          framesIn(await (await post(conversation, question, { agent: "orders" })).text()),
        ),
      )
    ).flat();
    expect(frames.filter(({ data }) => data === "[DONE]")).toHaveLength(3);
    const longest = Math.max(...frames.map(({ data }) => Buffer.byteLength(data)));
    expect(longest).toBeLessThan(MAX_CHUNK_CHARS);
    // The limit holds although the report, which was made from the orders, is in the stream.
    expect(frames.map(({ data }) => data).join("")).toContain("## Month by month");
  });
});

/** Opens a socket like a page of this origin. Returns "open" or "error". */
function outcomeOf(headers: Record<string, string>): Promise<string> {
  // Node's WebSocket accepts headers that a browser sets by itself.
  const options = { headers } as unknown as string[];
  const address = `${server.url.replace("http", "ws")}/conversations/door/socket`;
  const socket = new WebSocket(address, options);
  return new Promise<string>((done) => {
    for (const type of ["open", "error"] as const) {
      socket.addEventListener(type, () => {
        done(type);
        socket.close();
      });
    }
  });
}

describe("a WebSocket to npm start", () => {
  it("carries a conversation of the stock client", async () => {
    const conversation = `${server.url}/conversations/talk`;
    const transport = new WebSocketChatTransport<UIMessage>({ url: `${conversation}/socket` });
    const chat = new Chat<UIMessage>({ id: "talk", transport });
    await chat.sendMessage({ text: "What's the weather in NYC?" });
    await chat.sendMessage({ text: "What about London? Then compare them." });
    expect([chat.status, chat.error]).toEqual(["ready", undefined]);
    expect(textOf(chat.messages[3])).toMatch(
      /New York is .* than London|London is .* than New York/,
    );
    expect((await messagesOf(conversation)).map(textOf)).toEqual(chat.messages.map(textOf));
    transport.close();
  });

  it("is refused to pages of other sites", async () => {
    expect(await outcomeOf({})).toBe("open");
    expect(await outcomeOf({ origin: server.url })).toBe("open");
    expect(await outcomeOf({ origin: "https://evil.example" })).toBe("error");
  });
});

describe("compacted turns", () => {
  it("change nothing that a stock client receives or reads again", async () => {
    const { chat, data, conversation } = openChat("compacted", "weather");
    for (let turn = 1; turn <= 6; turn++) {
      await chat.sendMessage({ text: `What's the weather in NYC? ${turn} ${"x".repeat(9_000)}` });
      expect(chat.status).toBe("ready");
    }
    expect((await fetch(`${conversation}/variables/history/info`)).status).toBe(200);
    const messages = await messagesOf(conversation);
    expect(messages).toHaveLength(12);
    expect(comparable(chat.messages)).toEqual(comparable(messages));
    expect(JSON.stringify([chat.messages, data])).not.toMatch(/<history>|"history"/u);
  });
});
