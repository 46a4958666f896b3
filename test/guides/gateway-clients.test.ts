import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { unwrapFile, wrapFile } from "../../packages/gateway/src/cli/wrap-file.ts";
import { readConfiguration } from "../../packages/gateway/src/configuration.ts";
import { blockOf } from "../support/fences.ts";
import { EVERYTHING } from "../support/gateway-process.ts";
import { slow } from "../support/slow.ts";
import { listedTools } from "../support/listed-tools.ts";

const home = mkdtempSync(join(tmpdir(), "gateway-clients-"));
mkdirSync(join(home, ".byref"));
const [program = "", ...everything] = EVERYTHING;
writeFileSync(
  join(home, ".byref", "servers.json"),
  JSON.stringify({ mcpServers: { everything: { command: program, args: everything } } }),
);
const commandSchema = z.object({ command: z.literal("npx"), args: z.array(z.string()) });
const open: Client[] = [];

afterAll(() => Promise.all(open.map((client) => client.close())));

function guideOf(client: string): string {
  return readFileSync(`docs/guides/gateway-${client}.md`, "utf8");
}

/** Starts what a client would start for a user with this home folder, and expects the server's tools. */
async function expectTools(started: unknown): Promise<void> {
  const { args } = commandSchema.parse(started);
  expect(args.slice(0, 2)).toEqual(["-y", "byref"]);
  const rest = args.slice(2).map((arg) => arg.replace(/^(?:\$\{userHome\}|~)(?=\/)/u, home));
  const main = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;
  const client = new Client({ name: "test", version: "1" });
  open.push(client);
  const own = [main, ...rest, "--state", join(home, "state")];
  const command = { command: process.execPath, args: own, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(command));
  await listedTools(client, ["echo"]);
}

describe("guides of the gateway's clients", () => {
  it.each([
    ["claude-code", ".mcp.json"],
    ["claude-desktop", "claude_desktop_config.json"],
    ["cursor", ".cursor/mcp.json"],
    ["vs-code", ".vscode/mcp.json"],
  ])(
    "%s: wrap turns the first configuration into the second, and unwrap restores it",
    (client, path) => {
      const guide = guideOf(client);
      const [before, after] = [blockOf(guide, "json", 0), blockOf(guide, "json", 1)];
      expect(guide).toContain(`npx byref mcp wrap ${path}`);
      const file = join(mkdtempSync(join(tmpdir(), "gateway-client-")), path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, before);
      wrapFile(file);
      const copy = `${file}.byref.json`;
      const documented = /"([^"]+\.byref\.json)"/u.exec(after)?.[1] ?? "";
      expect(basename(documented)).toBe(basename(copy));
      expect(readFileSync(file, "utf8").replace(copy, documented)).toBe(after);
      const servers = readConfiguration(readFileSync(copy, "utf8"), { CRM_TOKEN: "t" });
      expect(servers.map(({ problem }) => problem)).toEqual(servers.map(() => undefined));
      unwrapFile(file);
      expect(readFileSync(file, "utf8")).toBe(before);
    },
  );
});

describe("server.json", () => {
  const entrySchema = z.object({
    name: z.string().regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/u),
    description: z.string().max(100),
    version: z.string(),
    packages: z.tuple([
      z.object({
        registryType: z.literal("npm"),
        identifier: z.string(),
        version: z.string(),
        runtimeHint: z.literal("npx"),
        transport: z.object({ type: z.literal("stdio") }),
        packageArguments: z.array(
          z.object({ name: z.string().optional(), value: z.string().optional() }),
        ),
      }),
    ]),
  });
  const { packages, ...entry } = entrySchema.parse(JSON.parse(readFileSync("server.json", "utf8")));
  const [npm] = packages;

  it("has the name and the versions of package.json", () => {
    const { name, version, mcpName } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(entry).toMatchObject({ name: mcpName, version });
    expect(npm).toMatchObject({ identifier: name, version });
  });

  it("has arguments that start the gateway", slow, async () => {
    const file = join(home, ".byref", "servers.json");
    const args = npm.packageArguments.flatMap(({ name, value = file }) =>
      name === undefined ? [value] : [name, value],
    );
    await expectTools({ command: "npx", args: ["-y", npm.identifier, ...args] });
  });
});
