import type { UIMessage } from "ai";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import * as limits from "../../src/limits.ts";
import type { ChatBody, ChatCompletions, ChatStep } from "../support/chat-completions.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";
import { chunksIn, framesIn, messagesOf, post, textIn, textOf } from "../support/turn-client.ts";

const EVENTUALLY = { timeout: 20_000, interval: 50 };

let scripted: ScriptedServer;
let endpoint: ChatCompletions;
let conversation: string;
let count = 0;

beforeAll(async () => {
  scripted = await startScriptedServer();
  ({ endpoint } = scripted);
});

afterAll(() => scripted?.stop());

beforeEach(() => {
  conversation = `${scripted.server.url}/conversations/answers-${++count}`;
  endpoint.play(echo());
});

/** Says what it was asked; halfway it waits. */
function echo(hold?: Promise<unknown>) {
  return ({ messages }: ChatBody): ChatStep => {
    const asked = messages.findLast(
      ({ role, content }) => role === "user" && content?.startsWith("<variables>") !== true,
    );
    const text = `You said: ${asked?.content ?? ""}`;
    return { kind: "text", text, ...(hold === undefined ? {} : { hold }) };
  };
}

function said(messages: readonly UIMessage[]): readonly string[] {
  return messages.map((message) => `${message.role}: ${textOf(message)}`);
}

describe("the three forms of an answer", () => {
  it("is the UI message stream by default, every frame with an integer id that counts up", async () => {
    const response = await post(conversation, "Hello", { accept: "*/*" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    const body = await response.text();
    expect(body.endsWith("data: [DONE]\n\n")).toBe(true);
    const frames = framesIn(body);
    expect(frames.at(-1)).toEqual({ id: undefined, data: "[DONE]" });
    const ids = frames.slice(0, -1).map(({ id }) => id ?? "");
    expect(ids.length).toBeGreaterThan(5);
    for (const id of ids) expect(id).toMatch(/^[1-9]\d*$/);
    const numbers = ids.map(Number);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    const chunks = chunksIn(body);
    expect(chunks[0]?.type).toBe("start");
    expect(chunks.at(-1)?.type).toBe("finish");
    expect(textIn(chunks)).toBe("You said: Hello");
  });

  it("is the text alone for text/plain", async () => {
    const response = await post(conversation, "Grüße, 世界 🌍", { accept: "text/plain" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await response.text()).toBe("You said: Grüße, 世界 🌍");
  });

  it("is message, variables, usage, savings and cost for application/json", async () => {
    await fetch(`${conversation}/variables/note`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ a: 1 }),
    });
    const response = await post(conversation, "Hello", { accept: "application/json" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    const body = (await response.json()) as { message: UIMessage };
    expect(body).toMatchObject({
      message: { role: "assistant", id: expect.stringMatching(/./) },
      variables: [{ name: "note", type: "object", version: 1 }],
      usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 },
      savings: { promptChars: expect.any(Number) },
      cost: { rowsWritten: expect.any(Number) },
    });
    expect(textOf(body.message)).toBe("You said: Hello");
    expect((await messagesOf(conversation)).at(-1)?.id).toBe(body.message.id);
  });

  it.each(["text/event-stream", "text/plain"])(
    "comes as the model says it (%s)",
    async (accept) => {
      const gate = Promise.withResolvers<void>();
      endpoint.play(echo(gate.promise));
      try {
        const response = await post(conversation, "Hello", { accept });
        let text = "";
        const reading = (async () => {
          const chunks = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
          for await (const chunk of chunks) text += chunk;
        })();
        await vi.waitFor(() => expect(text).toContain("You said"), { timeout: 5_000 });
        expect(text).not.toContain("Hello");
        gate.resolve();
        await reading;
        expect(text).toContain("Hello");
      } finally {
        gate.resolve();
      }
    },
  );
});

describe("messages at the same time", () => {
  it("are answered one after the other", async () => {
    const gate = Promise.withResolvers<void>();
    endpoint.play(echo(gate.promise));
    const both = [post(conversation, "one"), post(conversation, "two")];
    await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1), EVENTUALLY);
    // The second waits for the first: while that one is held, the model is not asked.
    expect(said(await messagesOf(conversation))).toHaveLength(1);
    gate.resolve();
    const bodies = await Promise.all(both.map(async (response) => (await response).text()));
    expect(bodies.map((body) => textIn(chunksIn(body)))).toEqual([
      "You said: one",
      "You said: two",
    ]);
    const history = said(await messagesOf(conversation));
    expect([...history].toSorted()).toEqual([
      "assistant: You said: one",
      "assistant: You said: two",
      "user: one",
      "user: two",
    ]);
    expect(pairsIn(history).every(isAnswered)).toBe(true);
  });

  it("wait, eight of them; the rest are refused with 429, and none is lost", async () => {
    const gate = Promise.withResolvers<void>();
    endpoint.play(echo(gate.promise));
    const texts = Array.from({ length: 12 }, (_, index) => `message ${index}`);
    const accept = "application/json";
    const posts = texts.map(async (text) => {
      const response = await post(conversation, text, { accept });
      const { status, headers } = response;
      return { text, status, headers, body: await response.text() };
    });
    // Refusals come at once, answers only after the gate has opened.
    const early = await firstOf(posts, texts.length - limits.maxQueuedTurns - 1);
    expect(early.map(({ status }) => status)).toEqual([429, 429, 429]);
    gate.resolve();

    const results = await Promise.all(posts);
    const answered = results.filter(({ status }) => status === 200);
    const others = results.filter(({ status }) => status !== 200);
    expect(answered).toHaveLength(limits.maxQueuedTurns + 1);
    expect(others).toHaveLength(3);
    for (const { status, headers, body } of others) {
      expect(status).toBe(429);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
      expect(headers.get("content-type")).toMatch(/^application\/problem\+json/);
      expect(JSON.parse(body)).toMatchObject({ status: 429, code: "too_many_turns" });
    }
    for (const { text, body } of answered) {
      const { message } = JSON.parse(body) as { message: UIMessage };
      expect(textOf(message)).toBe(`You said: ${text}`);
    }
    const history = said(await messagesOf(conversation));
    expect(pairsIn(history).every(isAnswered)).toBe(true);
    const asked = history.filter((line) => line.startsWith("user: "));
    expect(asked.toSorted()).toEqual(answered.map(({ text }) => `user: ${text}`).toSorted());
  });

  it("in different conversations do not wait for each other", async () => {
    const gate = Promise.withResolvers<void>();
    endpoint.play((body) => {
      const isSlow = body.messages.some(({ content }) => content === "slow");
      return echo(isSlow ? gate.promise : undefined)(body);
    });
    const slow = post(conversation, "slow", { accept: "text/plain" });
    await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1), EVENTUALLY);
    const quick = await post(`${conversation}-b`, "quick", { accept: "text/plain" });
    expect(await quick.text()).toBe("You said: quick");
    gate.resolve();
    expect(await (await slow).text()).toBe("You said: slow");
  });
});

