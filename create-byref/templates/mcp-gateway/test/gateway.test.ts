import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { exports } from "cloudflare:workers";
import { expect, it } from "vitest";

it("passes a result from tool to tool by reference", async () => {
  const url = new URL("http://localhost/conversations/test/mcp?agent=helpdesk");
  const fetch = (address: string | URL, init?: RequestInit) =>
    exports.default.fetch(new Request(address, init));
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }));

  const listed = await client.callTool({ name: "list_tickets", arguments: {} });
  expect(JSON.stringify(listed.content)).toContain("$list_tickets_1");
  const assigned = await client.callTool({
    name: "assign_tickets",
    arguments: { person: "Ada", ids: "$list_tickets_1[*].id" },
  });
  expect(JSON.stringify(assigned)).toContain("500");
  await client.close();
});
