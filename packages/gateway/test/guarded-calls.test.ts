import { McpServer } from "@modelcontextprotocol/server";
import type { ServerContext } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { startGateway } from "../../../test/support/gateway.ts";

const SECRET = "4111-1111-1111-1111";
const said = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Creates a server with a secret, and a tool that repeats its input over every channel to the client. */
function leaky(): McpServer {
  const server = new McpServer({ name: "leaky", version: "1" }, { capabilities: { logging: {} } });
  server.registerTool("get_card", { inputSchema: z.object({}) }, () => said(SECRET));
  const echo = async ({ text }: { text: string }, { mcpReq }: ServerContext) => {
    await mcpReq.log("warning", `given ${text}`);
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 4111, total: 1111, message: text };
      await mcpReq.notify({ method: "notifications/progress", params });
    }
    const content = { type: "text" as const, text };
    const asked = { messages: [{ role: "user" as const, content }], maxTokens: 9 };
    const answer = await server.server.createMessage(asked).catch((error: Error) => error);
    return said(answer instanceof Error ? "nobody" : "asked");
  };
  server.registerTool("echo", { inputSchema: z.object({ text: z.string() }) }, echo);
  server.registerTool("fail", { inputSchema: z.object({ text: z.string() }) }, ({ text }) => {
    throw new Error(text);
  });
  return server;
}

/** Starts a client that records everything that it receives outside of results. */
async function open(rules: object) {
  const started = await startGateway([{ name: "leaky", make: leaky, rules }], {
    capabilities: { sampling: {} },
  });
  const { client } = started;
  const received: unknown[] = [];
  client.setNotificationHandler("notifications/message", ({ params }) => {
    received.push(params);
  });
  client.setRequestHandler("sampling/createMessage", ({ params }) => {
    received.push(params);
    return { model: "m", role: "assistant", content: { type: "text", text: "yes" } };
  });
  const echo = (text: string) =>
    client.callTool(
      { name: "echo", arguments: { text } },
      { onprogress: (progress) => received.push(progress) },
    );
  return { ...started, received, echo };
}

const SEALED = { tools: { get_card: { sealed: true } } };

it("a sealed value reaches no log line, no progress and no sampled model", async () => {
  const { call, received, echo } = await open(SEALED);
  const card = await call("get_card");
  expect(JSON.stringify(card)).not.toContain(SECRET);
  const result = await echo("$get_card_1");
  expect(received).toEqual([{ progress: 1 }]);
  expect(JSON.stringify(result)).not.toContain("1111");
});

it("a value that is not sealed reaches all three", async () => {
  const { received, echo } = await open(SEALED);
  const result = await echo(SECRET);
  expect(received).toMatchObject([
    { data: `given ${SECRET}` },
    { progress: 4111, total: 1111, message: SECRET },
    { messages: [{ content: { text: SECRET } }] },
  ]);
  expect(JSON.stringify(result)).toContain("asked");
});

it("a tool with sealed results does not reveal them in other ways", async () => {
  const { received, echo } = await open({ tools: { echo: { sealed: true } } });
  await echo(SECRET);
  expect(received).toEqual([{ progress: 1 }]);
});

it("a log line of a call with sealed values does not reach a concurrent call", async () => {
  const { call, received, echo } = await open(SEALED);
  await call("get_card");
  await Promise.all([echo("$get_card_1"), echo("open")]);
  expect(JSON.stringify(received)).not.toContain("1111-");
});
