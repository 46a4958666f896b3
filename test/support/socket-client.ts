import type { UIMessage, WebSocketChatTransport, WebSocketChatTransportResponse } from "ai";
import { vi } from "vitest";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { Conversation } from "../../src/index.ts";
import { type Call, ORIGIN } from "./edge.ts";
import { type OwnRuntime, withRuntime } from "./own-runtime.ts";

export type ServerFrame = WebSocketChatTransportResponse;

/** The client's end of a socket. */
interface SocketClient {
  readonly frames: readonly ServerFrame[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
  /** Sends an object as a frame, and a string unchanged. */
  send(frame: unknown): void;
  /** Resolves with the frames of a request once one has this type. */
  until(type: ServerFrame["type"], requestId: string): Promise<readonly ServerFrame[]>;
  close(): void;
}

/** Requests a socket as a non-browser client does, unless the headers say otherwise. */
export function upgrade(call: Call, id: string, headers: Record<string, string> = {}) {
  return call("GET", `/conversations/${id}/socket`, {
    headers: { upgrade: "websocket", ...headers },
  });
}

export async function connect(call: Call, id: string): Promise<SocketClient> {
  const { webSocket, status } = await upgrade(call, id);
  if (webSocket === null) throw new Error(`No socket, but ${status}.`);
  const frames: ServerFrame[] = [];
  const listeners = new Set<() => void>();
  webSocket.addEventListener("message", ({ data }) => {
    // The server sends only text frames.
    frames.push(JSON.parse(data as string) as ServerFrame);
    for (const listener of listeners) listener();
  });
  const { promise: closed, resolve } = Promise.withResolvers<{ code: number; reason: string }>();
  webSocket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
  webSocket.accept();
  return {
    frames,
    closed,
    send: (frame) => webSocket.send(typeof frame === "string" ? frame : JSON.stringify(frame)),
    until: (type, requestId) => {
      const own = () => frames.filter((frame) => frame.requestId === requestId);
      return new Promise((done) => {
        const look = () => {
          if (own().every((frame) => frame.type !== type)) return;
          listeners.delete(look);
          done(own());
        };
        listeners.add(look);
        look();
      });
    },
    close: () => webSocket.close(1000, "done"),
  };
}

/** Returns the frame that a stock client sends. A string becomes its last message. */
export function sendFrame(requestId: string, id: string, what: string | object) {
  const text = typeof what === "string" ? what : "Hello.";
  const message = { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
  const rest = { trigger: "submit-message", headers: {}, body: {} };
  const more = typeof what === "string" ? {} : what;
  return { type: "send", requestId, id, messages: [message as object], ...rest, ...more };
}

export function resumeFrame(requestId: string, id: string, lastSequence?: number) {
  return { type: "resume", requestId, id, lastSequence, headers: {}, body: {} };
}

/** Returns the text of the chunks. */
export function saidIn(frames: readonly ServerFrame[]): string {
  return frames
    .map((frame) =>
      frame.type === "chunk" && frame.chunk.type === "text-delta" ? frame.chunk.delta : "",
    )
    .join("");
}

type Options = ConstructorParameters<typeof WebSocketChatTransport<UIMessage>>[0];

/** Returns the WebSocket class for the AI SDK's transport. It connects to this Worker, whatever the host. */
export function socketClassFor(call: Call): NonNullable<Options["webSocket"]> {
  return class {
    readyState = 0;
    onopen: ((event: unknown) => void) | null = null;
    onmessage: ((event: { data: unknown }) => void) | null = null;
    onerror: ((event: unknown) => void) | null = null;
    onclose: ((event: unknown) => void) | null = null;
    #socket: WebSocket | undefined;

    constructor(url: string | URL) {
      const { pathname, search } = new URL(url);
      void this.#connect(`${ORIGIN}${pathname}${search}`);
    }

    async #connect(url: string): Promise<void> {
      const { webSocket } = await call("GET", url, { headers: { upgrade: "websocket" } });
      if (webSocket === null) return this.onerror?.({});
      this.#socket = webSocket;
      webSocket.addEventListener("message", (event) => this.onmessage?.(event));
      webSocket.addEventListener("close", (event) => {
        this.readyState = 3;
        this.onclose?.(event);
      });
      webSocket.accept();
      this.readyState = 1;
      this.onopen?.({});
    }

    send(data: string | Uint8Array | ArrayBuffer): void {
      this.#socket?.send(data);
    }

    close(code?: number, reason?: string): void {
      this.#socket?.close(code, reason);
    }
  };
}

/** Runs `withRuntime` with socket events forwarded to the test's own conversation. */
export function withSockets<Result>(
  options: RuntimeOptions,
  work: (own: OwnRuntime) => Promise<Result>,
): Promise<Result> {
  return withRuntime(options, async (own) => {
    // The platform passes events to the object created by the deployed Worker's class.
    const events = ["webSocketMessage", "webSocketClose", "webSocketError"] as const;
    for (const name of events) {
      vi.spyOn(Conversation.prototype, name).mockImplementation((socket, message) =>
        own.conversation()[name](socket, message as string),
      );
    }
    return work(own);
  });
}
