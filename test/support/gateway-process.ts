import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { isObject } from "../../src/value/json.ts";

const { resolve } = createRequire(import.meta.url);
const NODE = process.execPath;

function programOf(name: string): readonly string[] {
  const manifest = resolve(`@modelcontextprotocol/${name}/package.json`);
  return [NODE, join(dirname(manifest), "dist", "index.js")];
}

/** Commands of real servers from npm. */
export const FILESYSTEM = programOf("server-filesystem");
export const EVERYTHING = programOf("server-everything");
export const MEMORY = programOf("server-memory");

/**
 * Returns the command with which a client starts `byref mcp` from the sources, with these servers and its
 * state in `folder`.
 */
export function gatewayCommand(
  folder: string,
  servers: Readonly<Record<string, readonly string[]>>,
  rules: Readonly<Record<string, object>> = {},
): { readonly command: string; readonly args: string[] } {
  const entries = Object.entries(servers).map(([name, [command = "", ...args]]) => {
    const byref = rules[name];
    return [name, { command, args, ...(byref && { byref }) }];
  });
  const config = join(folder, "mcp.json");
  writeFileSync(config, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
  const main = new URL("../../packages/gateway/src/cli/main.ts", import.meta.url).pathname;
  const state = join(folder, "state");
  return { command: NODE, args: [main, "mcp", "--config", config, "--state", state] };
}

/** Starts the gateway with an HTTP endpoint. Resolves with its address once it listens. */
export async function startHttpGateway({ command, args }: ReturnType<typeof gatewayCommand>) {
  const gateway = spawn(command, [...args, "--http", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  let url = "";
  for await (const line of createInterface({ input: gateway.stderr })) {
    url = /http:\S+/u.exec(line)?.[0] ?? "";
    if (url !== "") break;
  }
  gateway.stderr.resume();
  return { gateway, url };
}

/** Returns the name of the variable that contains a result. */
export function nameIn({ _meta: meta }: { readonly _meta?: unknown }): string {
  const about: unknown = isObject(meta) ? meta["byref/variable"] : undefined;
  if (!isObject(about) || typeof about.name !== "string") throw new Error("It was not kept.");
  return about.name;
}

/** Returns the texts of a result, one per line. */
export function textIn({ content }: { readonly content?: unknown }): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts
    .flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : []))
    .join("\n");
}
