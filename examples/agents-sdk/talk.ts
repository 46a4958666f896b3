/** Talks to a chat of the Agents SDK over a socket, like its own client: sends all messages with each question. */
export interface Talk {
  /** Asks a question and returns the answer as a person sees it. */
  ask(question: string): Promise<string>;
  /** The messages that the agent has stored. A client loads them when it connects. */
  stored(): Promise<readonly StoredMessage[]>;
  close(): void;
}

export interface StoredMessage {
  readonly role: string;
  readonly parts: readonly { readonly type: string; readonly text?: string }[];
}

interface Frame {
  readonly type?: string;
  readonly id?: string;
  readonly body?: string;
  readonly done?: boolean;
  readonly error?: boolean;
}

/** `address`: the agent's URL, such as `http://localhost:8787/agents/chat/first`. */
export async function talkTo(address: string): Promise<Talk> {
  const socket = new WebSocket(address.replace("http", "ws"));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`No agent at ${address}.`)), {
      once: true,
    });
  });
  const stored = async () => {
    const response = await fetch(`${address}/get-messages`);
    return (await response.json()) as readonly StoredMessage[];
  };
  return {
    stored,
    async ask(question) {
      const parts = [{ type: "text", text: question }];
      const asked = { id: crypto.randomUUID(), role: "user", parts };
      return answerTo(socket, [...(await stored()), asked]);
    },
    close: () => socket.close(),
  };
}

function answerTo(socket: WebSocket, messages: readonly object[]): Promise<string> {
  const id = crypto.randomUUID();
  const stop = new AbortController();
  let answer = "";
  const answered = new Promise<string>((resolve, reject) => {
    const onMessage = ({ data }: MessageEvent) => {
      const frame = JSON.parse(String(data)) as Frame;
      if (frame.type !== "cf_agent_use_chat_response" || frame.id !== id) return;
      if (frame.error === true) return reject(new Error(frame.body));
      const { delta = "", type = "" } = JSON.parse(frame.body || "{}") as Readonly<
        Record<string, string>
      >;
      if (type === "text-delta") answer += delta;
      if (frame.done === true) resolve(answer);
    };
    socket.addEventListener("message", onMessage, { signal: stop.signal });
    socket.addEventListener("close", () => reject(new Error("The socket is closed.")), {
      signal: stop.signal,
    });
  });
  const body = JSON.stringify({ messages, trigger: "submit-message" });
  const init = { method: "POST", body };
  socket.send(JSON.stringify({ type: "cf_agent_use_chat_request", id, init }));
  return answered.finally(() => stop.abort());
}

/** Returns the last stored answer, as a client shows it. */
export function lastAnswer(messages: readonly StoredMessage[]): string {
  const last = messages.findLast(({ role }) => role === "assistant");
  return (last?.parts ?? []).map(({ text = "", type }) => (type === "text" ? text : "")).join("");
}
