import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { byrefTransport } from "../../../src/react.ts";
import type { Session } from "../session.ts";

/** Milliseconds until the first part of each answer. */
export type FirstParts = ReadonlyMap<string, number>;

export interface TransportOptions {
  readonly session: Pick<Session, "options">;
  /** Called when a message is sent. */
  readonly agent: () => string | undefined;
  readonly onFirstPart: (messageId: string, waitedMs: number) => void;
  /** Called with the first frame of an answer, before it is shown. The server has stored the question. */
  readonly onAcknowledged: () => void;
  /** Called when a running turn is joined, before its stream is read. The page may not have its question yet. */
  readonly onJoined: () => Promise<void>;
  /** Called when the connection is lost during an answer, and when it is back. */
  readonly onLost: (isLost: boolean) => void;
}

/** Pauses before reconnecting. Together they outlast a restart, or a tunnel. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000];

/** The transport of `byref/react`, with callbacks about its progress. */
export function transportFor(options: TransportOptions): ChatTransport<UIMessage> {
  const { session, agent, onFirstPart, onAcknowledged, onJoined, onLost } = options;
  let hasBegun = false;
  const transport = byrefTransport("", {
    ...session.options,
    agent,
    // Opening another conversation does not stop the turn. The Stop button does.
    onAbort: "leave",
    onReconnect: onLost,
    // Before the first frame, the user decides whether to retry.
    retryMs: (failures) => (hasBegun ? PAUSES_MS[failures - 1] : undefined),
  });
  return {
    resumeStreamIsReplay: true,
    async sendMessages(asked) {
      hasBegun = false;
      const sentMs = performance.now();
      const stream = await transport.sendMessages(asked);
      hasBegun = true;
      onAcknowledged();
      return withFirst(stream, (id) => onFirstPart(id, performance.now() - sentMs));
    },
    async reconnectToStream(asked) {
      hasBegun = true;
      const stream = await transport.reconnectToStream(asked);
      if (stream === null) return null;
      await onJoined();
      return stream;
    },
  };
}

const SEEN: ReadonlySet<UIMessageChunk["type"]> = new Set([
  "text-delta",
  "tool-input-start",
  "tool-input-available",
  "reasoning-delta",
]);

/** Calls `onFirst` with the message's id at the first visible part. */
function withFirst(stream: ReadableStream<UIMessageChunk>, onFirst: (messageId: string) => void) {
  let id = "";
  let first: typeof onFirst | undefined = onFirst;
  const watch = new TransformStream<UIMessageChunk, UIMessageChunk>({
    transform(chunk, controller) {
      if (chunk.type === "start") id = chunk.messageId ?? id;
      if (SEEN.has(chunk.type)) {
        first?.(id);
        first = undefined;
      }
      controller.enqueue(chunk);
    },
  });
  return stream.pipeThrough(watch);
}
