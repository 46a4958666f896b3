/** An MCP server whose failures show what it was given: `node leaking-server.ts start | run`. */
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const leaked = `${process.env.SECRET} ${encodeURIComponent(process.env.SECRET ?? "")} ${process.argv.at(-1)} ${process.env.DATABASE}`;
console.error(`Connecting with ${leaked}`);
if (process.argv[2] === "start") throw new Error(`Cannot connect with ${leaked}`);

const server = new McpServer({ name: "leaking", version: "1" });
server.registerTool("fail", { inputSchema: z.object({}) }, () => ({
  isError: true,
  content: [{ type: "text", text: `Refused: ${leaked}` }],
  structuredContent: { reasons: [leaked] },
}));
server.registerTool("throw", { inputSchema: z.object({}) }, () => {
  throw new Error(`Thrown: ${leaked}`);
});
server.registerResource("page", "page://one", {}, () => {
  throw new Error(`Unreadable: ${leaked}`);
});
await server.connect(new StdioServerTransport());
