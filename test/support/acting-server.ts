/** An MCP server that logs each call to a file: `node acting-server.ts LOG PID_FILE`. */
import { appendFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const [log = "", pidFile = ""] = process.argv.slice(2);
writeFileSync(pidFile, String(process.pid));
process.stdin.once("close", () => process.exit());

const server = new McpServer({ name: "acting", version: "1" });
const inputSchema = z.object({ id: z.string(), waitMs: z.number() });
const page = (id: string) => ({
  content: [{ type: "text" as const, text: `${id} ${"x".repeat(5_000)}` }],
});

server.registerTool("act", { inputSchema }, async ({ id, waitMs }) => {
  await pause(waitMs);
  appendFileSync(log, `${id}\n`);
  await pause(waitMs);
  return page(id);
});
server.registerTool("page", { inputSchema, annotations: { readOnlyHint: true } }, ({ id }) =>
  page(id),
);
server.registerTool(
  "first_word",
  { inputSchema: z.object({ text: z.string() }), annotations: { readOnlyHint: true } },
  ({ text }) => ({ content: [{ type: "text", text: `${text.split(" ")[0]} of ${text.length}` }] }),
);
await server.connect(new StdioServerTransport());
