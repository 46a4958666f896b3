import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { fencesIn } from "../support/fences.ts";
import { startGateway } from "../support/gateway.ts";
import { FILESYSTEM, gatewayCommand } from "../support/gateway-process.ts";

const guide = readFileSync("docs/guides/gateway.md", "utf8");
const stories = fencesIn(guide).filter(({ lines }) => lines[0]?.startsWith("→ {") === true);

/** The calls of a client and their results, as they go over the wire, without `jsonrpc` and `id`. */
function tapped(client: Client) {
  const lines: string[] = [];
  const call = async (name: string, args: Record<string, unknown>) => {
    const params = { name, arguments: args };
    const result = await client.callTool(params);
    lines.push(`→ ${JSON.stringify(params)}`, `← ${JSON.stringify(result)}`);
  };
  return { lines, call };
}

it("the story of a file is what goes over the wire", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-story-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const text = Array.from({ length: 100_000 }, (_, id) => `Line ${id} of a log, "quoted"\n`).join(
    "",
  );
  writeFileSync(join(data, "large.log"), text);
  const { command, args } = gatewayCommand(folder, { files: [...FILESYSTEM, data] });
  const client = new Client({ name: "test", version: "1" });
  // The server reads relative paths in its folder.
  const transport = new StdioClientTransport({ command, args, stderr: "ignore" });
  await client.connect(transport);
  const { lines, call } = tapped(client);
  await call("read_text_file", { path: "large.log" });
  await call("write_file", {
    path: "copy.log",
    content: "$read_text_file_large_log.content",
  });
  await client.close();
  expect(readFileSync(join(data, "copy.log"), "utf8") === text).toBe(true);
  expect(stories[0]?.lines).toEqual(lines);
});

it("the story of a list is what goes over the wire", async () => {
  const states = ["open", "late", "sent", "sent", "late"];
  const orders = Array.from({ length: 500 }, (_, index) => ({
    id: `ord_${index}`,
    status: states[index % 5],
    total: (index * 37) % 400,
  }));
  let refunded: readonly string[] = [];
  const make = () => {
    const server = new McpServer({ name: "shop", version: "1" });
    server.registerTool("list_orders", { inputSchema: z.object({}) }, () => ({
      content: [{ type: "text", text: JSON.stringify(orders) }],
    }));
    const ids = z.array(z.string());
    server.registerTool("refund", { inputSchema: z.object({ ids }) }, (input) => {
      refunded = input.ids;
      return { content: [{ type: "text", text: `Refunded ${refunded.length} orders.` }] };
    });
    return server;
  };
  const { client } = await startGateway([{ name: "shop", make }]);
  const { lines, call } = tapped(client);
  await call("list_orders", {});
  await call("query_variables", {
    sql: "SELECT id, total FROM list_orders_1 WHERE status = 'late' AND total > 300",
  });
  await call("refund", { ids: "$query_1[*].id" });
  const late = orders.filter(({ status, total }) => status === "late" && total > 300);
  expect(refunded).toEqual(late.map(({ id }) => id));
  expect(stories[1]?.lines).toEqual(lines);
});
