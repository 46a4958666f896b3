import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { expect, it, vi } from "vitest";
import { isRunning } from "../../scripts/tied-process.ts";
import { gatewayCommand, textIn } from "../support/gateway-process.ts";
import { listedTools } from "../support/listed-tools.ts";

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

it.each([
  ["is started once", false, 1],
  ["that exits at the version request is started again", true, 2],
])("an old server %s", async (_what, isStrict, starts) => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-starts-"));
  const log = join(folder, "log");
  appendFileSync(log, "");
  const file = join(folder, "old.mjs");
  writeFileSync(file, program(log, isStrict));
  const { command, args } = gatewayCommand(folder, { old: [process.execPath, file] });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  await listedTools(client, ["greet"]);
  expect(textIn(await client.callTool({ name: "greet", arguments: {} }))).toBe("Hello");
  await client.close();
  expect(readFileSync(log, "utf8")).toBe("start\n".repeat(starts));
});

it("ends a program that has not answered yet, and that does not end with its input", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-ends-"));
  const log = join(folder, "pid");
  const file = join(folder, "silent.mjs");
  const silent = `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify(log)}, process.pid + "\\n");
setInterval(() => undefined, 1_000);`;
  writeFileSync(file, silent);
  const { command, args } = gatewayCommand(folder, { silent: [process.execPath, file] });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  client.listTools().catch(() => undefined);
  await vi.waitFor(() => expect(existsSync(log)).toBe(true));
  const pids = () => readFileSync(log, "utf8").trim().split("\n").map(Number);
  expect(pids().filter(isRunning)).toHaveLength(1);
  await client.close();
  await vi.waitFor(() => expect(pids().filter(isRunning)).toEqual([]));
});

it("says that a program has ended, and where its output is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-ended-"));
  const { command, args } = gatewayCommand(folder, { gone: [process.execPath, "--version"] });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  await client.listTools();
  const { contents } = await client.readResource({ uri: "byref://status" });
  await client.close();
  expect(JSON.stringify(contents)).toContain(
    "Its program ended without an answer; what it wrote is in the gateway's log.",
  );
});

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
