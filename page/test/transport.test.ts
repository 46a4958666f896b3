import type { UIMessageChunk } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { transportFor } from "../src/chat/transport.ts";

type Answer = (path: string) => Response | Error;

const chunks: readonly UIMessageChunk[] = [
  { type: "start", messageId: "answer" },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "The first half," },
  { type: "text-delta", id: "1", delta: " the second." },
  { type: "text-end", id: "1" },
  { type: "finish" },
];

/** Streams frames with numbers from `from` up to `to`, exclusive; then the stream or the connection ends. */
function streamed(from: number, to: number): Response {
  const frames = chunks.slice(from, to).map((chunk, at) => {
    return `id: ${from + at + 1}\ndata: ${JSON.stringify(chunk)}\n\n`;
  });
  const isWhole = to === chunks.length;
  const pieces = [...frames, ...(isWhole ? ["data: [DONE]\n\n"] : [])];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (isWhole) controller.close();
      else controller.error(new TypeError("network error"));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** Creates a transport whose server gives these answers in order, and then repeats the last one. */
function transportTo(answers: readonly Answer[]) {
  const asked: string[] = [];
  const lost: boolean[] = [];
  const firsts: string[] = [];
  const joined: string[] = [];
  const transport = transportFor({
    session: {
      options: {
        fetch: async (path, init) => {
          const after = new Headers(init.headers).get("last-event-id");
          asked.push(`${init.method} ${path}${after === null ? "" : ` after ${after}`}`);
          const answer = answers[Math.min(asked.length, answers.length) - 1]?.(path);
          if (answer instanceof Response) return answer;
          throw answer;
        },
      },
    },
    agent: () => undefined,
    onSend: () => undefined,
    onAcknowledged: () => firsts.push("acknowledged"),
    onJoined: async () => {
      joined.push(`after ${asked.length}`);
    },
    onLost: (isLost) => {
      if (lost.at(-1) !== isLost) lost.push(isLost);
    },
  });
  const send = async () => {
    const stream = await transport.sendMessages({
      chatId: "one",
      messages: [],
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
    return allOf(stream);
  };
  return { transport, send, asked, lost, firsts, joined };
}

const refusal = (status: number) => new Response("No.", { status });
const cut = () => new TypeError("Failed to fetch");
async function allOf(stream: ReadableStream<UIMessageChunk> | null) {
  const all: UIMessageChunk[] = [];
  for await (const chunk of stream ?? []) all.push(chunk);
  return all;
}

const PATH = "/conversations/one/stream";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("the page's transport", () => {
  it("resumes after the last frame when the connection breaks, and reports it", async () => {
    const { send, asked, lost, firsts, joined } = transportTo([
      () => streamed(0, 3),
      cut,
      () => refusal(502),
      () => streamed(3, 4),
      () => streamed(4, 6),
    ]);
    const answer = send();
    await vi.runAllTimersAsync();
    expect(await answer).toEqual(chunks);
    expect(asked).toEqual([
      "POST /conversations",
      ...[3, 3, 3, 4].map((last) => `GET ${PATH} after ${last}`),
    ]);
    expect(lost).toEqual([true, false, true, false]);
    expect(firsts).toEqual(["acknowledged"]);
    expect(joined).toEqual([]);
  });

  it("resumes an answer, or returns null if there is none", async () => {
    const { transport, asked, firsts, joined } = transportTo([
      () => new Response(null, { status: 204 }),
      () => streamed(0, 0),
      () => streamed(0, 6),
    ]);
    expect(await transport.reconnectToStream({ chatId: "one" })).toBeNull();
    const resumed = transport.reconnectToStream({ chatId: "one" });
    await vi.runAllTimersAsync();
    const answer = allOf(await resumed);
    await vi.runAllTimersAsync();
    expect(await answer).toEqual(chunks);
    expect(asked).toEqual([`GET ${PATH}`, `GET ${PATH}`, `GET ${PATH}`]);
    expect(joined).toEqual(["after 3"]);
    expect(firsts).toEqual([]);
  });
});
