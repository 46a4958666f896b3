import {
  readUIMessageStream,
  tool,
  type UIMessage,
  type UIMessageChunk,
  WebSocketChatTransport,
} from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { call, newId, textOf } from "../../support/edge.ts";
import { haltedTurn } from "../../support/halted-turn.ts";
import type { OwnRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../../packages/testing/src/testing.ts";
import { socketClassFor, withSockets } from "../../support/socket-client.ts";

/** Creates the AI SDK's own transport, which rejects messages that its protocol does not define. */
function transportTo(own: Pick<OwnRuntime, "call">, id: string) {
  const transport = new WebSocketChatTransport<UIMessage>({
    url: `http://localhost/conversations/${id}/socket`,
    webSocket: socketClassFor(own.call),
  });
  const send = (words: string, abortSignal?: AbortSignal) =>
    transport.sendMessages({
      chatId: id,
      trigger: "submit-message",
      messageId: undefined,
      messages: [{ id: newId(), role: "user", parts: [{ type: "text", text: words }] }],
      abortSignal,
    });
  return { transport, send, resume: () => transport.reconnectToStream({ chatId: id }) };
}

async function messageIn(stream: ReadableStream<UIMessageChunk> | null) {
  let message: UIMessage | undefined;
  if (stream === null) return message;
  for await (const state of readUIMessageStream({ stream })) message = state;
  return message;
}

const newest = (own: OwnRuntime) =>
  own.conversation().readMessages({ limit: 1, form: "display" }).messages[0];

describe("the AI SDK's WebSocketChatTransport", () => {
  it("holds a conversation over one socket", async () => {
    const id = newId();
    const { transport, send, resume } = transportTo({ call }, id);
    const first = await messageIn(await send("What is the weather in NYC?"));
    expect(textOf(first)).toMatch(/^It is .* in New York/);
    const second = await messageIn(await send("What about London? Then compare them."));
    expect(textOf(second)).toMatch(/New York is .* than London|London is .* than New York/);
    expect(await resume()).toBeNull();
    transport.close();
  });

  it("resumes after its socket has gone: the same message, from its first part", async () => {
    const { open, reached, options } = haltedTurn();
    await withSockets(options, async (own) => {
      const { transport, send, resume } = transportTo(own, "c");
      const asked = await send("Hello.");
      await reached;
      transport.close();
      await expect(asked.pipeTo(new WritableStream())).rejects.toThrow(/closed/);
      const resumed = await resume();
      expect(resumed).not.toBeNull();
      open();
      const message = await messageIn(resumed);
      expect(textOf(message)).toBe("Before. After.");
      expect(message?.id).toBe(newest(own)?.id);
      transport.close();
    });
  });

  it("stops the turn with its chat's abort signal, and continues with the next", async () => {
    const { reached, options } = haltedTurn([[text("Next."), finish()]]);
    await withSockets(options, async (own) => {
      const { transport, send } = transportTo(own, "c");
      const stopping = new AbortController();
      const asked = await send("Hello.", stopping.signal);
      await reached;
      stopping.abort();
      expect(textOf(await messageIn(asked))).not.toContain("After");
      expect(textOf(await messageIn(await send("More.")))).toBe("Next.");
      const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
      expect(messages.map(textOf)).toEqual(["Hello.", "Before.", "More.", "Next."]);
      expect(messages[1]?.metadata).toMatchObject({ stopped: true });
      transport.close();
    });
  });

  it("sends a person's decision, and receives the rest in the same message", async () => {
    const paid: number[] = [];
    const pay = tool({
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => paid.push(amount),
    });
    const agent = { name: "bank", description: "", instructions: "", tools: { pay } };
    const steps = [
      [text("So: "), toolCall("pay", { amount: 5 }), finish("tool-calls")],
      [text("Paid."), finish()],
    ];
    await withSockets({ agents: [agent], model: scriptedModel(steps) }, async (own) => {
      const { transport, send, resume } = transportTo(own, "c");
      const asking = await messageIn(await send("Pay."));
      expect(await resume()).toBeNull();
      const parts = asking?.parts.map((part) =>
        "approval" in part
          ? { ...part, state: "approval-responded", approval: { ...part.approval, approved: true } }
          : part,
      );
      const stream = await transport.sendMessages({
        chatId: "c",
        trigger: "submit-message",
        messageId: undefined,
        // The message after a decision, as the stock client builds it.
        messages: [{ ...asking, parts } as UIMessage],
        abortSignal: undefined,
      });
      await stream.pipeTo(new WritableStream());
      expect(paid).toEqual([5]);
      const { messages } = own.conversation().readMessages({ limit: 9, form: "display" });
      expect(messages.map(textOf)).toEqual(["Pay.", "So: Paid."]);
      expect(messages[1]?.id).toBe(asking?.id);
      transport.close();
    });
  });

  it("asks for another answer, which is refused if newer turns would be removed (cloudflare/agents#1012)", async () => {
    const says = (words: string) => [text(words), finish()];
    const agent = { name: "a", description: "", instructions: "", tools: {} };
    const model = scriptedModel([says("A."), says("B."), says("C.")]);
    await withSockets({ agents: [agent], model }, async (own) => {
      const { transport, send } = transportTo(own, "c");
      for (const words of ["One?", "Two?"]) await messageIn(await send(words));
      const messages = () =>
        own.conversation().readMessages({ limit: 9, form: "display" }).messages;
      const repeat = (question: UIMessage | undefined) =>
        transport.sendMessages({
          chatId: "c",
          trigger: "regenerate-message",
          messageId: undefined,
          messages: question === undefined ? [] : [question],
          abortSignal: undefined,
        });
      const refused = await repeat(messages()[0]);
      await expect(refused.pipeTo(new WritableStream())).rejects.toThrow(/^conflict: /);
      expect(textOf(await messageIn(await repeat(messages()[2])))).toBe("C.");
      expect(messages().map(textOf)).toEqual(["One?", "A.", "Two?", "C."]);
      transport.close();
    });
  });
});
