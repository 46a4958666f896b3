import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { EVERYTHING, gatewayCommand, textIn } from "../support/gateway-process.ts";
import { startLoopback } from "../support/loopback.ts";

let port: string;
let server: ChildProcess;
const client = new Client({ name: "test", version: "1" });

beforeAll(async () => {
  const free = await startLoopback(() => undefined);
  await free.down();
  ({ port } = new URL(free.url));
  server = await started();
  const folder = mkdtempSync(join(tmpdir(), "gateway-remote-"));
  const { command, args } = gatewayCommand(folder, {});
  const mcpServers = { remote: { url: `http://127.0.0.1:${port}/mcp` } };
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
});

afterAll(async () => {
  server.kill("SIGKILL");
  await client.close();
});

/** The server keeps sessions in its memory. */
async function started(): Promise<ChildProcess> {
  const [program = "", ...args] = EVERYTHING;
  const env = { ...process.env, PORT: port };
  const stdio = ["ignore", "ignore", "pipe"] as const;
  const running = spawn(program, [...args, "streamableHttp"], { env, stdio: [...stdio] });
  if (running.stderr === null) throw new Error("It has no standard error.");
  for await (const line of createInterface({ input: running.stderr })) {
    if (/listening/iu.test(line)) break;
  }
  running.stderr.resume();
  return running;
}

async function killed(): Promise<void> {
  server.kill("SIGKILL");
  await once(server, "exit");
}

async function echo(message: string): Promise<string> {
  return textIn(await client.callTool({ name: "echo", arguments: { message } }));
}

it("a restarted HTTP server is used again, with a new session", async () => {
  expect(await echo("before")).toBe("Echo: before");
  await killed();
  server = await started();
  // For a second after the connection has ended, calls are refused.
  await vi.waitUntil(async () => (await echo("up")) === "Echo: up");
  expect(await Promise.all([echo("one"), echo("two")])).toEqual(["Echo: one", "Echo: two"]);
});

it("an unreachable server is unavailable, and is used again when it is back", async () => {
  await killed();
  expect(await echo("down")).toMatch(/^server_unavailable/u);
  server = await started();
  await vi.waitUntil(async () => (await echo("up")) === "Echo: up");
});
