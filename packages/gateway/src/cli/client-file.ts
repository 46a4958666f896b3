import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  type JSONPath,
  modify,
  type Node,
  parse,
  type ParseError,
  parseTree,
} from "jsonc-parser";
import { ByrefError } from "../../../../src/errors.ts";
import { at, clientVariablesIn, filtersIn, syntaxMessage, withoutMark } from "../configuration.ts";
import { json } from "../../../../src/internal.ts";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { SECRET_NAME, secretsIn } from "../servers/secrets.ts";

/** Servers of one place in a configuration, by name. */
export interface ServerGroup {
  readonly path: string[];
  /** The folder that Claude Code has these servers for. */
  readonly project?: string;
  readonly servers: Readonly<Record<string, unknown>>;
}

export interface ClientFile {
  /** Where the client reads it, which may be a link. */
  readonly name: string;
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
  const advice = "Name a client's configuration, and";
  if (!existsSync(name)) throw bad(name, `There is no such file. ${advice}`);
  if (statSync(name).isDirectory()) throw bad(name, `It is a folder. ${advice}`);
  const file = realpathSync(name);
  const bytes = readFileSync(file);
  const text = withoutMark(decoded(bytes, file));
  const errors: ParseError[] = [];
  const groups = groupsIn(parsed(text, errors));
  const [error] = errors;
  if (error !== undefined) throw bad(file, `${syntaxMessage(text, error)} Correct it and`);
  if (groups.length === 0) {
    throw bad(file, `It has neither "mcpServers" nor "servers". ${advice}`);
  }
  // Of a key that is there twice, clients read the last, and the first would be changed.
  const unclear = groups.find(({ path, servers }) => {
    const node = nodeIn(text, path);
    return JSON.stringify(node && getNodeValue(node)) !== JSON.stringify(servers);
  });
  if (unclear !== undefined) {
    const place = `"${unclear.path.join(".")}"`;
    throw bad(file, `${place} is there twice, or has a server "__proto__". Correct it and`);
  }
  return { name: resolve(name), file, mode: statSync(file).mode, bytes, text, groups };
}

export function withText(client: ClientFile, text: string): ClientFile {
  return { ...client, text, bytes: bytesOf(client, text), groups: groupsIn(parsed(text)) };
}

/** Returns the bytes of the file with another text. A byte order mark stays. */
function bytesOf({ bytes }: ClientFile, text: string): Buffer {
  const isMarked = bytes.subarray(0, 3).equals(Buffer.from("\uFEFF"));
  return Buffer.from(isMarked ? `\uFEFF${text}` : text);
}

/** Sets a value in the text. It is indented as the text is; comments elsewhere stay. */
export function edited(text: string, path: JSONPath, value: unknown): string {
  return applyEdits(text, modify(text, path, value, formattingOf(text)));
}

