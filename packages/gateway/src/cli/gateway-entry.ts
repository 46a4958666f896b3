import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { clientVariablesIn } from "../client-variables.ts";
import { json } from "../../../../src/internal.ts";
import type { ServerGroup } from "./client-file.ts";
import { digestOf } from "./digest.ts";

/** The environment variable of an entry that has the digest of the copy that wrapping made. */
const DIGEST = "BYREF_ORIGINAL";

/** The gateway's entry among the servers of a group, by the name of the file that it reads its servers from. */
export function ownEntryIn({ servers }: ServerGroup, copy: string): string | undefined {
  return Object.keys(servers).find((name) => isOwn(servers[name], copy));
}

function isOwn(entry: unknown, copy: string): boolean {
  const args: unknown = json.isObject(entry) ? entry.args : undefined;
  if (!Array.isArray(args)) return false;
  const config: unknown = args[args.indexOf("--config") + 1];
  // Files are moved with their copies, and people write other paths.
  const isCopy = typeof config === "string" && basename(config) === basename(copy);
  return isCopy && args.includes("mcp") && args.includes("--config");
}

/** True if the copy is unchanged since wrapping. Undefined if the entry has no digest. */
export function isAsWritten(entry: unknown, copyText: string): boolean | undefined {
  const env: unknown = json.isObject(entry) ? entry.env : undefined;
  const digest: unknown = json.isObject(env) ? env[DIGEST] : undefined;
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
  /** Names of servers that the copy has, and that the client starts itself. */
  readonly except: readonly string[];
  /** Names of servers that the client has started itself until now. */
  readonly taken: readonly string[];
}

/** Makes the entry of a group. It passes on what only the client fills in. */
export function entryFor({ path, project }: ServerGroup, options: EntryOptions): object {
  const [program = "", ...args] = options.command;
  const ofProject = project === undefined ? [] : ["--project", project];
  return {
    ...(path.at(-1) === "servers" && { type: "stdio" }),
    command: program,
    args: [...args, "mcp", "--config", options.copy, ...ofProject, ...exceptions(options.except)],
    env: environmentOf(options),
    // Copilot needs it.
    ...(hasToolLists(options.servers) && { tools: ["*"] }),
  };
}

function hasToolLists(servers: Readonly<Record<string, unknown>>): boolean {
  return Object.values(servers).some(
    (server) => json.isObject(server) && Array.isArray(server.tools),
  );
}

/** Returns the names of the servers that the entry's gateway leaves out. */
export function exceptionsIn(entry: unknown): readonly string[] {
  const args: unknown = json.isObject(entry) ? entry.args : undefined;
  const words: readonly unknown[] = Array.isArray(args) ? args : [];
  return words.filter(
    (word, index): word is string => typeof word === "string" && words[index - 1] === EXCEPT,
  );
}

const EXCEPT = "--except";

function exceptions(names: readonly string[]): readonly string[] {
  return names.flatMap((name) => [EXCEPT, name]);
}

/** Returns an entry with what it passes on and leaves out now. What people changed in it stays. */
export function renewedEntry(entry: unknown, options: EntryOptions): object {
  const { env, args, ...rest } = json.isObject(entry) ? entry : {};
  const words: readonly unknown[] = Array.isArray(args) ? args : [];
  const others = words.filter((word, index) => word !== EXCEPT && words[index - 1] !== EXCEPT);
  const { except, taken } = options;
  const known = exceptionsIn(entry).filter((name) => !taken.includes(name));
  return {
    ...rest,
    args: [...others, ...exceptions([...new Set([...known, ...except])])],
    env: { ...(json.isObject(env) ? env : {}), ...environmentOf(options) },
  };
}

function environmentOf({ servers, digest }: EntryOptions): Readonly<Record<string, string>> {
  return { ...clientVariablesIn(textsIn(servers)), ...json.compact({ [DIGEST]: digest }) };
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
