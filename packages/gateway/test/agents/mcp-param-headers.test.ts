import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { McpDirectory } from "../../src/agents/mcp-servers.ts";
import {
  endServersAfterEach,
  offering,
  open,
  run,
  start,
} from "../../../../test/support/mcp-tools.ts";

endServersAfterEach();

it("an agent's call of a server that changes its version between turns runs once", async () => {
  const modern = createMcpHandler(() => {
    const server = new McpServer({ name: "new", version: "2" });
    const answer = () => ({ content: [{ type: "text" as const, text: "new" }] });
    server.registerTool("load", { inputSchema: z.object({}) }, answer);
    return server;
  });
  const old = await start([offering("load")], { sessions: true });
  const directory = new McpDirectory({ warn: () => undefined });
  const send = fetch;
  for (const [said, answer] of [
    ["new", (request: Request) => modern.fetch(request)],
    ["fine", send],
    ["new", (request: Request) => modern.fetch(request)],
  ] as const) {
    vi.stubGlobal("fetch", async (to: string, init: RequestInit) => answer(new Request(to, init)));
    const tools = await open(directory, [{ name: "one", url: old.url }]);
    expect(await run(tools, "load")).toBe(said);
  }
  vi.unstubAllGlobals();
  expect(old.calls).toHaveLength(1);
});

it("an agent sends parameters that a server wants as headers, also from a list of an earlier turn", async () => {
  const asked: (string | null)[] = [];
  const sent: (string | null)[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "regions", version: "1" });
    const inputSchema = z.object({
      region: z.string().meta({ "x-mcp-header": "Region" }),
      shard: z.int().meta({ "x-mcp-header": "Shard" }),
    });
    server.registerTool("load", { inputSchema }, ({ region, shard }) => ({
      content: [{ type: "text", text: `${region} ${shard}` }],
    }));
    return server;
  });
  vi.stubGlobal("fetch", async (to: string, init: RequestInit) => {
    const request = new Request(to, init);
    sent.push(request.headers.get("mcp-method"));
    if (request.headers.get("mcp-name") === "load")
      asked.push(request.headers.get("mcp-param-region"), request.headers.get("mcp-param-shard"));
    return handler.fetch(request);
  });
  const directory = new McpDirectory({ warn: () => undefined });
  const servers = [{ name: "one", url: "https://regions.example/mcp" }];
  for (let turn = 0; turn < 2; turn++) {
    const tools = await open(directory, servers);
    expect(await run(tools, "load", { input: { region: "eu", shard: 6 } })).toBe("eu 6");
    await tools.close();
  }
  expect(asked).toEqual(["eu", "6", "eu", "6"]);
  expect(sent).toEqual(["server/discover", "tools/list", "tools/call", "tools/call"]);
});
