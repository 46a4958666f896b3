import { type ParseError, parse, printParseErrorCode } from "jsonc-parser";
import * as z from "zod";
import { ByrefError } from "../../../src/errors.ts";
import { encoding, json } from "../../../src/internal.ts";
import { mcpRules } from "../../../src/internal-tool.ts";
import type { RuledServer } from "./servers/server-rules.ts";

const byrefSchema = mcpRules.toolRules.extend({
  tools: z.record(z.string(), mcpRules.toolRules).optional(),
  secrets: z.array(z.string()).optional(),
});

const serverSchema = z.looseObject({
  command: z.string().min(1).optional(),
  args: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  url: z.string().optional(),
  type: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  disabled: z.boolean().optional(),
  byref: byrefSchema.optional(),
});

/** Keys with which only the client can start a server, sign in or keep it in a sandbox. */
const KEYS_OF_CLIENTS = ["envFile", "headersHelper", "oauth", "auth", "sandbox", "sandboxEnabled"];

export interface ProgramAddress {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The program gets the gateway's whole environment. Default: what every program needs, and `env`. */
  readonly inherits?: true;
}

export type ServerAddress =
  | ProgramAddress
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The transport of 2024-11-05. Default: streamable HTTP. */
      readonly isSse?: true;
    };

export interface ServerConfiguration extends RuledServer {
  readonly address: ServerAddress;
  /** Names of variables and headers that are secrets, besides those that look like it. */
  readonly secrets?: readonly string[];
  /** Default: all its tools are offered. */
  readonly filter?: ToolFilter;
  /** Why the server cannot be used: the others are. */
  readonly problem?: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the servers of a client's configuration: `{"mcpServers": {…}}` (Claude, Cursor) or `{"servers": {…}}` (VS
 * Code), JSON with comments; with `project`, those that Claude Code has for that folder. `${NAME}`, `${env:NAME}` and
 * `${NAME:-default}` are replaced from the environment, and what the client passed on there; a command, an argument or
 * a folder that begins with `~/` is in the home folder. A server that cannot be used has a problem. Throws
 * `bad_configuration` with the line for text that is not such a file.
 */
export function readConfiguration(
  text: string,
  environment: Environment = {},
  project?: string,
): readonly ServerConfiguration[] {
  return readGateway(text, environment, project).servers;
}

/** Reads also how the tools are offered, as `"byref": {"tools": …}` beside the servers says. Throws as above. */
export function readGateway(text: string, environment: Environment, project?: string) {
  const read = parsed(text);
  const all = project === undefined ? read : at(read, "projects", project);
  const given = at(all, "mcpServers") ?? at(all, "servers");
  if (given === undefined) throw bad('It has neither "mcpServers" nor "servers".');
  // A parser makes `__proto__` the prototype.
  if (!json.isObject(given) || Object.getPrototypeOf(given) !== Object.prototype)
    throw bad('Its servers are not an object of servers by name, which cannot be "__proto__".');
  const servers = Object.entries(given).flatMap(([name, value]) =>
    serversFrom(name, value, environment),
  );
  const { success, data } = offerSchema.safeParse(at(read, "byref") ?? {});
  if (!success) throw bad('"byref" beside its servers is not {"tools": "list"} or "search".');
  return { servers, tools: data.tools };
}

/** All tools are listed, or only the gateway's own with two that find and call the others. */
export type ToolOffer = "list" | "search";

const offerSchema = z.strictObject({ tools: z.enum(["list", "search"]).optional() });

function parsed(text: string): unknown {
  const errors: ParseError[] = [];
  const source = withoutMark(text);
  const read: unknown = parse(source, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) throw bad(syntaxMessage(source, error));
  return read;
}

/** Says where a text is not JSON, and what is wrong there. */
export function syntaxMessage(text: string, { offset, error }: ParseError): string {
  const lines = text.slice(0, offset).split("\n");
  const column = (lines.at(-1)?.length ?? 0) + 1;
  // "ValueExpected"
  const words = printParseErrorCode(error).replaceAll(
    /(?<=[a-z])[A-Z]/gu,
    (letter) => ` ${letter}`,
  );
  return `Line ${lines.length}, column ${column} is not JSON: ${words.toLowerCase()}.`;
}

