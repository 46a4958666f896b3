import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { applyEdits, findNodeAtLocation, getNodeValue, modify, parseTree } from "jsonc-parser";
import { ByrefError } from "../errors.ts";
import { isObject } from "../value/json.ts";
import { writeAtomically } from "./write-atomically.ts";

/** What was done with a file, or would be. */
export interface WrapReport {
  readonly file: string;
  readonly servers: readonly string[];
  readonly outcome: "wrapped" | "unwrapped" | "merged" | "unchanged";
}

export interface WrapOptions {
  /** Reports and changes nothing. */
  readonly dryRun?: boolean;
  /** How a client starts the gateway. Default: `npx -y byref`. */
  readonly command?: readonly string[];
}

/** The name of the gateway's entry in a configuration. */
const ENTRY = "byref";

/** Returns the first configuration of a client that exists: in the working folder, then in the home folder. */
export function findConfiguration(): string {
  const candidates = [
    ".mcp.json",
    join(".cursor", "mcp.json"),
    join(".vscode", "mcp.json"),
    join(homedir(), ".cursor", "mcp.json"),
    ...claudeFiles(),
  ];
  const found = candidates.find((file) => existsSync(file));
  if (found !== undefined) return resolve(found);
  const message = `No configuration was found; name a file. These were tried: ${candidates.join(", ")}.`;
  throw new ByrefError("not_found", message);
}

/**
 * Replaces all servers of a configuration by the gateway in front of them. The original is first copied, byte for
 * byte, to `FILE.byref.json`, which the gateway reads. A wrapped file stays as it is.
 */
export function wrapFile(
  file: string,
  { dryRun = false, command = ["npx", "-y", "byref"] }: WrapOptions = {},
): WrapReport {
  const text = readFileSync(file, "utf8");
  const { key, servers } = serversIn(text, file);
  const names = Object.keys(servers);
  if (ENTRY in servers || names.length === 0) {
    return { file, servers: [], outcome: "unchanged" };
  }
  const copy = copyOf(file);
  const [program = "", ...args] = command;
  const entry = {
    ...(key === "servers" && { type: "stdio" }),
    command: program,
    args: [...args, "mcp", "--config", copy],
  };
  const edits = modify(text, [key], { [ENTRY]: entry }, formattingOf(text));
  if (!dryRun) {
    const { mode } = statSync(file);
    writeAtomically(copy, readFileSync(file), mode);
    writeAtomically(file, applyEdits(text, edits), mode);
  }
  return { file, servers: names, outcome: "wrapped" };
}

/**
 * Restores the original, byte for byte. If the file was changed since it was wrapped, its own keys stay and the
 * servers of the original join those that were added.
 */
export function unwrapFile(file: string, { dryRun = false }: WrapOptions = {}): WrapReport {
  const copy = copyOf(file);
  const text = readFileSync(file, "utf8");
  const { key, servers } = serversIn(text, file);
  if (!(ENTRY in servers) || !existsSync(copy)) return { file, servers: [], outcome: "unchanged" };
  const original = readFileSync(copy);
  const before = serversIn(original.toString("utf8"), copy).servers;
  const { [ENTRY]: entry, ...added } = servers;
  const wrapped = wrappedText(original.toString("utf8"), { key, entry });
  const isUnchanged = text === wrapped;
  const { mode } = statSync(file);
  const merged = modify(text, [key], { ...before, ...added }, formattingOf(text));
  if (!dryRun) {
    writeAtomically(file, isUnchanged ? original : applyEdits(text, merged), mode);
    rmSync(copy);
  }
  const names = Object.keys({ ...before, ...added });
  return { file, servers: names, outcome: isUnchanged ? "unwrapped" : "merged" };
}

/** The text that wrapping the original gave. */
function wrappedText(original: string, { key, entry }: { key: string; entry: unknown }): string {
  return applyEdits(original, modify(original, [key], { [ENTRY]: entry }, formattingOf(original)));
}

function serversIn(text: string, file: string) {
  const root = parseTree(text, [], { allowTrailingComma: true });
  for (const key of ["mcpServers", "servers"]) {
    const node = root === undefined ? undefined : findNodeAtLocation(root, [key]);
    const servers: unknown = node === undefined ? undefined : getNodeValue(node);
    if (isObject(servers)) return { key, servers };
  }
  const message = `${file} has neither "mcpServers" nor "servers", so it is not a client's configuration.`;
  throw new ByrefError("bad_configuration", message);
}

function copyOf(file: string): string {
  return `${resolve(file)}.byref.json`;
}

/** Follows the file's own indentation and line ends. */
function formattingOf(text: string) {
  const indent = /^([ \t]+)\S/mu.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const tabSize = insertSpaces ? indent.length : 1;
  return { formattingOptions: { insertSpaces, tabSize, eol } };
}

function claudeFiles(): readonly string[] {
  const { APPDATA } = process.env;
  const name = "claude_desktop_config.json";
  const desktop =
    process.platform === "darwin"
      ? join(homedir(), "Library", "Application Support", "Claude", name)
      : join(APPDATA ?? join(homedir(), ".config"), "Claude", name);
  return [join(homedir(), ".claude.json"), desktop];
}
