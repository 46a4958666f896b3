import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { json } from "../../../../src/internal.ts";
import type { ClientFile, ServerGroup } from "./client-file.ts";
import { filtersIn } from "../configuration.ts";
import { SECRET_NAME, secretsIn } from "../../../mcp/src/secrets.ts";

/** A server in a client's file, and the name of the gateway's entry there. */
export interface RuledEntry {
  readonly name: string;
  readonly group: ServerGroup;
  readonly gateway: string;
}

/**
 * Says which rule of the client names the server and would not apply once the gateway is in front of it, and what
 * to change. Undefined if there is none.
 */
export function ruleAgainst(client: ClientFile, entry: RuledEntry): string | undefined {
  return ofClaudeCode(client, entry) ?? ofList(client, entry);
}

/** Claude Code calls a tool `mcp__SERVER__TOOL` in its rules and hooks. */
function ofClaudeCode({ file }: ClientFile, { name, group, gateway }: RuledEntry) {
  if (![".mcp.json", ".claude.json"].includes(basename(file))) return undefined;
  for (const settings of settingsFor(file, group)) {
    const read = readJson(settings);
    const rules = [
      ...textsAt(read, ["permissions", "deny"]),
      ...textsAt(read, ["permissions", "ask"]),
    ];
    const rule = [...rules, ...matchersIn(read)].find((one) => namesServer(one, name));
    if (rule !== undefined) {
      const start = `mcp__${asInTools(name)}__`;
      const renamed = rule.replaceAll(start, `mcp__${asInTools(gateway)}__`);
      const isOfTool = rule.includes(start) && !/__(?:\.?\*)?\)?$/u.test(rule);
      const change = isOfTool ? `Write ${renamed} there` : "Remove it, if it is not needed,";
      return `The rule ${rule} in ${settings} would no longer apply to it. ${change} and run wrap again.`;
    }
    if (
      textsAt(read, ["disabledMcpjsonServers"]).includes(name) &&
      basename(file) === ".mcp.json"
    ) {
      return turnedOff("disabledMcpjsonServers", settings);
    }
  }
  return undefined;
}

/** Lists beside the servers that turn some of them off: of Claude Code for a project, of Gemini CLI for all. */
function ofList({ file, text }: ClientFile, { name }: RuledEntry): string | undefined {
  const read: unknown = parse(text);
  const projects = Object.values(objectAt(read, "projects"));
  const lists: readonly (readonly [string, readonly string[]])[] = [
    [
      "disabledMcpServers",
      [read, ...projects].flatMap((one) => textsAt(one, ["disabledMcpServers"])),
    ],
    ["excludeMCPServers", textsAt(read, ["excludeMCPServers"])],
    ["mcp.excluded", textsAt(read, ["mcp", "excluded"])],
  ];
  const [key] = lists.find(([, names]) => names.includes(name)) ?? [];
  if (key !== undefined) return turnedOff(key, file);
  const [allowing, allowed] = allowedIn(read);
  if (allowed.length === 0 || allowed.includes(name)) return undefined;
  return `"${allowing}" in ${file} does not have it. Add it there and run wrap again.`;
}

/** Says that the client would not start the gateway. */
export function noteOnAllowed({ file, text }: ClientFile, gateway: string): readonly string[] {
  const [key, allowed] = allowedIn(parse(text));
  if (allowed.length === 0 || allowed.includes(gateway)) return [];
  return [
    `Add "${gateway}" to "${key}" in ${file}: the client starts no server that it does not have.`,
  ];
}

/** The servers that Gemini CLI may start, and the key of that list, which is empty for all. */
function allowedIn(read: unknown): readonly [key: string, names: readonly string[]] {
  const older = textsAt(read, ["allowMCPServers"]);
  return older.length > 0
    ? ["allowMCPServers", older]
    : ["mcp.allowed", textsAt(read, ["mcp", "allowed"])];
}

function turnedOff(key: string, file: string): string {
  return `"${key}" in ${file} turns it off. Remove it there and run wrap again.`;
}

/** Files of Claude Code with rules for the group's servers. Those of the user apply in each project. */
function settingsFor(file: string, { project }: ServerGroup): readonly string[] {
  const isOfUser = basename(file) === ".claude.json";
  const others = isOfUser ? Object.keys(objectAt(readJson(file), "projects")) : [dirname(file)];
  const folders = project === undefined ? others : [project];
  const home = isOfUser ? dirname(file) : homedir();
  const names = folders.flatMap((folder) =>
    ["settings.json", "settings.local.json"].map((name) => join(folder, ".claude", name)),
  );
  return [join(home, ".claude", "settings.json"), ...names];
}

function matchersIn(settings: unknown): readonly string[] {
  const groups = Object.values(objectAt(settings, "hooks")).flat();
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

function readJson(file: string): unknown {
  return existsSync(file)
    ? parse(readFileSync(file, "utf8"), [], { allowTrailingComma: true })
    : {};
}

function objectAt(value: unknown, key: string): Readonly<Record<string, unknown>> {
  const found: unknown = json.isObject(value) ? value[key] : undefined;
  return json.isObject(found) ? found : {};
}

function textsAt(value: unknown, path: readonly string[]): readonly string[] {
  let found = value;
  for (const key of path) found = json.isObject(found) ? found[key] : undefined;
  return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
}

/** Returns what a user should know about a server that the gateway is put in front of, a sentence or two each. */
export function notesOn(name: string, entry: unknown, copy: string): readonly string[] {
  return [...notesOnAddress(name, entry, copy), ...notesOnTools(name, entry, copy)];
}

/** Keys that let tools run without a question: Roo, Cline and Kiro, Gemini CLI. */
const APPROVALS = ["alwaysAllow", "autoApprove", "trust"];

function notesOnTools(name: string, entry: unknown, copy: string): readonly string[] {
  const filters = Object.keys(filtersIn(entry)).map(
    (key) => `${name}: its "${key}" applies behind the gateway, too; change it in ${copy}.`,
  );
  const { ...all } = json.isObject(entry) ? entry : {};
  const approvals = APPROVALS.flatMap((key) => {
    const value = all[key];
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0))
      return [];
    const isAll = value === true || (Array.isArray(value) && value.includes("*"));
    const what = isAll ? "all its tools" : "tools of it";
    const caution = isAll ? ", which allows those of all servers behind it" : "";
    const line = `"${key}": ${JSON.stringify(value)}`;
    return [
      `${name}: the client asks again before it runs ${what}. To change that, write ${line} into the gateway's entry${caution}.`,
    ];
  });
  return [...filters, ...approvals];
}

function notesOnAddress(name: string, entry: unknown, copy: string): readonly string[] {
  const { url, type, headers } = json.isObject(entry) ? entry : {};
  if (typeof url !== "string") return [];
  const isSse = type === undefined && /\/sse\/?(?:[?#]|$)/u.test(url);
  return [
    ...(LOOPBACK.test(url) || hasToken(url, headers)
      ? []
      : [
          `${name}: the gateway cannot sign in to a server. If this one asks for it, put a token into its "headers" in ${copy}, or run unwrap and wrap with --except ${name}.`,
        ]),
    ...(isSse
      ? [
          `${name}: it has no "type", and its address ends with /sse. The gateway tries streamable HTTP, then SSE, as clients do.`,
        ]
      : []),
  ];
}

function hasToken(url: string, headers: unknown): boolean {
  const names = Object.keys(json.isObject(headers) ? headers : {});
  return names.some((name) => SECRET_NAME.test(name)) || secretsIn([["", url]]).length > 0;
}

const LOOPBACK = /^https?:\/\/(?:localhost|127\.|\[::1\])/iu;
