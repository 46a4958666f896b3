import { randomUUID } from "node:crypto";
import type { UIMessageChunk } from "ai";
import { textIn } from "../test/support/turn-client.ts";
import { type Answer, checked, Times } from "./ask.ts";
import { type Load, questionFor } from "./load.ts";
import type { Begin } from "./talk.ts";

interface AgentFrame {
  readonly type?: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: boolean;
}

/**
 * Talks to a chat agent of the package `agents`, as its own client does: over one socket for the whole conversation,
 * with all messages in each question. The times do not include reading the earlier messages.
 */
export function talkToAgent(kind: string): Begin {
  return (server, name) => {
    const url = `${server}/agents/${kind}/${name}`;
    // The messages as its client has them; undefined after an answer that has more than text.
    let known: readonly object[] | undefined = [];
    let opened: Promise<WebSocket> | undefined;
    return {
      ask: async (load) => {
        const earlier = known ?? (await messagesAt(url));
        const parts = [{ type: "text", text: questionFor(load) }];
        const messages = [...earlier, { id: randomUUID(), role: "user", parts }];
        const times = new Times();
        opened ??= openSocket(url.replace("http", "ws"));
        const { chunks, ...answer } = await ask(await opened, { messages, load, times });
        const message = textMessageOf(chunks);
        known = message === undefined ? undefined : [...messages, message];
        return answer;
      },
      close: () => void opened?.then((socket) => socket.close()),
    };
  };
}

interface Question {
  readonly messages: readonly object[];
  readonly load: Load;
  readonly times: Times;
}

function ask(
  socket: WebSocket,
  { messages, load, times }: Question,
): Promise<Answer & { readonly chunks: readonly UIMessageChunk[] }> {
  const id = randomUUID();
  const chunks: UIMessageChunk[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const { signal } = stop;
    const onMessage = (event: MessageEvent) => {
      const data = String(event.data);
      const { type, id: of, body = "", done, error } = JSON.parse(data) as AgentFrame;
      if (type !== "cf_agent_use_chat_response" || of !== id) return;
      if (error === true) return reject(new Error(body));
      bytes += data.length;
      if (body.trim() !== "") chunks.push(JSON.parse(body) as UIMessageChunk);
      times.received(chunks.at(-1)?.type === "text-delta");
      if (done !== true) return;
      stop.abort();
      resolve({ ...times.ended(), bytes, chunks, ...checked(chunks, load) });
    };
    socket.addEventListener("message", onMessage, { signal });
    socket.addEventListener("close", () => reject(new Error("The socket is closed.")), { signal });
    const body = JSON.stringify({ messages, trigger: "submit-message" });
    const init = { method: "POST", body };
    socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init }));
  });
}

/** The message that the client makes of these chunks; undefined if it has more than text. */
function textMessageOf(chunks: readonly UIMessageChunk[]): object | undefined {
  if (!chunks.every(({ type }) => /^(?:start|finish)(?:-step)?$|^text-/.test(type)))
    return undefined;
  const start = chunks.find((chunk) => chunk.type === "start");
  if (start?.messageId === undefined) return undefined;
  const text = { type: "text", text: textIn(chunks), state: "done" };
  return { id: start.messageId, role: "assistant", parts: [{ type: "step-start" }, text] };
}

async function messagesAt(url: string): Promise<readonly object[]> {
  const response = await fetch(`${url}/get-messages`);
  return (await response.json()) as readonly object[];
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
