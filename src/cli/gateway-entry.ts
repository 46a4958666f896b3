import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { clientVariablesIn } from "../gateway/client-variables.ts";
import { compact, isObject } from "../value/json.ts";
import type { ServerGroup } from "./client-file.ts";
import { digestOf } from "./digest.ts";

/** The environment variable of an entry that has the digest of the copy that wrapping made. */
const DIGEST = "BYREF_ORIGINAL";

/** The gateway's entry among the servers of a group, by the name of the file that it reads its servers from. */
export function ownEntryIn({ servers }: ServerGroup, copy: string): string | undefined {
  return Object.keys(servers).find((name) => isOwn(servers[name], copy));
}

function isOwn(entry: unknown, copy: string): boolean {
  const args: unknown = isObject(entry) ? entry.args : undefined;
  if (!Array.isArray(args)) return false;
  const config: unknown = args[args.indexOf("--config") + 1];
  // Files are moved with their copies, and people write other paths.
  const isCopy = typeof config === "string" && basename(config) === basename(copy);
  return isCopy && args.includes("mcp") && args.includes("--config");
}

/** True if the copy is unchanged since wrapping. Undefined if the entry has no digest. */
export function isAsWritten(entry: unknown, copyText: string): boolean | undefined {
  const env: unknown = isObject(entry) ? entry.env : undefined;
  const digest: unknown = isObject(env) ? env[DIGEST] : undefined;
  return typeof digest === "string" ? digest === digestOf(copyText) : undefined;
}

export interface EntryOptions {
  /** How a client starts the gateway. */
  readonly command: readonly string[];
  /** The file that the gateway reads. */
  readonly copy: string;
  /** Digest of the copy's text. Undefined keeps the entry's digest. */
  readonly digest: string | undefined;
  /** The servers behind the gateway. */
  readonly servers: Readonly<Record<string, unknown>>;
}

/** Makes the entry of a group. It passes on what only the client fills in. */
export function entryFor({ path, project }: ServerGroup, options: EntryOptions): object {
  const [program = "", ...args] = options.command;
  const ofProject = project === undefined ? [] : ["--project", project];
  return {
    ...(path.at(-1) === "servers" && { type: "stdio" }),
    command: program,
    args: [...args, "mcp", "--config", options.copy, ...ofProject],
    env: environmentOf(options),
  };
}

/** Returns an entry with what it passes on now. What people changed in it stays. */
export function renewedEntry(entry: unknown, options: EntryOptions): object {
  const { env, ...rest } = isObject(entry) ? entry : {};
  return { ...rest, env: { ...(isObject(env) ? env : {}), ...environmentOf(options) } };
}

function environmentOf({ servers, digest }: EntryOptions): Readonly<Record<string, string>> {
  return { ...clientVariablesIn(textsIn(servers)), ...compact({ [DIGEST]: digest }) };
}

/** Returns all texts in a value, without keys. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Returns a free name for the entry. If several files have a server with the same name, Claude Code and Cursor
 * start only one of them, so the home folder's entries have different names.
 */
export function nameFor({ servers, project }: ServerGroup, file: string): string {
  const base = project === undefined ? (isOfUser(file) ? "byref-user" : "byref") : "byref-project";
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}-${count}`;
    if (!Object.hasOwn(servers, name)) return name;
  }
}

function isOfUser(file: string): boolean {
  const home = homedir();
  return [join(home, ".claude.json"), join(home, ".cursor", "mcp.json")].includes(resolve(file));
}
