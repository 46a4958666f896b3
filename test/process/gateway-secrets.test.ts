import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { gatewayCommand } from "../support/gateway-process.ts";

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

it("a server's words neither begin a line of the log nor control a terminal, and have no secret", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gateway-log-"));
  const words = String.raw`\u001b[2J\u009b31m\rbyref: forged\u2028byref: forged\u202e`;
  const script = `process.stderr.write("${words}\\nI have secret-7353\\n"); throw new Error("${words}\\nbyref: forged")`;
  const evil = [process.execPath, "-e", script, "--", "--api-key", "secret-7353"];
  const command = gatewayCommand(folder, { evil });
  const gateway = await connected(command);
  await gateway.client.listTools();
  await expect.poll(gateway.log).toContain("Server evil:");
  const log = await gateway.end();
  expect(log).toContain(String.raw`evil: \u{1b}[2J\u{9b}31m\u{d}byref: forged\u{2028}`);
  expect(log).toContain("evil: I have [secret]");
  for (const control of ["\u001B", "\u009B", "\r", "\u2028", "\u202E"]) {
    expect(log).not.toContain(control);
  }
  expect(log.split(/\n/u).filter((line) => line.startsWith("byref: forged"))).toEqual([]);
});
