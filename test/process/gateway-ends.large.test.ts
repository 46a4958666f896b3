import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { gatewayCommand } from "../support/gateway-process.ts";
import { isAlive, STUBBORN } from "../support/stubborn-program.ts";

const greeting = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};
const listing = { jsonrpc: "2.0", id: 2, method: "tools/list" };

it.each(["the input", "SIGTERM", "SIGHUP"] as const)(
  "the end of %s ends the gateway and all programs, even those that ignore it",
  async (end) => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-ends-"));
    const pids = join(folder, "pids");
    const stubborn = [process.execPath, "-e", STUBBORN, pids];
    const { command, args } = gatewayCommand(folder, { one: stubborn, two: stubborn });
    const gateway = spawn(command, args, { stdio: ["pipe", "ignore", "ignore"] });
    const exited = once(gateway, "exit");
    for (const message of [greeting, listing]) gateway.stdin.write(`${JSON.stringify(message)}\n`);
    const started = await vi.waitFor(() => {
      const found = readFileSync(pids, "utf8").trim().split("\n").map(Number);
      expect(found).toHaveLength(4);
      return found;
    });
    if (end === "the input") gateway.stdin.end();
    else gateway.kill(end);
    // It has ended by itself.
    expect(await exited).toEqual([0, null]);
    // The system may need a moment.
    await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]));
  },
);
