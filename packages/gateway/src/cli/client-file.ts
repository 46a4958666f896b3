import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import {
  type JSONPath,
  type Node,
  type ParseError,
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  parseTree,
} from "jsonc-parser";
import { ByrefError } from "../../../../src/errors.ts";
import { clientVariablesIn, syntaxMessage, withoutMark } from "../configuration.ts";
import { json } from "../../../../src/internal.ts";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { digestOf } from "./state.ts";

/** Servers of one place in a configuration, by name. */
export interface ServerGroup {
  readonly path: JSONPath;
  /** The folder that Claude Code has these servers for. */
  readonly project?: string;
  readonly servers: Readonly<Record<string, unknown>>;
}

/** A client's configuration as it is on disk. */
export interface ClientFile {
  /** Links are resolved. */
  readonly file: string;
  readonly mode: number;
  readonly bytes: Buffer;
  /** The text without a byte order mark. */
  readonly text: string;
  readonly groups: readonly ServerGroup[];
}

/** Reads a client's configuration. Throws `bad_configuration` with the place and what to do. */
export function readClientFile(name: string): ClientFile {
  if (!existsSync(name))
    throw bad(name, "There is no such file. Name a client's configuration, and");
  if (statSync(name).isDirectory())
    throw bad(name, "It is a folder. Name a client's configuration, and");
  const file = realpathSync(name);
  const bytes = readFileSync(file);
  const text = withoutMark(decoded(bytes, file));
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) throw bad(file, `${syntaxMessage(text, error)} Correct it and`);
  const groups = root === undefined ? [] : groupsIn(root);
  if (groups.length === 0) {
    throw bad(
      file,
      'It has neither "mcpServers" nor "servers". Name a client\'s configuration, and',
    );
  }
  return { file, mode: statSync(file).mode, bytes, text, groups };
}

/** Returns the bytes of the file with another text. A byte order mark stays. */
export function bytesOf({ bytes }: ClientFile, text: string): Buffer {
  return Buffer.from(isMarked(bytes) ? `\uFEFF${text}` : text);
}

/** Sets a value in the text. It is indented as the text is; comments elsewhere stay. */
export function edited(text: string, path: JSONPath, value: unknown): string {
  return applyEdits(text, modify(text, path, value, formattingOf(text)));
}

/** Returns the servers at a path in the text. */
export function serversAt(text: string, path: JSONPath): ServerGroup["servers"] {
  const node = nodeIn(text, path);
  const servers: unknown = node && getNodeValue(node);
  return json.isObject(servers) ? servers : {};
}

/** Puts the servers of another text into a text as they are written there, with their comments. */
export function withServersOf(text: string, path: JSONPath, source: string): string {
  const from = nodeIn(source, path);
  const place = nodeIn(text, path);
  if (from === undefined) return text;
  if (place === undefined) return edited(text, path, getNodeValue(from));
  const written = source.slice(from.offset, from.offset + from.length);
  return text.slice(0, place.offset) + written + text.slice(place.offset + place.length);
}

function nodeIn(text: string, path: JSONPath): Node | undefined {
  const root = parseTree(text, [], { allowTrailingComma: true });
  return root && findNodeAtLocation(root, path);
}

function groupsIn(root: Node): readonly ServerGroup[] {
  const projects = valueAt(root, ["projects"]);
  const ofProjects = Object.keys(projects ?? {}).flatMap((project) => {
    const path = ["projects", project, "mcpServers"];
    const servers = valueAt(root, path);
    return servers === undefined ? [] : [{ path, project, servers }];
  });
  for (const key of ["mcpServers", "servers"]) {
    const servers = valueAt(root, [key]);
    if (servers !== undefined) return [{ path: [key], servers }, ...ofProjects];
  }
  return ofProjects;
}

function valueAt(root: Node, path: JSONPath): Readonly<Record<string, unknown>> | undefined {
  const node = findNodeAtLocation(root, path);
  const value: unknown = node && getNodeValue(node);
  return json.isObject(value) ? value : undefined;
}

function isMarked(bytes: Buffer): boolean {
  return bytes.subarray(0, 3).equals(Buffer.from("\uFEFF"));
}

function decoded(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw bad(file, "It is not UTF-8. Save it as UTF-8 and");
  }
}

function bad(file: string, why: string): ByrefError {
  const message = `${file}: ${why} run this again. Nothing was changed.`;
  return new ByrefError("bad_configuration", message);
}

/** Follows the file's own indentation and line ends. */
function formattingOf(text: string) {
  const indent = /^([ \t]+)\S/mu.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const tabSize = insertSpaces ? indent.length : 1;
  return { formattingOptions: { insertSpaces, tabSize, eol } };
}

/** The environment variable of an entry that has the digest of the copy that wrapping made. */
const DIGEST = "BYREF_ORIGINAL";

/** The gateway's entry among the servers of a group, by the name of the file that it reads its servers from. */
export function ownEntryIn({ servers }: ServerGroup, copy: string): string | undefined {
  return Object.keys(servers).find((name) => isOwn(servers[name], copy));
}

function isOwn(entry: unknown, copy: string): boolean {
  const words = wordsOf(entry);
  const config = words[words.indexOf("--config") + 1];
  // Files are moved with their copies, and people write other paths.
  const isCopy = typeof config === "string" && basename(config) === basename(copy);
  return isCopy && words.includes("mcp") && words.includes("--config");
}

function wordsOf(entry: unknown): readonly unknown[] {
  const args: unknown = json.isObject(entry) ? entry.args : undefined;
  return Array.isArray(args) ? args : [];
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
  const words = wordsOf(entry);
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
  const { env, ...rest } = json.isObject(entry) ? entry : {};
  const words = wordsOf(entry);
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
