import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";

type Frame = { readonly id: string | undefined; readonly data: string };

/** Returns the message that a stock client builds from the chunks. */
export async function messageFrom(
  chunks: readonly UIMessageChunk[],
): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  for await (const message of readUIMessageStream({ stream })) last = message;
  return last;
}

/** Sends `POST /conversations/:id/messages`. */
export function post(
  conversation: string,
  message: unknown,
  options: { readonly accept?: string; readonly headers?: HeadersInit; agent?: string } = {},
): Promise<Response> {
  const { accept = "text/event-stream", headers = {}, agent } = options;
  return fetch(`${conversation}/messages`, {
    method: "POST",
    headers: { ...headers, accept, "content-type": "application/json" },
    body: JSON.stringify({ message, ...(agent === undefined ? {} : { agent }) }),
  });
}

/** Reads a stream until it contains this text, and then disconnects. Returns what it has read. */
export async function readUntil({ body }: Response, what: string): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let had = "";
  while (!had.includes(what)) {
    const read = await reader?.read();
    if (read?.value === undefined) throw new Error(`It has ended without ${what}: ${had}`);
    had += read.value;
  }
  await reader?.cancel();
  return had;
}

/** Returns the frames of a stream of server-sent events, without comments. */
export function framesIn(body: string): readonly Frame[] {
  return body
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const fields = new Map(
        frame.split("\n").map((line) => {
          const colon = line.indexOf(": ");
          return [line.slice(0, colon), line.slice(colon + 2)] as const;
        }),
      );
      return { id: fields.get("id"), data: fields.get("data") ?? "" };
    });
}

export function chunksIn(body: string): readonly UIMessageChunk[] {
  return framesIn(body)
    .filter(({ data }) => data !== "[DONE]")
    .map(({ data }) => JSON.parse(data) as UIMessageChunk);
}

/** Returns the text of all chunks, joined. */
export function textIn(chunks: readonly UIMessageChunk[]): string {
  return chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("");
}

export function textOf(message: Pick<UIMessage, "parts"> | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** Sends `GET /conversations/:id/messages`. */
export async function messagesOf(
  conversation: string,
  options: { readonly form?: "display" | "reference"; readonly headers?: HeadersInit } = {},
): Promise<readonly UIMessage[]> {
  const { form = "display", headers = {} } = options;
  const response = await fetch(`${conversation}/messages?form=${form}`, { headers });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const { messages } = (await response.json()) as { messages: UIMessage[] };
  return messages;
}