/** Without the byte order mark that some editors on Windows write. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** Returns the reason why the gateway cannot be put in front of an entry of a configuration. Undefined if it can. */
export function unusableBecause(value: unknown): string | undefined {
  const { success, data, error } = serverSchema.safeParse(value);
  if (!success) return `It is not a server: ${z.prettifyError(error).replaceAll(/\s+/gu, " ")}.`;
  const key = KEYS_OF_CLIENTS.find((name) => data[name] !== undefined && data[name] !== false);
  if (key !== undefined)
    return `Only the client can use its "${key}"; without it, wrap takes the server in.`;
  // Without it, more tools could be offered than a person allowed.
  const [filter] = Object.entries(filtersIn(value)).find(([, names]) => !isTexts(names)) ?? [];
  if (filter !== undefined) return `Its "${filter}" is no list of names of tools.`;
  const { command, args = [], url } = data;
  if (command !== undefined) {
    return isGateway([command, ...args]) ? "It is a gateway itself." : undefined;
  }
  if (url === undefined) return 'It has neither "command" nor "url".';
  return url.includes("${") ? undefined : problemOfUrl(url);
}

function isGateway(words: readonly string[]): boolean {
  const program = words.findIndex((word) =>
    /(?:^|[\\/])(?:byref(?:@[^\\/]*)?|byref[\\/]dist[\\/]cli[\\/]main\.js)$/u.test(word),
  );
  return program >= 0 && words[program + 1] === "mcp";
}

/** Returns what is at the path in objects; undefined if there is nothing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce((one, key) => (json.isObject(one) ? one[key] : undefined), value);
}

/** True for an entry that a person has turned off, in the words of several clients. */
function isTurnedOff(value: unknown): boolean {
  return (
    at(value, "disabled") === true ||
    at(value, "enabled") === false ||
    at(value, "isActive") === false
  );
}

function serversFrom(
  name: string,
  value: unknown,
  environment: Environment,
): readonly ServerConfiguration[] {
  if (isTurnedOff(value)) return [];
  const { data = {} } = serverSchema.safeParse(value);
  const { command, args = [], env = {}, cwd, url = "", type, headers = {}, byref = {} } = data;
  const { secrets, ...rules } = byref;
  const missing = new Set<string>();
  const filled = (text: string) => fill(text, environment, missing);
  const { HOME: home = environment.USERPROFILE } = environment;
  const located = (text: string) =>
    filled(text).replace(/^~(?=$|[\\/])/u, (tilde) => home ?? tilde);
  const filledAll = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, filled(text)]));
  const address: ServerAddress =
    command === undefined
      ? {
          url: filled(url),
          headers: filledAll(headers),
          ...(type === "sse" && { isSse: true as const }),
        }
      : {
          command: located(command),
          args: args.map(located),
          env: filledAll(env),
          ...(cwd !== undefined && { cwd: located(cwd) }),
        };
  const problem = unusableBecause(value) ?? problemOf(address, missing);
  const others = { filter: filterOf(value), secrets, problem };
  return [{ name, address, rules, ...json.compact(others) }];
}

function problemOf(address: ServerAddress, missing: ReadonlySet<string>): string | undefined {
  if (missing.size > 0) return `It needs the environment variable ${[...missing].join(", ")}.`;
  return "command" in address ? undefined : problemOfUrl(address.url);
}

function problemOfUrl(url: string): string | undefined {
  if (!URL.canParse(url)) return 'Its "url" is not a URL.';
  const { protocol } = new URL(url);
  return protocol === "https:" || protocol === "http:"
    ? undefined
    : `It cannot be reached by ${protocol}`;
}

