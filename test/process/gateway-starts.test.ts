import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { expect, it } from "vitest";
import { gatewayCommand } from "../support/gateway-process.ts";

/** A server for an older protocol version that logs its starts. A strict one exits at an unknown request. */
const program = (log: string, isStrict: boolean) => `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
appendFileSync(${JSON.stringify(log)}, "start\\n");
const tool = { name: "greet", inputSchema: { type: "object" } };
const results = {
  initialize: () => ({
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "old", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": () => ({ content: [{ type: "text", text: "Hello" }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const result = results[method]?.();
  if (result === undefined && ${isStrict}) process.exit(1);
  const error = { code: -32601, message: "Method not found" };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
}`;

it("ends once if a client closes its input and then sends signals", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-ends-"));
  const file = join(folder, "slow.mjs");
  // This server exits late, so the gateway still waits for it.
  const slow = `process.stdin.on("end", () => setTimeout(() => process.exit(), 1_000));`;
  writeFileSync(file, `${slow}\n${program(join(folder, "log"), false)}`);
  const { command, args } = gatewayCommand(folder, { old: [process.execPath, file] });
  const gateway = spawn(command, args, { stdio: "pipe" });
  let log = "";
  gateway.stderr.setEncoding("utf8").on("data", (text) => (log += String(text)));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioServerTransport(gateway.stdout, gateway.stdin));
  await client.listTools();
  gateway.stdin.end();
  gateway.kill("SIGINT");
  gateway.kill("SIGTERM");
  const [code] = await once(gateway, "exit");
  expect({ code, log }).toEqual({ code: 0, log: "" });
});
