import { readUIMessageStream, type UIMessage, WebSocketChatTransport as SdkTransport } from "ai";
import { expect, it } from "vitest";
import { scriptedModel } from "byref/testing";
import { agent, hello } from "../../support/client.ts";
import { textOf } from "../../support/edge.ts";
import { socketClassFor, withSockets } from "../../support/socket-client.ts";

it("the SDK's transport asks over the conversation's socket, with the last message", async () => {
  const options = { agents: [{ ...agent, name: "shop" }], model: scriptedModel([hello]) } as const;
  await withSockets(options, async (own) => {
    const sent: string[] = [];
    const Socket = socketClassFor(own.call);
    class NotedSocket extends Socket {
      override send(data: string): void {
        sent.push(data);
        super.send(data);
      }
    }
    class WebSocketChatTransport extends SdkTransport<UIMessage> {
      constructor(init: ConstructorParameters<typeof SdkTransport<UIMessage>>[0]) {
        super({ ...init, webSocket: NotedSocket });
      }
    }
    const [address, id] = ["http://localhost", "c"];
    // --- over a socket
    const transport = new WebSocketChatTransport({
      url: `${address}/conversations/${id}/socket`,
      body: { agent: "shop" },
      prepareSendMessagesRequest: ({ messages }) => ({ messages: messages.slice(-1) }),
    });
    // ---
    const stream = await transport.sendMessages({
      chatId: id,
      trigger: "submit-message",
      messageId: undefined,
      messages: ["First.", "Second."].map(question),
      abortSignal: undefined,
    });
    let message: UIMessage | undefined;
    for await (const state of readUIMessageStream({ stream })) message = state;
    transport.close();
    expect(textOf(message)).toBe("Hello from here.");
    expect(sent.join("")).toContain("Second.");
    expect(sent.join("")).not.toContain("First.");
  });
});

function question(text: string): UIMessage {
  return { id: text, role: "user", parts: [{ type: "text", text }] };
}
