import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { byrefTransport } from "../../../src/react.ts";
import type { Session } from "../session.ts";

/** How long a person waited for the first part of an answer, in milliseconds. */
export type FirstParts = ReadonlyMap<string, number>;

export interface TransportOptions {
  readonly session: Pick<Session, "options">;
  /** Called when a message is sent. */
  readonly agent: () => string | undefined;
  readonly onFirstPart: (messageId: string, waitedMs: number) => void;
  /** Called with the first frame of an answer, before anything of it is shown: the server has the question. */
  readonly onAcknowledged: () => void;
  /**
   * Called when a turn that runs is joined, before any of its stream is read: the question may be one that
   * this page has not seen.
   */
  readonly onJoined: () => Promise<void>;
  /** The connection is lost in the middle of an answer, and made again; or it is there again. */
  readonly onLost: (isLost: boolean) => void;
}

/** Pauses before each try to connect again: enough for a restart, or a tunnel. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000, 8_000];

/** The transport of `byref/react`, which reports what the page shows of its progress. */
export function transportFor(options: TransportOptions): ChatTransport<UIMessage> {
  const { session, agent, onFirstPart, onAcknowledged, onJoined, onLost } = options;
  let hasBegun = false;
  const transport = byrefTransport("", {
    ...session.options,
    agent,
    // A person who looks at another conversation does not stop the turn; the page has a way of its own.
    onAbort: "leave",
    onReconnect: onLost,
    // Until an answer has begun, a person decides.
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

/** Calls `onFirst` with the message's id when something to see has come. */
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
