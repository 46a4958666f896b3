import { rmSync } from "node:fs";
import { Chat } from "@ai-sdk/react";
import { type UIMessage, WebSocketChatTransport } from "ai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  type ChatCompletions,
  type ChatStep,
  startChatCompletions,
} from "../support/chat-completions.ts";
import { temporaryFolder } from "../support/server.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";
import { startWorkerServer, type WorkerServer } from "../support/worker-server.ts";

const HALVES = "The first half and the other half.";

let endpoint: ChatCompletions;
let worker: WorkerServer;
const stateDir = temporaryFolder();

beforeAll(async () => {
  endpoint = await startChatCompletions();
  await start();
});

afterAll(async () => {
  await worker?.stop();
  await endpoint?.down();
  rmSync(stateDir, { recursive: true, force: true });
});

/** Starts the Worker on the existing state. */
async function start(): Promise<void> {
  const MODEL_BASE_URL = endpoint.url;
  const MODEL = "openai-compatible:test";
  worker = await startWorkerServer({ STATE_DIR: stateDir, MODEL, MODEL_BASE_URL });
}

/** The chat class behind `useChat`, over a real WebSocket. */
function openChat(id: string) {
  const transport = new WebSocketChatTransport<UIMessage>({
    url: `${worker.url}/conversations/${id}/socket`,
    body: { agent: "weather" },
  });
  const chat = new Chat<UIMessage>({ id, transport });
  return { chat, transport, conversation: `${worker.url}/conversations/${id}` };
}

/** A model that streams half of its text, and the other half when the test calls `letGo`. */
function playHalves(then: readonly ChatStep[] = []) {
  const { promise: hold, resolve: letGo } = Promise.withResolvers<void>();
  endpoint.play([{ kind: "text", text: HALVES, hold }, ...then]);
  return letGo;
}

const untilSaid = (chat: Chat<UIMessage>, words: string) =>
  vi.waitFor(() => expect(textOf(chat.messages.at(-1))).toContain(words));

/** Converts messages to JSON without the cost, which only the stream contains. */
function comparable(messages: readonly UIMessage[]): unknown {
  return JSON.parse(
    JSON.stringify(messages, (key, value: unknown) => (key === "cost" ? undefined : value)),
  );
}

it.each(["text/event-stream", "text/plain"])("%s streams as the model writes", async (accept) => {
  const letGo = playHalves();
  const response = await post(`${worker.url}/conversations/${accept.slice(5)}`, "Tell me.", {
    accept,
  });
  let text = "";
  const reading = (async () => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      text += chunk;
  })();
  await vi.waitFor(() => expect(text).toContain("The first"));
  expect(text).not.toContain("other half");
  letGo();
  await reading;
  expect(text).toContain("other half");
});

// Other behavior: test/edge/sockets.test.ts.
describe("the stock client over a WebSocket", () => {
  it("resumes after its socket was cut, because the turn continued", async () => {
    const letGo = playHalves();
    const { chat, transport, conversation } = openChat("cut");
    const asked = chat.sendMessage({ text: "Tell me." });
    await untilSaid(chat, "The first");
    transport.close();
    await asked;
    expect(chat.status).toBe("error");
    const resumed = chat.resumeStream();
    await vi.waitFor(() => expect(chat.status).toBe("streaming"));
    letGo();
    await resumed;
    expect(chat.messages.map(textOf)).toEqual(["Tell me.", HALVES]);
    expect(comparable(await messagesOf(conversation))).toEqual(comparable(chat.messages));
    transport.close();
  });

  it("resumes after the server was killed, from the same state", async () => {
    playHalves([{ kind: "text", text: "All of it, anew." }]);
    const { chat } = openChat("killed");
    const asked = chat.sendMessage({ text: "Tell me." });
    await untilSaid(chat, "The first");
    await worker.stop();
    await asked;
    expect(chat.status).toBe("error");
    await start();
    const again = openChat("killed");
    again.chat.messages = [...(await messagesOf(again.conversation))];
    await again.chat.resumeStream();
    await vi.waitFor(async () => {
      const messages = await messagesOf(again.conversation);
      expect(textOf(messages[1])).toMatch(/All of it, anew\.$/);
    });
    endpoint.play([{ kind: "text", text: "Here again." }]);
    await again.chat.sendMessage({ text: "And now?" });
    expect(textOf(again.chat.messages.at(-1))).toBe("Here again.");
    again.transport.close();
  });
});
