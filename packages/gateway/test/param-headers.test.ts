import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";

/** A server of 2026-07-28 whose tool wants two of its parameters as headers too. */
function regions() {
  const asked: (readonly [string | null, string | null])[] = [];
  const make = () => {
    const server = new McpServer({ name: "regions", version: "1" });
    const inputSchema = z.object({
      region: z.string().meta({ "x-mcp-header": "Region" }),
      shard: z.int().meta({ "x-mcp-header": "Shard" }).optional(),
      note: z.string().optional(),
    });
    server.registerTool("load", { inputSchema }, ({ region, shard }) => ({
      content: [{ type: "text", text: `${region} ${shard}` }],
    }));
    const place = { region: "Köln", shard: 7 };
    const output = { content: [], structuredContent: place };
    server.registerTool("find", { inputSchema: z.object({}) }, () => output);
    return server;
  };
  const handler = createMcpHandler(make);
  const open = () =>
    new StreamableHTTPClientTransport(new URL("https://regions.example/mcp"), {
      fetch: async (to, init) => {
        const request = new Request(to, init);
        if (request.headers.get("mcp-name") === "load")
          asked.push([
            request.headers.get("mcp-param-region"),
            request.headers.get("mcp-param-shard"),
          ]);
        return handler.fetch(request);
      },
    });
  return { behind: { name: "regions", make, open }, asked };
}

it.each(["modern", "legacy"] as const)(
  "parameters that a server wants as headers are sent, for a %s client",
  async (era) => {
    const { behind, asked } = regions();
    const { client, call } = await startGateway([behind], { era });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("load");
    await call("find", {});
    expect(textIn(await call("load", { region: "eu", shard: 6 }))).toBe("eu 6");
    const input = { region: "$find_1.region", shard: "$find_1.shard" };
    expect(textIn(await call("load", input))).toBe("Köln 7");
    expect(asked).toEqual([
      ["eu", "6"],
      ["=?base64?S8O2bG4=?=", "7"],
    ]);
  },
);
