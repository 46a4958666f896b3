import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { byref } from "../support/command-line.ts";
import { nameIn } from "../support/gateway-process.ts";
import { packedTarball } from "../../scripts/pack.ts";
import { temporaryFolder } from "../support/server.ts";

/** Includes npm's downloads of the package and of the server. */
const INSTALL_MS = 300_000;
const folder = temporaryFolder();
const home = join(folder, "home");
const files = join(folder, "files");
const ui = { mimeTypes: ["text/html;profile=mcp-app"] };
const capabilities = { extensions: { "io.modelcontextprotocol/ui": ui } };
const client = new Client({ name: "new", version: "1" }, { capabilities });

beforeAll(() => {
  for (const made of [home, files]) mkdirSync(made);
});

afterAll(async () => {
  await client.close();
  rmSync(folder, { recursive: true, force: true });
});

function definedIn(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

it("the README's command puts a gateway in front of the filesystem server with nothing but Node", async () => {
  const [, line = ""] =
    /`npx -y byref (mcp -- [^`]+)`/u.exec(readFileSync("README.md", "utf8")) ?? [];
  expect(line).toBe("mcp -- npx -y @modelcontextprotocol/server-filesystem .");
  const text = "A line of a log.\n".repeat(50_000);
  writeFileSync(join(files, "large.txt"), text);
  // This machine may use another registry, which the empty home folder does not configure.
  const { XDG_DATA_HOME: _data, ...env } = process.env;
  const registry = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
  const own = { HOME: home, npm_config_registry: registry.trim() };
  await client.connect(
    new StdioClientTransport({
      command: "npx",
      args: ["-y", `file:${await packedTarball()}`, ...line.split(" ")],
      cwd: files,
      env: { ...definedIn(env), ...own },
      stderr: "ignore",
    }),
    { timeout: INSTALL_MS },
  );
  await vi.waitUntil(
    async () => (await client.listTools()).tools.some(({ name }) => name === "write_file"),
    { interval: 500 },
  );
  const call = (name: string, input: Record<string, unknown>) =>
    client.callTool({ name, arguments: input });
  const read = await call("read_text_file", { path: "large.txt" });
  await call("write_file", { path: "copy.txt", content: `$${nameIn(read)}.content` });
  expect(readFileSync(join(files, "copy.txt"), "utf8") === text).toBe(true);
  expect(JSON.stringify(read).length).toBeLessThan(2_000);
  const { contents } = await client.readResource({ uri: "ui://byref/variable" });
  expect(JSON.stringify(contents).length).toBeGreaterThan(100_000);
  // The gateway's working folder contains only the files.
  expect(readdirSync(files).toSorted()).toEqual(["copy.txt", "large.txt"]);
  const { stdout } = byref(["mcp", "stats", "--json"], { folder: files, home });
  expect(JSON.parse(stdout)).toMatchObject({ calls: 2, wrongReferences: 0 });
});
