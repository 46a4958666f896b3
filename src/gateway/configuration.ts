import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
import { type RuledServer, toolRules } from "../tool/mcp/tool-rules.ts";
import { compact } from "../value/json.ts";

const byrefSchema = toolRules.extend({ tools: z.record(z.string(), toolRules).optional() });

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

const fileSchema = z
  .looseObject({
    mcpServers: z.record(z.string(), serverSchema).optional(),
    servers: z.record(z.string(), serverSchema).optional(),
  })
  .transform(({ mcpServers, servers }) => mcpServers ?? servers);

/** A program that is started, or the address of a running server. */
export type ServerAddress =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      /** The transport of 2024-11-05. Default: streamable HTTP. */
      readonly isSse?: true;
    };

/** A server of a configuration. */
export interface ServerConfiguration extends RuledServer {
  readonly address: ServerAddress;
  /** Why the server cannot be used: the others are. */
  readonly problem?: string;
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the servers of a client's configuration: `{"mcpServers": {…}}` (Claude, Cursor) or `{"servers": {…}}`
 * (VS Code), JSON with comments. `${NAME}`, `${env:NAME}` and `${NAME:-default}` are replaced from the
 * environment. Throws `bad_configuration` with the line for text that is not such a file.
 */
export function readConfiguration(
  text: string,
  environment: Environment = {},
): readonly ServerConfiguration[] {
  const errors: ParseError[] = [];
  const read: unknown = parse(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error !== undefined) {
    const line = text.slice(0, error.offset).split("\n").length;
    throw bad(`Line ${line} is not JSON: ${printParseErrorCode(error.error)}.`);
  }
  const { success, data, error: issues } = fileSchema.safeParse(read);
  if (!success) throw bad(z.prettifyError(issues));
  if (data === undefined) throw bad('It has neither "mcpServers" nor "servers".');
  return Object.entries(data)
    .filter(([, { disabled }]) => disabled !== true)
    .map(([name, entry]) => serverFrom(name, entry, environment));
}

function serverFrom(
  name: string,
  { command, args = [], env = {}, cwd, url, type, headers = {}, byref: rules = {} }: Entry,
  environment: Environment,
): ServerConfiguration {
  const missing = new Set<string>();
  const filled = (text: string) => fill(text, environment, missing);
  const filledAll = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, filled(value)]));
  const address: ServerAddress =
    command === undefined
      ? {
          url: filled(url ?? ""),
          headers: filledAll(headers),
          ...(type === "sse" && { isSse: true as const }),
        }
      : {
          command: filled(command),
          args: args.map(filled),
          env: filledAll(env),
          ...compact({ cwd: cwd === undefined ? undefined : filled(cwd) }),
        };
  return { name, address, rules, ...compact({ problem: problemOf(address, missing) }) };
}

type Entry = z.infer<typeof serverSchema>;

function problemOf(address: ServerAddress, missing: ReadonlySet<string>): string | undefined {
  if (missing.size > 0) return `It needs the environment variable ${[...missing].join(", ")}.`;
  if ("command" in address) return undefined;
  if (address.url === "") return 'It has neither "command" nor "url".';
  if (!URL.canParse(address.url)) return 'Its "url" is not a URL.';
  const { protocol } = new URL(address.url);
  return protocol === "https:" || protocol === "http:"
    ? undefined
    : `It cannot be reached by ${protocol}`;
}

/** Names of other forms, such as `${input:key}` and `${workspaceFolder}`, are the client's: they stay. */
function fill(text: string, environment: Environment, missing: Set<string>): string {
  return text.replaceAll(VARIABLE, (written, name: string, otherwise: string | undefined) => {
    const value = environment[name] ?? otherwise;
    if (value === undefined) missing.add(name);
    return value ?? written;
  });
}

/** Names of environment variables are in capitals by convention, which tells them from `${workspaceFolder}`. */
const VARIABLE = /\$\{(?:env:)?([A-Z_][A-Z0-9_]*)(?::-([^}]*))?\}/gu;

function bad(message: string): ByrefError {
  return new ByrefError("bad_configuration", `The configuration cannot be used. ${message}`);
}
