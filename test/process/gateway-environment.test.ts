import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
