import { existsSync, mkdtempSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import {
  getDefaultEnvironment,
  StdioClientTransport,
  type StdioServerParameters,
} from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { EVERYTHING } from "../support/gateway-process.ts";

const MAIN = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;

/** Starts the gateway in front of a server after `--`. */
async function connected(more: Partial<StdioServerParameters>): Promise<Client> {
  const state = mkdtempSync(join(tmpdir(), "gateway-environment-"));
  const args = [MAIN, "mcp", "--state", state, "--", ...EVERYTHING];
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, stderr: "ignore", ...more }),
  );
  return client;
}

// Servers of a configuration: packages/gateway/test/configuration.test.ts.
it("a server after -- gets the environment that the client gives the gateway", async () => {
  const client = await connected({
    env: { ...getDefaultEnvironment(), API_KEY: "key-of-the-server" },
  });
  await client.callTool({ name: "get-env", arguments: {} });
  const read = await client.readResource({ uri: "byref://variables/get_env_1" });
  await client.close();
  expect(JSON.stringify(read)).toContain("key-of-the-server");
});

// modelcontextprotocol/typescript-sdk#1564. The server writes to standard error when it starts.
it.runIf(existsSync("/dev/full"))("a client whose standard error fails is answered", async () => {
  const client = await connected({ stderr: openSync("/dev/full", "w") });
  const echoed = await client.callTool({ name: "echo", arguments: { message: "there" } });
  await client.close();
  expect(echoed.content).toMatchObject([{ text: "Echo: there" }]);
});
