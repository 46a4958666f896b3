/**
 * Measures what a prompt has only on demand: `npm run bench -- on-demand`. Definitions of published servers' tools,
 * with `find_tools` and without; and whether a handle says what reading its value costs. Results do not depend on speed.
 * With `--peers`, all servers of `test/process/mcp-servers`; else the three that the project installs.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { CHARS_PER_TOKEN } from "../src/tool/tool-output.ts";
import {
  costOfLooking,
  listChars,
  type ListedServer,
  promptChars,
} from "../test/support/on-demand.ts";
import { installPublished, publishedServers } from "../test/support/published-servers.ts";
import { REPORT } from "./report.ts";
import { plainRow, report, type Row } from "./results.ts";
import { withPeers } from "./sides.ts";
import { spreadOf } from "./statistics.ts";

async function listedServers(): Promise<readonly ListedServer[]> {
  const folder = mkdtempSync(join(tmpdir(), "bench-servers-"));
  if (withPeers) installPublished(folder);
  const servers: ListedServer[] = [];
  const commands = Object.entries(publishedServers(folder, withPeers ? 1 : Infinity));
  for (const [name, [command = "", ...args]] of commands) {
    const client = new Client({ name: "bench", version: "1" });
    await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
    servers.push({ name, tools: (await client.listTools()).tools });
    await client.close();
  }
  rmSync(folder, { recursive: true });
  return servers;
}

const servers = await listedServers();
const count = servers.reduce((sum, { tools }) => sum + tools.length, 0);

function toolRow(what: string, goal: number, [ours, all]: readonly [number, number]): Row {
  const sides = { ours: spreadOf([ours]), "all tools": spreadOf([all]) };
  const name = `${count} tools of ${servers.length} servers, ${what}: against all tools`;
  const row = { name, value: ours / all, unit: "times", sides, sidesUnit: "characters" };
  return plainRow({ ...row, against: "all tools" }, withPeers ? goal : null);
}

const [found, all] = [await promptChars(servers, true), await promptChars(servers, false)];
const lists = [await listChars(servers, "search"), await listChars(servers, "list")] as const;
const text = REPORT.map(({ note }) => note).join("\n");
const values = [REPORT, REPORT.map(({ total }) => total), text];
const looks = await Promise.all(values.map((value) => costOfLooking(value as never)));
const figure = Math.max(...looks.map(({ chars }) => chars));
const off = Math.max(...looks.map(({ read, tokens }) => read / CHARS_PER_TOKEN / tokens));
report({
  rows: [
    toolRow("first prompt", 0.1, [found.first, all.first]),
    toolRow("ten turns that call three", 0.2, [found.all, all.all]),
    toolRow("list of the gateway", 0.1, lists),
    plainRow({ name: "tokens in a handle: figure", value: figure, unit: "characters" }, 20),
    plainRow({ name: "tokens in a handle: read, against them", value: off, unit: "times" }, 1.1),
  ],
});
