import { randomUUID } from "node:crypto";
import type { UIMessageChunk } from "ai";
import { type Answer, checked, Times } from "./ask.ts";
import { textIn } from "../test/support/turn-client.ts";
import { type Load, questionFor } from "./load.ts";
import type { Begin } from "./talk.ts";

/** A server's protocol over a socket. */
interface Dialect {
  readonly url: string;
  /** The earlier messages, if the client sends them again with each question. */
  earlier?(): Promise<readonly object[]>;
  /** Called after each answer. */
  answered?(question: object, chunks: readonly UIMessageChunk[]): void;
  /** A frame with a question, which is the newest message. */
  question(id: string, messages: readonly object[], load: Load): object;
  /** Parses the parts of a frame that belong to this question. */
  read(data: string, id: string): ParsedFrame;
}

interface ParsedFrame {
  readonly chunk?: UIMessageChunk;
  readonly isEnd?: boolean;
  readonly error?: string;
}

interface AgentFrame {
  readonly type?: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: boolean;
}

/**
 * Talks to a chat agent of the package `agents`, as its own client does: sends all messages with each
 * question.
 */
export function talkToAgent(kind: string): Begin {
  return (server, name) => {
    const url = `${server}/agents/${kind}/${name}`;
    // The messages as its client has them; undefined after an answer that has more than text.
    let known: readonly object[] | undefined = [];
    return talkOverSocket({
      url,
      earlier: async () => (known ??= await messagesAt(url)),
      answered: (question, chunks) => {
        const answer = textMessageOf(chunks);
        known = answer === undefined ? undefined : [...(known ?? []), question, answer];
      },
      question: (id, messages) => {
        const body = JSON.stringify({ messages, trigger: "submit-message" });
        return { type: "cf_agent_use_chat_request", id, init: { method: "POST", body } };
      },
      read: (data, id) => {
        const frame = JSON.parse(data) as AgentFrame;
        if (frame.type !== "cf_agent_use_chat_response" || frame.id !== id) return {};
        if (frame.error === true) return { error: frame.body ?? "" };
        const isChunk = frame.body !== undefined && frame.body.trim() !== "";
        return {
          ...(isChunk ? { chunk: JSON.parse(frame.body) as UIMessageChunk } : {}),
          isEnd: frame.done === true,
        };
      },
    });
  };
}

/** The message that the client makes of these chunks; undefined if it has more than text. */
function textMessageOf(chunks: readonly UIMessageChunk[]): object | undefined {
  const types = new Set(chunks.map(({ type }) => type));
  if (![...types].every((type) => TEXT_CHUNKS.has(type))) return undefined;
  const start = chunks.find((chunk) => chunk.type === "start");
  if (start?.messageId === undefined) return undefined;
  const text = { type: "text", text: textIn(chunks), state: "done" };
  return { id: start.messageId, role: "assistant", parts: [{ type: "step-start" }, text] };
}

const TEXT_CHUNKS: ReadonlySet<string> = new Set([
  "start",
  "start-step",
  "text-start",
  "text-delta",
  "text-end",
  "finish-step",
  "finish",
]);

async function messagesAt(url: string): Promise<readonly object[]> {
  const response = await fetch(`${url}/get-messages`);
  return (await response.json()) as readonly object[];
}

/** Uses one socket for the whole conversation. The times do not include reading the earlier messages. */
function talkOverSocket(dialect: Dialect): ReturnType<Begin> {
  let opened: Promise<WebSocket> | undefined;
  return {
    ask: async (load) => {
      const earlier = (await dialect.earlier?.()) ?? [];
      const times = new Times();
      opened ??= openSocket(dialect.url.replace("http", "ws"));
      return sendQuestion(await opened, dialect, { earlier, load, times });
    },
    close: () => void opened?.then((socket) => socket.close()),
  };
}

function openSocket(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(socket), { once: true });
    socket.addEventListener("error", () => reject(new Error(`No socket at ${url}`)), {
      once: true,
    });
  });
}

interface Question {
  readonly earlier: readonly object[];
  readonly load: Load;
  readonly times: Times;
}

function sendQuestion(
  socket: WebSocket,
  dialect: Dialect,
  { earlier, load, times }: Question,
): Promise<Answer> {
  const id = randomUUID();
  const parts = [{ type: "text", text: questionFor(load) }];
  const asked = { id: randomUUID(), role: "user", parts };
  const messages = [...earlier, asked];
  const chunks: UIMessageChunk[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const { signal } = stop;
    const onMessage = (event: MessageEvent) => {
      const data = String(event.data);
      const { chunk, isEnd, error } = dialect.read(data, id);
      if (error !== undefined) return reject(new Error(error));
      if (chunk === undefined && isEnd !== true) return;
      bytes += data.length;
      if (chunk !== undefined) chunks.push(chunk);
      times.received(chunk?.type === "text-delta");
      if (isEnd !== true) return;
      stop.abort();
      dialect.answered?.(asked, chunks);
      resolve({ ...times.ended(), bytes, ...checked(chunks, load) });
    };
    socket.addEventListener("message", onMessage, { signal });
    socket.addEventListener("close", () => reject(new Error("The socket is closed.")), { signal });
    socket.send(JSON.stringify(dialect.question(id, messages, load)));
  });
}
