import { Chat } from "@ai-sdk/react";
import { type UIMessage, WebSocketChatTransport } from "ai";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Server, startServer } from "../support/server.ts";
import { messagesOf, textOf } from "../support/turn-client.ts";

let server: Server;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server?.stop());

/** What comes of a socket that a page of this origin opens. */
function outcomeOf(headers: Record<string, string>): Promise<string> {
  // Node's WebSocket takes headers, which a browser sets by itself.
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

describe("a socket to what npm start runs", () => {
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

  it("is not for pages of other sites, nor for those that claim another host", async () => {
    expect(await outcomeOf({})).toBe("open");
    expect(await outcomeOf({ origin: server.url })).toBe("open");
    expect(await outcomeOf({ origin: "https://evil.example" })).toBe("error");
    const lies = { "mf-original-url": "http://evil.example/", "x-forwarded-host": "evil.example" };
    expect(await outcomeOf({ ...lies, origin: "http://evil.example" })).toBe("error");
  });
});

describe("an offer to upgrade to something else", () => {
  it("is passed over: the request is answered as it is, with its body", async () => {
    const body = await new Promise<string>((done, fail) => {
      const asked = request(
        `${server.url}/conversations/h2c/messages`,
        {
          method: "POST",
          headers: {
            connection: "Upgrade",
            upgrade: "h2c",
            accept: "text/plain",
            "content-type": "application/json",
          },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => done(text));
        },
      );
      asked.on("error", fail);
      asked.end(JSON.stringify({ message: "What is the weather in NYC?" }));
    });
    expect(body).toContain("New York");
  });
});
