import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { backOff } from "../../../packages/client/src/client/follow.ts";
import { byrefTransport } from "../../../packages/client/src/react.ts";
import type { Session } from "../session.ts";

export interface TransportOptions {
  readonly session: Pick<Session, "options">;
  /** Called when a message or a decision is sent. */
  readonly onSend: () => void;
  /** Called when a message is sent. */
  readonly agent: () => string | undefined;
  /** Called with the first frame of an answer, before it is shown. The server has stored the question. */
  readonly onAcknowledged: () => void;
  /** Called when a running turn is joined, before its stream is read. The page may not have its question yet. */
  readonly onJoined: () => Promise<void>;
  /** Called when the connection is lost during an answer, and when it is back. */
  readonly onLost: (isLost: boolean) => void;
}

/** The transport of `byref/react`, with callbacks about its progress. */
export function transportFor(options: TransportOptions): ChatTransport<UIMessage> {
  const { session, agent, onSend, onAcknowledged, onJoined, onLost } = options;
  let hasBegun = false;
  const transport = byrefTransport("", {
    ...session.options,
    agent,
    // Opening another conversation does not stop the turn. The Stop button does.
    onAbort: "leave",
    onReconnect: onLost,
    // Before the first frame, the user decides whether to retry.
    retryMs: (failures) => (hasBegun ? backOff(failures) : undefined),
  });
  /** Resolves when the answer to what this page sent has ended. */
  let answered: Promise<void> = Promise.resolve();
  return {
    resumeStreamIsReplay: true,
    async sendMessages(asked) {
      onSend();
      hasBegun = false;
      const { promise, resolve } = Promise.withResolvers<void>();
      answered = promise;
      const sending = transport.sendMessages(asked);
      sending.catch(() => resolve());
      const stream = await sending;
      hasBegun = true;
      onAcknowledged();
      const { readable, writable } = new TransformStream<UIMessageChunk, UIMessageChunk>();
      // Also resolves when the stream has failed or been cancelled.
      void stream.pipeTo(writable).then(resolve, () => resolve());
      return readable;
    },
    async reconnectToStream(asked) {
      hasBegun = true;
      const stream = await transport.reconnectToStream(asked);
      if (stream !== null) {
        await onJoined();
        return stream;
      }
      // Without a stream the chat is ready for messages. It is not while it waits for an answer.
      await answered;
      return null;
    },
  };
}
