import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { mcpGateway, queries } from "byref";
import { scriptedModel, startRuntime } from "byref/testing";
import { expect, it } from "vitest";
import { agent } from "../src/index.ts";

it("passes a result from tool to tool by reference", async () => {
  const model = scriptedModel([]);
  const runtime = await startRuntime({ agents: [agent], model, gateway: mcpGateway, queries });
  const url = new URL("/conversations/test/mcp?agent=helpdesk", runtime.url);
  const fetch = (address: string | URL, init?: RequestInit) => runtime.fetch(String(address), init);
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }));

  const listed = await client.callTool({ name: "list_tickets", arguments: {} });
  expect(JSON.stringify(listed.content)).toContain("$list_tickets_1");
  const assigned = await client.callTool({
    name: "assign_tickets",
    arguments: { person: "Ada", ids: "$list_tickets_1[0:10][*].id" },
  });
  expect(JSON.stringify(assigned)).toContain("T-1010");
  await client.close();
});
