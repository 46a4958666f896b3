import { Chat } from "@ai-sdk/react";
import {
  convertToModelMessages,
  DefaultChatTransport,
  type UIMessage,
  validateUIMessages,
} from "ai";
import { expect } from "vitest";
import { type Call, type MessagePage, ORIGIN } from "./edge.ts";

interface Own {
  readonly call: Call;
}

/** The stock chat of a page that has just loaded these messages. */
export function stockChat(own: Own, messages: readonly UIMessage[] = [], body: object = {}) {
  const fetchFrom: typeof fetch = (url, init) => own.call(init?.method ?? "GET", String(url), init);
  const api = `${ORIGIN}/conversations`;
  return new Chat<UIMessage>({
    id: "c",
    messages: [...messages],
    transport: new DefaultChatTransport({ api, body, fetch: fetchFrom }),
  });
}

/** The messages as a page loads them. They must be acceptable to the SDK's own functions. */
export async function loaded(own: Own): Promise<readonly UIMessage[]> {
  const response = await own.call("GET", "/conversations/c/messages");
  const { messages } = await response.json<MessagePage>();
  if (messages.length > 0) {
    await expect(validateUIMessages({ messages })).resolves.toHaveLength(messages.length);
    await expect(convertToModelMessages([...messages])).resolves.toBeInstanceOf(Array);
  }
  return messages;
}

/** Requires that a chat is ready and shows what a page would load. */
export async function expectSame(own: Own, chat: Chat<UIMessage>): Promise<void> {
  expect([chat.status, chat.error]).toEqual(["ready", undefined]);
  const parts = (messages: readonly UIMessage[]) =>
    JSON.parse(
      JSON.stringify(messages.map(({ id, role, parts }) => ({ id, role, parts }))),
    ) as unknown;
  expect(parts(chat.messages)).toEqual(parts(await loaded(own)));
}