export function serversAt(text: string, path: readonly string[]): ServerGroup["servers"] {
  return objectAt(parsed(text), ...path) ?? {};
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

function groupsIn(read: unknown): readonly ServerGroup[] {
  const ofProjects = Object.keys(objectAt(read, "projects") ?? {}).flatMap((project) => {
    const path = ["projects", project, "mcpServers"];
    const servers = objectAt(read, ...path);
    return servers === undefined ? [] : [{ path, project, servers }];
  });
  for (const key of ["mcpServers", "servers"]) {
    const servers = objectAt(read, key);
    if (servers !== undefined) return [{ path: [key], servers }, ...ofProjects];
  }
  return ofProjects;
}

function parsed(text: string, errors: ParseError[] = []): unknown {
  return parse(text, errors, { allowTrailingComma: true });
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

function formattingOf(text: string) {
  const indent = /^([ \t]+)\S/mu.exec(text)?.[1] ?? "  ";
  const insertSpaces = !indent.startsWith("\t");
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const tabSize = insertSpaces ? indent.length : 1;
  return { formattingOptions: { insertSpaces, tabSize, eol } };
}

/** The gateway's entry among the servers of a group, by the name of the file that it reads its servers from. */
export function ownEntryIn(servers: ServerGroup["servers"], copy: string): string | undefined {
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
  const args = at(entry, "args");
  return Array.isArray(args) ? args : [];
}

interface EntryOptions {
  readonly command: readonly string[];
  readonly copy: string;
  /** The servers behind the gateway. */
  readonly servers: Readonly<Record<string, unknown>>;
  /** Names of servers that the copy has, and that the client starts itself. */
  readonly except: readonly string[];
}

const EXCEPT = "--except";

/**
 * Makes the entry of a group. It passes on what only the client fills in. What people have changed in the entry
 * that is there stays.
 */
export function entryFor(
  { path, project }: ServerGroup,
  { command: [program = "", ...words], copy, servers, except }: EntryOptions,
  there: unknown,
): object {
  const ofProject = project === undefined ? [] : ["--project", project];
  const hasToolLists = Object.values(servers).some(
    (server) => json.isObject(server) && Array.isArray(server.tools),
  );
  const made: Readonly<Record<string, unknown>> = {
    ...(path.at(-1) === "servers" && { type: "stdio" }),
    command: program,
    args: [...words, "mcp", "--config", copy, ...ofProject],
    // Copilot needs it.
    ...(hasToolLists && { tools: ["*"] }),
  };
  const entry = json.isObject(there) ? there : made;
  const args = wordsOf(entry);
  const others = args.filter((word, index) => word !== EXCEPT && args[index - 1] !== EXCEPT);
  const env = { ...Object(entry.env), ...clientVariablesIn(textsIn(servers)) };
  return {
    ...entry,
    args: [...others, ...except.flatMap((name) => [EXCEPT, name])],
    ...(Object.keys(env).length > 0 && { env }),
  };
}

function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Returns a free name for the entry. If several files have a server with the same name, Claude Code and Cursor
 * start only one of them, so the home folder's entries have different names.
 */
export function nameFor({ servers, project }: ServerGroup, file: string): string {
  const ofUser = [join(homedir(), ".claude.json"), join(homedir(), ".cursor", "mcp.json")];
  const isOfUser = ofUser.includes(resolve(file));
  const base = project === undefined ? (isOfUser ? "byref-user" : "byref") : "byref-project";
  for (let count = 1; ; count++) {
    const name = count === 1 ? base : `${base}-${count}`;
    if (!Object.hasOwn(servers, name)) return name;
  }
}

interface RuledEntry {
  readonly name: string;
  readonly group: ServerGroup;
  readonly gateway: string;
}

/**
 * Says which rule of the client names the server and would not apply once the gateway is in front of it, and what
 * to change. Undefined if there is none.
 */
export function ruleAgainst(client: ClientFile, entry: RuledEntry): string | undefined {
  return ofClaudeCode(client, entry) ?? ofLists(client, entry) ?? ofVariables(client, entry);
}

/** Claude Code calls a tool `mcp__SERVER__TOOL` in its rules and hooks. */
function ofClaudeCode(client: ClientFile, { name, group, gateway }: RuledEntry) {
  for (const [settings, read] of settingsFor(client, group)) {
    const rules = [...textsAt(read, "permissions", "deny"), ...textsAt(read, "permissions", "ask")];
    const rule = [...rules, ...matchersIn(read)].find((one) => namesServer(one, name));
    if (rule === undefined) continue;
    const start = `mcp__${asInTools(name)}__`;
    const renamed = rule.replaceAll(start, `mcp__${asInTools(gateway)}__`);
    const isOfTool = rule.includes(start) && !/__(?:\.?\*)?\)?$/u.test(rule);
    const change = isOfTool ? `Write ${renamed} there` : "Remove it, if it is not needed,";
    return `The rule ${rule} in ${settings} would no longer apply to it. ${change} and run wrap again.`;
  }
  return undefined;
}

/** Lists that decide which servers start: beside them, for a project, and in the settings of Claude Code. */
function ofLists(client: ClientFile, { name, group }: RuledEntry): string | undefined {
  const own: unknown = parse(client.text);
  const beside = [own, ...Object.values(objectAt(own, "projects") ?? {})];
  const places = beside.map((one) => [client.file, one] as const);
  for (const [file, read] of [...places, ...settingsFor(client, group)]) {
    const listed = (key: string) => textsAt(read, ...key.split("."));
    const off = EXCLUDING.find((key) => listed(key).includes(name));
    if (off !== undefined)
      return `"${off}" in ${file} turns it off. Remove it there and run wrap again.`;
    const allowing = ALLOWING.find((key) => listed(key).length > 0);
    if (allowing !== undefined)
      return `"${allowing}" in ${file} decides which servers start. Remove it and run wrap again.`;
  }
  return undefined;
}

const EXCLUDING = "disabledMcpServers disabledMcpjsonServers excludeMCPServers mcp.excluded".split(
  " ",
);
const ALLOWING = ["allowMCPServers", "mcp.allowed"];

/** Gemini CLI, and what is made of it, also fill in `$NAME`, which other clients pass on as it is. */
function ofVariables({ name: file }: ClientFile, { name, group }: RuledEntry): string | undefined {
  if (basename(file) !== "settings.json") return undefined;
  const [written] = textsIn(group.servers[name]).flatMap(
    (text) => text.match(/\$[A-Za-z_]\w*/u) ?? [],
  );
  if (written === undefined) return undefined;
  return `Only the client fills in ${written}. Write \${${written.slice(1)}} there and run wrap again.`;
}

/** The settings of Claude Code with rules for the group's servers. Those of the user apply in each project. */
function settingsFor({ name: file, text }: ClientFile, { project }: ServerGroup) {
  const isOfUser = basename(file) === ".claude.json";
  if (!isOfUser && basename(file) !== ".mcp.json") return [];
  const others = isOfUser ? Object.keys(objectAt(parsed(text), "projects") ?? {}) : [dirname(file)];
  const folders = project === undefined ? others : [project];
  const home = isOfUser ? dirname(file) : homedir();
  const names = folders.flatMap((folder) =>
    ["settings.json", "settings.local.json"].map((name) => join(folder, ".claude", name)),
  );
  return [join(home, ".claude", "settings.json"), ...names].flatMap((settings) =>
    existsSync(settings) ? [[settings, parsed(readFileSync(settings, "utf8"))] as const] : [],
  );
}

function matchersIn(settings: unknown): readonly string[] {
  const groups = Object.values(objectAt(settings, "hooks") ?? {}).flat();
  return groups.flatMap((group) =>
    json.isObject(group) && typeof group.matcher === "string" ? [group.matcher] : [],
  );
}

/** True for a rule or a regular expression that names the server, and not only all servers. */
function namesServer(rule: string, name: string): boolean {
  const start = String.raw`(?:mcp__|[(|])`;
  const end = "(?![A-Za-z0-9-]|_(?!_))";
  return rule.includes("mcp__") && new RegExp(`${start}${asInTools(name)}${end}`, "u").test(rule);
}

/** Claude Code replaces other characters in names of servers. */
function asInTools(name: string): string {
  return name.replaceAll(/[^\w-]/gu, "_");
}

function objectAt(
  value: unknown,
  ...path: readonly string[]
): Readonly<Record<string, unknown>> | undefined {
  const found = at(value, ...path);
  return json.isObject(found) ? found : undefined;
}

function textsAt(value: unknown, ...path: readonly string[]): readonly string[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}

/** Returns what a user should know about a server that the gateway is put in front of, a sentence or two each. */
export function notesOn(name: string, entry: unknown, copy: string): readonly string[] {
  return [...notesOnAddress(name, entry, copy), ...notesOnTools(name, entry, copy)];
}

const ASKS = "asks again before it runs tools that it allowed";
/** Keys that only the client reads, and what it does without: Roo; Cline and Kiro; Gemini CLI; all of them. */
const WITHOUT_KEYS = {
  alwaysAllow: ASKS,
  autoApprove: ASKS,
  trust: ASKS,
  timeout: "waits for tools as long as it does without it",
};

function notesOnTools(name: string, entry: unknown, copy: string): readonly string[] {
  const filters = Object.keys(filtersIn(entry)).map(
    (key) => `${name}: its "${key}" applies behind the gateway, too; change it in ${copy}.`,
  );
  const { ...all } = json.isObject(entry) ? entry : {};
  const keys = Object.entries(WITHOUT_KEYS).flatMap(([key, does]) => {
    const line = `"${key}": ${JSON.stringify(all[key])}`;
    const note = `${name}: its "${key}" does not apply behind the gateway: the client ${does}. To change that, write ${line} into the gateway's entry, where it counts for the tools of all servers.`;
    return isSet(all[key]) ? [note] : [];
  });
  return [...filters, ...keys];
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
}

function notesOnAddress(name: string, entry: unknown, copy: string): readonly string[] {
  const { url, headers } = json.isObject(entry) ? entry : {};
  if (typeof url !== "string" || LOOPBACK.test(url) || hasToken(url, headers)) return [];
  return [
    `${name}: the gateway cannot sign in to a server. If this one asks for it, put a token into its "headers" in ${copy}, or run unwrap and wrap with --except ${name}.`,
  ];
}

function hasToken(url: string, headers: unknown): boolean {
  const names = Object.keys(json.isObject(headers) ? headers : {});
  return names.some((name) => SECRET_NAME.test(name)) || secretsIn([["", url]]).length > 0;
}

const LOOPBACK = /^https?:\/\/(?:localhost|127\.|\[::1\])/iu;
