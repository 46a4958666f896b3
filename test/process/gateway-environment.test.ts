import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it } from "vitest";
import { EVERYTHING } from "../support/gateway-process.ts";

const MAIN = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "gateway-environment-"));

/** Returns the environment of a server that a gateway with these settings starts. */
async function environmentOf(args: readonly string[], env: Readonly<Record<string, string>>) {
  const client = new Client({ name: "test", version: "1" });
  const own = [MAIN, "mcp", "--state", join(folder, "state"), ...args];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: own,
      env: { ...getDefaultEnvironment(), ...env },
      stderr: "ignore",
    }),
  );
  await client.callTool({ name: "get-env", arguments: {} });
  const { contents } = await client.readResource({ uri: "byref://variables/get_env_1" });
  await client.close();
  const [content] = contents;
  return content && "text" in content ? content.text : "";
}

it("a server after -- gets the environment that the client gives the gateway", async () => {
  const text = await environmentOf(["--", ...EVERYTHING], { API_KEY: "key-of-the-server-1" });
  expect(text).toContain("key-of-the-server-1");
});

it("servers in a configuration get their environment with filled-in placeholders", async () => {
  const [command = "", ...args] = EVERYTHING;
  const everything = {
    command,
    args,
    env: { ROOT: "${workspaceFolder}/src", KEY: "${input:key}" },
  };
  const config = join(folder, "servers.json");
  writeFileSync(config, JSON.stringify({ servers: { everything } }));
  const text = await environmentOf(["--config", config], {
    CLAUDE_PROJECT_DIR: "/home/me/project-of-claude",
    BYREF_WORKSPACEFOLDER: "/home/me/shop",
    BYREF_INPUT_KEY: "key-of-the-server-2",
    API_KEY: "key-of-the-gateway",
  });
  expect(text).toContain("/home/me/shop/src");
  expect(text).toContain("key-of-the-server-2");
  expect(text).toContain("/home/me/project-of-claude");
  expect(text).not.toContain("key-of-the-gateway");
  expect(text).not.toContain("BYREF_");
});
