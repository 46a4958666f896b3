import type { UIMessage } from "ai";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChatBody, ChatCompletions, ChatStep } from "../support/chat-completions.ts";
import { type ScriptedServer, startScriptedServer } from "../support/scripted-server.ts";
import { messagesOf, post, textOf } from "../support/turn-client.ts";

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

/** Repeats the user's message, and waits in the middle of the text for `hold`. */
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

// The forms of an answer, the queue and its limit: test/edge/turns/messages.test.ts and faults-clients.test.ts.
describe("an answer", () => {
  it.each(["text/event-stream", "text/plain"])(
    "streams as the model writes (%s)",
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
        await vi.waitFor(() => expect(text).toContain("You said"));
        expect(text).not.toContain("Hello");
        gate.resolve();
        await reading;
        expect(text).toContain("Hello");
      } finally {
        gate.resolve();
      }
    },
  );

  it("does not wait for another conversation", async () => {
    const gate = Promise.withResolvers<void>();
    endpoint.play((body) => {
      const isSlow = body.messages.some(({ content }) => content === "slow");
      return echo(isSlow ? gate.promise : undefined)(body);
    });
    const slow = post(conversation, "slow", { accept: "text/plain" });
    await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1));
    const quick = await post(`${conversation}-b`, "quick", { accept: "text/plain" });
    expect(await quick.text()).toBe("You said: quick");
    gate.resolve();
    expect(await (await slow).text()).toBe("You said: slow");
  });
});

describe("a client that disconnects halfway through an answer", () => {
  it.each(["text/event-stream", "text/plain", "application/json"])(
    "does not stop the turn (%s)",
    async (accept) => {
      const gate = Promise.withResolvers<void>();
      endpoint.play(echo(gate.promise));
      const client = new AbortController();
      const { signal } = client;
      const leaving = leave(accept, signal);
      await vi.waitFor(() => expect(endpoint.requests).toHaveLength(1));
      client.abort();
      await expect(leaving).rejects.toThrow(/abort/i);
      gate.resolve();
      await vi.waitFor(async () => {
        expect(said(await messagesOf(conversation))).toEqual([
          "user: Hello",
          "assistant: You said: Hello",
        ]);
      });
      const [, answer] = await messagesOf(conversation);
      expect(answer?.parts.at(-1)).toMatchObject({ type: "text", state: "done" });
      const next = await post(conversation, "Still there?", { accept: "text/plain" });
      expect(await next.text()).toBe("You said: Still there?");
    },
  );

  /** Reads until the signal aborts; then rejects. */
  async function leave(accept: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${conversation}/messages`, {
      method: "POST",
      headers: { accept, "content-type": "application/json" },
      body: JSON.stringify({ message: "Hello" }),
      signal,
    });
    await response.text();
  }
});
