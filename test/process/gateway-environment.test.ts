import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { EVERYTHING } from "../support/gateway-process.ts";

const MAIN = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;

// Servers of a configuration: packages/gateway/test/configuration.test.ts.
it("a server after -- gets the environment that the client gives the gateway", async () => {
  const state = mkdtempSync(join(tmpdir(), "gateway-environment-"));
  const args = [MAIN, "mcp", "--state", state, "--", ...EVERYTHING];
  const env = { ...getDefaultEnvironment(), API_KEY: "key-of-the-server" };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, env, stderr: "ignore" }),
  );
  await client.callTool({ name: "get-env", arguments: {} });
  const read = await client.readResource({ uri: "byref://variables/get_env_1" });
  await client.close();
  expect(JSON.stringify(read)).toContain("key-of-the-server");
});

// modelcontextprotocol/typescript-sdk#1564.
it("a client that does not read standard error gets its answers", async () => {
  const state = mkdtempSync(join(tmpdir(), "gateway-environment-"));
  const args = [MAIN, "mcp", "--state", state, "--", ...EVERYTHING];
  const gateway = spawn(process.execPath, args);
  gateway.stderr.destroy();
  const clientInfo = { name: "test", version: "1" };
  const greeting = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const call = { name: "echo", arguments: { message: "there" } };
  const requests = [
    { id: 1, method: "initialize", params: greeting },
    { id: 2, method: "tools/call", params: call },
  ];
  for (const one of requests)
    gateway.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`);
  const answers: unknown[] = [];
  // The server writes to standard error when it starts.
  for await (const line of createInterface({ input: gateway.stdout })) {
    if (answers.push(JSON.parse(line)) === requests.length) gateway.kill();
  }
  expect(answers).toMatchObject([
    { id: 1 },
    { id: 2, result: { content: [{ text: "Echo: there" }] } },
  ]);
});
