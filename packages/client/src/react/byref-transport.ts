import type { ChatTransport, UIMessage, UIMessageChunk } from "ai";
import { type ClientOptions, type Connection, connect } from "../client/connection.ts";
import { backOff } from "../client/follow.ts";
import { type Chunk, streamed, type TurnData } from "../client/streamed.ts";
import { tell } from "./turn-news.ts";

/** Options of a chat, in addition to those of the client. */
export interface ByrefTransportOptions extends ClientOptions {
  /** The agent that answers, or a function that is called for each message. Default: the server's first. */
  readonly agent?: string | (() => string | undefined);
  /** Further headers of each request, or a function that returns them. */
  readonly headers?: HeaderFields | (() => HeaderFields);
  /**
   * Effect of the chat's `stop` and of removing its component: `stop` (default) stops the server's turn, `leave`
   * only stops reading.
   */
  readonly onAbort?: "stop" | "leave";
  /** Called with true when the connection breaks and is made again, and with false when it is back. */
  readonly onReconnect?: (isLost: boolean) => void;
}

type HeaderFields = Readonly<Record<string, string>>;
type SendOptions = Parameters<ChatTransport<UIMessage>["sendMessages"]>[0];
type Asked = Pick<SendOptions, "chatId"> & Partial<SendOptions>;

/**
 * A transport for the AI SDK's `useChat`, to a Byref server. Sends the last message only, because the server
 * has the others; reconnects to a running turn, and continues a stream after its last part when the
 * connection breaks. Rejects with a `ClientError`.
 */
export function byrefTransport<Message extends UIMessage = UIMessage>(
  url: string,
  options: ByrefTransportOptions = {},
): ChatTransport<Message> {
  const { agent, onAbort = "stop" } = options;
  return {
    // The server repeats a turn's stream from its first part.
    resumeStreamIsReplay: true,
    sendMessages: async (asked) => {
      const { chatId: id, messages, trigger, messageId, body } = asked;
      const [last] = messages.slice(-1);
      const name = typeof agent === "function" ? agent() : agent;
      const json = { agent: name, ...body, id, messages: [last], trigger, messageId };
      // The server recognises a new message that it has already.
      const isNew = trigger === "submit-message" && messageId === undefined;
      const mayRepeat = isNew && last?.role === "user";
      const request = { method: "POST", at: "", json, mayRepeat } as const;
      const stream = await opened(url, { options, asked, request, stops: onAbort === "stop" });
      return stream ?? new ReadableStream({ start: (controller) => controller.close() });
    },
    reconnectToStream: (asked) => {
      const request = { method: "GET", at: "/stream", mayRepeat: true } as const;
      return opened(url, { options, asked, request, stops: false });
    },
  };
}

interface Opening {
  readonly options: ByrefTransportOptions;
  readonly asked: Asked;
  readonly request: Omit<Parameters<typeof streamed>[1], "headers" | "signal">;
  /** An abort before the first part stops the turn, too: it may have begun. */
  readonly stops: boolean;
}

/** Returns the stream when its first part is there; null if there is none. */
async function opened(
  url: string,
  opening: Opening,
): Promise<ReadableStream<UIMessageChunk> | null> {
  const { options, asked, request, stops } = opening;
  const { chatId, abortSignal } = asked;
  let wasLost = false;
  const report = (isLost: boolean) => {
    if (isLost !== wasLost) options.onReconnect?.(isLost);
    wasLost = isLost;
  };
  const connection = connectionOf(url, opening, report);
  const reading = new AbortController();
  let hasBegun = false;
  const leave = () => {
    // The turn of a message that was just sent is stopped when it has begun.
    if (!hasBegun && stops) return;
    // If that fails, the turn continues, and the messages show it.
    if (hasBegun && options.onAbort !== "leave") connection.call("POST", "/stop").catch(() => {});
    reading.abort(abortSignal?.reason);
  };
  abortSignal?.addEventListener("abort", leave);
  const end = () => {
    abortSignal?.removeEventListener("abort", leave);
    report(false);
    reading.abort();
  };
  const headers = Object.fromEntries(new Headers(asked.headers));
  const { signal } = reading;
  const chunks = streamed<TurnData, never>(connection, { ...request, headers, signal });
  const parts = chunks[Symbol.asyncIterator]();
  const read = async () => {
    try {
      const part = await parts.next();
      const isFirst = !hasBegun;
      hasBegun = true;
      if (isFirst && abortSignal?.aborted === true) leave();
      signal.throwIfAborted();
      if (part.done === true) end();
      return part;
    } catch (error) {
      end();
      throw error;
    }
  };
  let part = await read();
  if (part.done === true) return null;
  const stream = new ReadableStream<Chunk<TurnData>>({
    async pull(controller) {
      if (part.done === true) return controller.close();
      const { value: chunk } = part;
      if (chunk.type === "data-variable") tell(chatId, chunk.data.name);
      controller.enqueue(chunk);
      part = await read();
    },
    cancel: end,
  });
  return stream as ReadableStream<UIMessageChunk>;
}

/** A connection to one conversation, of which the empty path is that of chats. */
function connectionOf(
  url: string,
  { options, asked }: Opening,
  report: (isLost: boolean) => void,
): Connection {
  const { headers, fetch: send = fetch, retryMs = backOff } = options;
  const root = `${url.replace(/\/$/, "")}/conversations`;
  const own: ClientOptions = {
    ...options,
    fetch: (to, init) => {
      // Else `Content-Type` and `content-type` would be sent both.
      const more = new Headers(typeof headers === "function" ? headers() : headers);
      const all = { ...Object.fromEntries(more), ...(init.headers as HeaderFields) };
      return send(to, { ...init, headers: all });
    },
    retryMs: (failures) => {
      const ms = asked.abortSignal?.aborted === true ? undefined : retryMs(failures);
      report(ms !== undefined);
      return ms;
    },
  };
  const connection = connect(root, own);
  const of = `/${encodeURIComponent(asked.chatId)}`;
  return {
    ...connection,
    call: async (method, at, request) => {
      const response = await connection.call(method, at && of + at, request);
      report(false);
      return response;
    },
  };
}
