import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type Agent, createRuntime, mcpGateway, queries } from "byref";
import { expect, it } from "vitest";
import { ORIGIN } from "../../support/edge.ts";
import { withWorker } from "../../support/own-runtime.ts";
import { scriptedModel } from "byref/testing";

const clerk: Agent = { name: "clerk", description: "Orders.", instructions: "Help.", tools: {} };
const model = scriptedModel([]);

// --- in a Worker
const runtime = createRuntime({ agents: [clerk], model, gateway: mcpGateway, queries });

export class Conversation extends runtime.Conversation {}
export default runtime.worker;
// ---

it("answers a client at the conversation's address", () =>
  withWorker(runtime, async (own) => {
    const transport = new StreamableHTTPClientTransport(
      new URL(`${ORIGIN}/conversations/guide/mcp`),
      { fetch: (url, init) => own.call(init?.method ?? "GET", String(url), init ?? {}) },
    );
    const client = new Client({ name: "guide", version: "1" });
    await client.connect(transport);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_variables",
      "read_variable",
      "edit_variable",
      "query_variables",
    ]);
    await client.close();
  }));
