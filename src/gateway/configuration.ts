import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";
import * as z from "zod";
import { ByrefError } from "../errors.ts";
import { compact } from "../value/json.ts";

/** How one server's tools are treated. All are optional. */
const rulesSchema = z.object({
  /** A result is saved, but a model never sees more of it than type and count. */
  sealed: z.boolean().optional(),
  /** Default: false, because a server may pass on data from anywhere. */
  trusted: z.boolean().optional(),
  /** Calls need a person's approval: all, or those that pass on what is not trusted. */
  approval: z.union([z.boolean(), z.literal("untrusted")]).optional(),
  /** Results up to so many characters pass as they are. */
  inlineChars: z.int().min(0).max(1_000).optional(),
});

const byrefSchema = rulesSchema.extend({
  /** By patterns of tool names, in which `*` matches any characters; later ones take precedence. */
  tools: z.record(z.string(), rulesSchema).optional(),
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

const fileSchema = z
  .looseObject({
    mcpServers: z.record(z.string(), serverSchema).optional(),
    servers: z.record(z.string(), serverSchema).optional(),
  })
  .transform(({ mcpServers, servers }) => mcpServers ?? servers);

export type ServerRules = z.infer<typeof byrefSchema>;
export type ToolRules = z.infer<typeof rulesSchema>;

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
export interface ServerConfiguration {
  readonly name: string;
  readonly address: ServerAddress;
  readonly rules: ServerRules;
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
