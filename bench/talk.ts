import { randomUUID } from "node:crypto";
import type { UIMessageChunk } from "ai";
import { type Asked, ask, checked, Times } from "./ask.ts";
import { type Load, questionFor } from "./load.ts";

/** A conversation, as a client of that side has it. */
export interface Talk {
  ask(load: Load): Promise<Asked>;
  close(): void;
}

/** Begins a conversation of this name with the Worker at this URL. */
export type Begin = (url: string, name: string) => Talk;

export const talkToOurs: Begin = (url, name) => ({
  ask: (load) => ask(`${url}/conversations/${name}/messages`, load, { agent: agentFor(load) }),
  close: () => undefined,
});

function agentFor({ calls = 0, tool, say }: Load): string {
  if (tool !== undefined || say !== undefined) return "shop";
  return calls > 0 ? "looker" : "bench";
}

/** With an object that answers a POST. */
export function talkOver(kind: string): Begin {
  return (url, name) => ({
    ask: (load) => ask(`${url}/${kind}/${name}`, load),
    close: () => undefined,
  });
}

interface Frame {
  readonly type?: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: boolean;
}

/**
 * With a chat agent of the package `agents`, as its own client does: one socket for the whole conversation,
 * and all messages with each question. Reading the earlier ones is not in the times.
 */
export function talkToAgent(kind: string): Begin {
  return (url, name) => {
    const path = `${url}/agents/${kind}/${name}`;
    let opened: Promise<WebSocket> | undefined;
    let earlier: readonly unknown[] = [];
    let isNew = true;
    return {
      ask: async (load) => {
        if (!isNew) earlier = await messagesAt(path);
        isNew = false;
        const times = new Times();
        opened ??= openSocket(path.replace("http", "ws"));
        const asked = await askOver(await opened, { earlier, load, times });
        return asked;
      },
      close: () => void opened?.then((socket) => socket.close()),
    };
  };
}

async function messagesAt(path: string): Promise<readonly unknown[]> {
  const response = await fetch(`${path}/get-messages`);
  return (await response.json()) as readonly unknown[];
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

interface Asking {
  readonly earlier: readonly unknown[];
  readonly load: Load;
  readonly times: Times;
}

function askOver(socket: WebSocket, { earlier, load, times }: Asking): Promise<Asked> {
  const id = randomUUID();
  const parts = [{ type: "text", text: questionFor(load) }];
  const messages = [...earlier, { id: randomUUID(), role: "user", parts }];
  const body = JSON.stringify({ messages, trigger: "submit-message" });
  const chunks: UIMessageChunk[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const { signal } = stop;
    const hear = (event: MessageEvent) => {
      const data = String(event.data);
      const frame = JSON.parse(data) as Frame;
      if (frame.type !== "cf_agent_use_chat_response" || frame.id !== id) return;
      bytes += data.length;
      if (frame.error === true) return reject(new Error(frame.body));
      const isChunk = frame.body !== undefined && frame.body.trim() !== "";
      if (isChunk) chunks.push(JSON.parse(frame.body) as UIMessageChunk);
      times.heard(chunks.at(-1)?.type === "text-delta");
      if (frame.done !== true) return;
      stop.abort();
      resolve({ ...times.ended(), bytes, ...checked(chunks, load) });
    };
    socket.addEventListener("message", hear, { signal });
    socket.addEventListener("close", () => reject(new Error("The socket is closed.")), { signal });
    socket.send(
      JSON.stringify({ type: "cf_agent_use_chat_request", id, init: { method: "POST", body } }),
    );
  });
}