/** Adds the names of environment variables that are not set. Other placeholders without a value stay. */
function fill(text: string, environment: Environment, missing: Set<string>): string {
  return text.replaceAll(PLACEHOLDER, (written, inner: string) => {
    const [, prefix, name = "", otherwise] = VARIABLE.exec(inner) ?? [];
    const own = Object.hasOwn(environment, name) ? environment[name] : undefined;
    const ofClient = OF_CLIENTS.test(inner) ? environment[passedAs(inner)] : undefined;
    const value = ofClient ?? own ?? (otherwise && fill(otherwise, environment, missing));
    // `${file}` may be a shell's or another client's.
    const isNeeded = prefix !== undefined || IN_CAPITALS.test(name);
    if (value === undefined && isNeeded) missing.add(name);
    return value ?? written;
  });
}

const VARIABLE = /^(env:)?([A-Za-z_]\w*)(?::-(.*))?$/su;
const IN_CAPITALS = /^[A-Z_][A-Z0-9_]*$/u;

function bad(message: string): ByrefError {
  return new ByrefError("bad_configuration", `The configuration cannot be used. ${message}`);
}

/** What stands for another text: `${…}`, also `${NAME:-${OTHER}}`. */
const PLACEHOLDER = /\$\{((?:[^{}]|\{[^{}]*\})+)\}/gu;

/** Variables that clients fill in from their own files: `input:key`, `workspaceFolder`, `env:NAME`. */
const OF_CLIENTS =
  /^(?:(?:input|config|command|workspaceFolder):(?!-).+|env:(?!.*:-).+|workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|\/|cwd|execPath)$/su;

/**
 * Returns the environment variables with which a client passes its own variables in the texts to the gateway:
 * `{BYREF_INPUT_KEY: "${input:key}"}`. A client leaves variables that it does not know unchanged.
 */
export function clientVariablesIn(texts: readonly string[]): Readonly<Record<string, string>> {
  const all = texts.flatMap((text) => [...text.matchAll(PLACEHOLDER)]);
  const passed = all.flatMap(([written, name = ""]) =>
    OF_CLIENTS.test(name) ? [[passedAs(name), written]] : Object.entries(clientVariablesIn([name])),
  );
  return Object.fromEntries(passed);
}

/** Names must differ in more than case, because Windows ignores case. */
function passedAs(name: string): string {
  if (name.startsWith("env:")) return name.slice("env:".length);
  const isPlain = /^[a-z]+(?:[A-Z][a-z]+)*(?::[a-z][a-z0-9_]*)?$/u.test(name);
  const letters = name.replaceAll(/[^a-z0-9]+/giu, "_").toUpperCase();
  return `BYREF_${letters}${isPlain ? "" : `_${encoding.toHex(new TextEncoder().encode(name))}`}`;
}

/** Which tools of a server are offered: lists of names by the keys of a client's entry. */
export type ToolFilter = Readonly<Record<string, readonly string[]>>;

/** Roo, Kiro, Windsurf; Gemini CLI. */
const WITHOUT = ["disabledTools", "excludeTools"];
/** Gemini CLI; Copilot. */
const ONLY = ["includeTools", "tools"];

export function filtersIn(entry: unknown): Readonly<Record<string, unknown>> {
  const { ...all } = json.isObject(entry) ? entry : {};
  const keys = [...WITHOUT, ...ONLY].filter((key) => (all[key] ?? undefined) !== undefined);
  return Object.fromEntries(keys.map((key) => [key, all[key]]));
}

export function filterOf(entry: unknown): ToolFilter | undefined {
  const lists = Object.entries(filtersIn(entry)).flatMap(([key, names]) =>
    isTexts(names) ? [[key, names] as const] : [],
  );
  return lists.length === 0 ? undefined : Object.fromEntries(lists);
}

/** True for a tool that is in each list, and in none of those of tools that are left out. */
export function isAllowed(filter: ToolFilter | undefined, tool: string): boolean {
  return Object.entries(filter ?? {}).every(([key, names]) => {
    if (WITHOUT.includes(key)) return !names.includes(tool) && !names.includes("*");
    // Gemini CLI ignores what follows a name in brackets; Copilot writes a star for all.
    return names.some((name) => name === "*" || name.replace(/\(.*/su, "") === tool);
  });
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}
