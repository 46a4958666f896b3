import type { ConversationObject } from "../../src/edge/conversation.ts";
import { statusOf } from "../../src/edge/conversation-parts.ts";
import { type MessageForm, toUIMessage } from "../../src/turn/history/stored-message.ts";

/** A conversation's object, with methods for tests in its process that do not use HTTP. */
export type InsideConversation = ReturnType<typeof inside>;

export function inside(conversation: ConversationObject) {
  const { parts } = conversation;
  const { context } = parts;
  return Object.assign(conversation, {
    about: () => ({ ...context.requireExisting().info, status: statusOf(parts) ?? "idle" }),
    setTitle: (title: string) => {
      context.requireExisting().setTitle(title);
      context.index.update();
    },
    stop: () => context.queue.stop(),
    deleteAll: () => context.deletion.start(),
    readMessages: ({ form, ...page }: { limit: number; form: MessageForm }) => {
      const { messages } = context.data?.history.page(page) ?? { messages: [] };
      return { messages: messages.map((message) => toUIMessage(message, form)) };
    },
    listEvents: (page: { after: number; limit: number }) =>
      context.data?.events.list(page) ?? { events: [] },
    listVariables: () => context.store.list({}),
  });
}
