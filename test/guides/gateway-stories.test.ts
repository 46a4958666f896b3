import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import * as z from "zod";
import { fencesIn } from "../support/fences.ts";
import { startGateway } from "../support/gateway.ts";
import { FILESYSTEM, gatewayCommand } from "../support/gateway-process.ts";
import { slow } from "../support/slow.ts";

const guide = readFileSync("docs/guides/gateway.md", "utf8");
const stories = fencesIn(guide).filter(({ lines }) => lines[0]?.startsWith("→ {") === true);
/** Number of characters that the guide shows of each text in a message. */
const SHOWN_CHARS = 300;

/** Records the messages of calls as they pass a transport, shortened as in the guide. */
function recorded(transport: Transport): { readonly lines: readonly string[]; chars: number } {
  const record = { lines: [] as string[], chars: 0 };
  const calls = new Set<unknown>();
  const add = (arrow: string, message: JSONRPCMessage) => {
    record.lines.push(`${arrow} ${JSON.stringify(message, (_key, value) => shortened(value))}`);
    record.chars += JSON.stringify(message).length;
  };
  const { send } = transport;
  transport.send = (message, options) => {
    if ("method" in message && message.method === "tools/call" && "id" in message) {
      calls.add(message.id);
      add("→", message);
    }
    return send.call(transport, message, options);
  };
  const { onmessage } = transport;
  transport.onmessage = (message, extra) => {
    if ("id" in message && !("method" in message) && calls.has(message.id)) add("←", message);
    onmessage?.(message, extra);
  };
  return record;
}

function shortened(value: unknown): unknown {
  const isLong = typeof value === "string" && value.length > SHOWN_CHARS;
  return isLong ? `${value.slice(0, SHOWN_CHARS)}…` : value;
}

function recordedOf({ transport }: Client) {
  if (transport === undefined) throw new Error("It is not connected.");
  return recorded(transport);
}

it("the page story matches the actual messages", slow, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-story-"));
  const data = join(folder, "data");
  mkdirSync(data);
  const rows = Array.from(
    { length: 6_700 },
    (_, id) => `<tr><td>Item ${id}</td><td>EUR "${id % 97}"</td></tr>\n`,
  );
  const page = `<title>Prices 2025</title>\n<table>\n${rows.join("")}</table>\n`;
  writeFileSync(join(data, "prices.html"), page);
  const { command, args } = gatewayCommand(folder, { site: [...FILESYSTEM, data] });
  const client = new Client({ name: "test", version: "1" });
  // The server resolves relative paths in its folder.
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  const record = recordedOf(client);
  const call = (name: string, input: Record<string, unknown>) =>
    client.callTool({ name, arguments: input });
  await call("read_text_file", { path: "prices.html" });
  await call("edit_variable", {
    name: "read_text_file_prices_html.content",
    edits: [{ find: "Prices 2025", replace: "Prices 2026" }],
    saveAs: "prices",
  });
  await call("write_file", { path: "prices.html", content: "$prices" });
  await client.close();
  const changed = page.replace("Prices 2025", "Prices 2026");
  expect(readFileSync(join(data, "prices.html"), "utf8") === changed).toBe(true);
  expect(stories[0]?.lines).toEqual(record.lines);
  expect(guide).toContain(
    `${record.chars.toLocaleString("en")} characters pass through the client`,
  );
});

it("the image story matches the actual messages", async () => {
  const picture = Buffer.from(
    Array.from({ length: 3_234 }, (_, index) => (index * index * 31 + index * 7) % 251),
  );
  const stored: Buffer[] = [];
  const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
  const camera = () => {
    const server = new McpServer({ name: "camera", version: "1" });
    server.registerTool("take_picture", { inputSchema: z.object({}) }, () =>
      text(picture.toString("base64")),
    );
    return server;
  };
  const album = () => {
    const server = new McpServer({ name: "album", version: "1" });
    const inputSchema = z.object({ title: z.string(), data: z.base64() });
    server.registerTool("add_picture", { inputSchema }, ({ title, data }) => {
      stored.push(Buffer.from(data, "base64"));
      return text(`Added ${title}, ${stored.at(-1)?.length} bytes.`);
    });
    return server;
  };
  const { client } = await startGateway([
    { name: "camera", make: camera },
    { name: "album", make: album },
  ]);
  const record = recordedOf(client);
  await client.callTool({ name: "take_picture", arguments: {} });
  await client.callTool({
    name: "add_picture",
    arguments: { title: "Harbour", data: "$take_picture_1" },
  });
  expect(picture.toString("base64")).toHaveLength(4_312);
  expect(stored).toEqual([picture]);
  expect(stories[1]?.lines).toEqual(record.lines);
});

it("the list story matches the actual messages", async () => {
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
  const record = recordedOf(client);
  await client.callTool({ name: "list_orders", arguments: {} });
  const sql = "SELECT id, total FROM list_orders_1 WHERE status = 'late' AND total > 300";
  await client.callTool({ name: "query_variables", arguments: { sql } });
  await client.callTool({ name: "refund", arguments: { ids: "$query_1[*].id" } });
  const late = orders.filter(({ status, total }) => status === "late" && total > 300);
  expect(refunded).toEqual(late.map(({ id }) => id));
  expect(stories[2]?.lines).toEqual(record.lines);
});
