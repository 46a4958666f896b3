import { DefaultChatTransport, type UIMessage } from "ai";
import type { Session } from "../session.ts";

/** How long a person waited for the first part of an answer, in milliseconds. */
export type FirstParts = ReadonlyMap<string, number>;

export interface TransportOptions {
  readonly session: Session;
  /** Asked when a message is sent. */
  readonly agent: () => string | undefined;
  readonly onFirstPart: (messageId: string, waitedMs: number) => void;
}

/** The stock transport: the server has all messages but the last, so only that is sent. */
export function transportFor({ session, agent, onFirstPart }: TransportOptions) {
  const at = `/conversations/${encodeURIComponent(session.conversation)}`;
  return new DefaultChatTransport<UIMessage>({
    api: "/conversations",
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
      body: { id, messages: messages.slice(-1), trigger, messageId, agent: agent() },
    }),
    prepareReconnectToStreamRequest: () => ({ api: `${at}/stream` }),
    fetch: async (url, init) => {
      const sentMs = performance.now();
      const response = await session.fetch(String(url), init);
      if (init?.method !== "POST" || response.body === null) return response;
      const body = response.body.pipeThrough(
        untilFirstPart((messageId) => onFirstPart(messageId, performance.now() - sentMs)),
      );
      return new Response(body, response);
    },
  });
}

const FIRST_PART = /"type":"(?:text-delta|tool-input-start|tool-input-available|reasoning-delta)"/;

/** Passes everything on as it is, and tells once when something to see has come. */
function untilFirstPart(
  tell: (messageId: string) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let text: string | undefined = "";
  return new TransformStream({
    transform(chunk, controller) {
      if (text !== undefined) {
        text += decoder.decode(chunk, { stream: true });
        if (FIRST_PART.test(text)) {
          tell(/"messageId":"([^"]+)"/.exec(text)?.[1] ?? "");
          text = undefined;
        }
      }
      controller.enqueue(chunk);
    },
  });
}
