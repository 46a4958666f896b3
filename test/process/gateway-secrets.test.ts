import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { gatewayCommand, textIn } from "../support/gateway-process.ts";
import { listedTools } from "../support/listed-tools.ts";
import { startLoopback } from "../support/loopback.ts";

/** A client of the gateway, and what it has written to its log once `end` resolves. */
async function connected({ command, args }: ReturnType<typeof gatewayCommand>) {
  const transport = new StdioClientTransport({ command, args, stderr: "pipe" });
  let log = "";
  transport.stderr?.on("data", (chunk) => void (log += String(chunk)));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  const end = async () => {
    const ended = transport.stderr && once(transport.stderr, "end");
    await client.close();
    await ended;
    return log;
  };
  return { client, log: () => log, end };
}

const SECRETS = {
  environment: 'sk-"environment"/7351',
  password: "database-password-7352",
  argument: "argument-7353",
  header: "header-token-7354",
  query: "query-key-7355",
  path: "path-7ok3n0aX9fQ2mZ5bR8-7356",
};

it("no failure of a server shows a secret of the configuration, to the client or in the log", async () => {
  const remote = await startLoopback((request, response) => {
    response.writeHead(400);
    response.end(`Refused ${request.url} with ${JSON.stringify(request.headers)}`);
  });
  const folder = mkdtempSync(join(tmpdir(), "gateway-secrets-"));
  const leaking = new URL("../support/leaking-server.ts", import.meta.url).pathname;
  const env = {
    SECRET: SECRETS.environment,
    DATABASE: `postgres://user:${SECRETS.password}@db.example/one`,
  };
  const program = (mode: string) => ({
    command: process.execPath,
    args: [leaking, mode, "--api-key", SECRETS.argument],
    env,
  });
  const mcpServers = {
    running: program("run"),
    ending: program("start"),
    remote: {
      url: `${remote.url}/${SECRETS.path}/mcp?key=${SECRETS.query}`,
      headers: { Authorization: `Bearer ${SECRETS.header}` },
    },
    broken: { url: `https//${SECRETS.query}` },
  };
  const command = gatewayCommand(folder, {});
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  const { client, end } = await connected(command);
  await listedTools(client, ["fail", "throw"]);
  const failed = await client.callTool({ name: "fail", arguments: {} });
  const thrown = await client.callTool({ name: "throw", arguments: {} });
  const unread: unknown = await client.readResource({ uri: "page://one" }).catch(String);
  const status = await client.readResource({ uri: "byref://status" });
  const log = await end();
  await remote.down();

  expect(textIn(failed)).toContain("Refused: [secret]");
  expect(textIn(thrown)).toContain("Thrown: [secret]");
  expect(unread).toContain("Unreadable: [secret]");
  expect(JSON.stringify(status)).toContain("Refused /[secret]");
  expect(log).toContain("ending: Error: Cannot connect with [secret]");
  const shown = JSON.stringify([failed, thrown, unread, status, log]);
  for (const secret of Object.values(SECRETS)) {
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) {
      expect(shown).not.toContain(form);
    }
  }
});

it("a server's words neither begin a line of the log nor control a terminal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-log-"));
  const words = String.raw`\u001b[2J\u009b31m\rbyref: forged\u2028byref: forged\u202e`;
  const script = `process.stderr.write("${words}\\n"); throw new Error("${words}\\nbyref: forged")`;
  const command = gatewayCommand(folder, { evil: [process.execPath, "-e", script] });
  const gateway = await connected(command);
  await gateway.client.listTools();
  await expect.poll(gateway.log).toContain("Server evil:");
  const log = await gateway.end();
  expect(log).toContain(String.raw`evil: \u{1b}[2J\u{9b}31m\u{d}byref: forged\u{2028}`);
  for (const control of ["\u001B", "\u009B", "\r", "\u2028", "\u202E"]) {
    expect(log).not.toContain(control);
  }
  expect(log.split(/\n/u).filter((line) => line.startsWith("byref: forged"))).toEqual([]);
});
