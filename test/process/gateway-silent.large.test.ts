import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { gatewayCommand, textIn } from "../support/gateway-process.ts";

const library = (path: string) => JSON.stringify(import.meta.resolve(path));

/** A server with one tool. */
const GREETER = `
import { McpServer } from ${library("@modelcontextprotocol/server")};
import { StdioServerTransport } from ${library("@modelcontextprotocol/server/stdio")};
const server = new McpServer({ name: "greeter", version: "1" });
server.registerTool("greet", {}, () => ({ content: [{ type: "text", text: "Hello" }] }));
await server.connect(new StdioServerTransport());`;

it("the first call of a server that stays silent fails before the client stops waiting", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-silent-"));
  const file = join(folder, "server.mjs");
  const { command, args } = gatewayCommand(folder, { greeter: [process.execPath, file] });
  const connected = async (program: string) => {
    writeFileSync(file, program);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
    return client;
  };
  const greet = (client: Client) => client.callTool({ name: "greet", arguments: {} });

  const first = await connected(GREETER);
  await first.listTools();
  expect(textIn(await greet(first))).toBe("Hello");
  await first.close();

  const second = await connected("process.stdin.resume();");
  // With the client's own time limit.
  const text = textIn(await greet(second));
  expect(text).toContain("server_unavailable");
  expect(text).toMatch(/It gave no answer within (?:50|51) s\. It is tried again in 1 s\./u);
  expect(textIn(await greet(second))).toContain("server_unavailable");
  await second.close();
});
