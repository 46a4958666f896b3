import { Chat } from "@ai-sdk/react";
import { type DataUIPart, DefaultChatTransport, type UIDataTypes, type UIMessage } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type WorkerServer, startWorkerServer } from "../support/worker-server.ts";
import { messagesOf, textOf } from "../support/turn-client.ts";

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

  it("continues after a reload, from the server's messages", async () => {
    const { chat, conversation } = openChat("seed", "weather");
    chat.messages = [...(await messagesOf(conversation))];
    await chat.sendMessage({ text: "Compare NYC and London." });
    expect(chat.status).toBe("ready");
    expect(textOf(chat.messages[5])).toMatch(/New York|London/);
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
  });
});