describe("a client that goes away in mid-answer", () => {
  it.each(["text/event-stream", "text/plain", "application/json"])(
    "does not stop the turn (%s)",
    async (accept) => {
      const gate = Promise.withResolvers<void>();
      endpoint.play(echo(gate.promise));
      const client = new AbortController();
      const { signal } = client;
      const leaving = leave(accept, signal);
      await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1), EVENTUALLY);
      client.abort();
      await expect(leaving).rejects.toThrow(/abort/i);
      gate.resolve();
      await vi.waitFor(async () => {
        expect(said(await messagesOf(conversation))).toEqual([
          "user: Hello",
          "assistant: You said: Hello",
        ]);
      }, EVENTUALLY);
      const [, answer] = await messagesOf(conversation);
      expect(answer?.parts.at(-1)).toMatchObject({ type: "text", state: "done" });
    },
  );

  /** Reads until the signal; rejects then. */
  async function leave(accept: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${conversation}/messages`, {
      method: "POST",
      headers: { accept, "content-type": "application/json" },
      body: JSON.stringify({ message: "Hello" }),
      signal,
    });
    await response.text();
  }

  it("does not keep the next message from being answered", async () => {
    const gate = Promise.withResolvers<void>();
    endpoint.play(echo(gate.promise));
    const client = new AbortController();
    const leaving = leave("text/event-stream", client.signal);
    await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1), EVENTUALLY);
    client.abort();
    await expect(leaving).rejects.toThrow(/abort/i);
    const next = post(conversation, "Still there?", { accept: "text/plain" });
    gate.resolve();
    expect(await (await next).text()).toBe("You said: Still there?");
    expect(said(await messagesOf(conversation))).toEqual([
      "user: Hello",
      "assistant: You said: Hello",
      "user: Still there?",
      "assistant: You said: Still there?",
    ]);
  });
});

/** The first few to settle. */
function firstOf<Result>(all: readonly Promise<Result>[], wanted: number): Promise<Result[]> {
  const { promise, resolve } = Promise.withResolvers<Result[]>();
  const settled: Result[] = [];
  for (const one of all) {
    void one.then((result) => {
      settled.push(result);
      if (settled.length === wanted) resolve(settled);
    });
  }
  return promise;
}

/** The history, two and two. */
function pairsIn(history: readonly string[]): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(history.length / 2) }, (_, pair) =>
    history.slice(pair * 2, pair * 2 + 2),
  );
}

function isAnswered([question = "", answer = ""]: readonly string[]): boolean {
  return question.startsWith("user: ") && answer === `assistant: You said: ${question.slice(6)}`;
}
