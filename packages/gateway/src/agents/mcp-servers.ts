import {
  acceptableSchema,
  ownTools,
  withOwnTools,
  type mcpRules,
  type turnAgents,
} from "../../../../src/internal-tool.ts";
import { characters, json, unlessAborted, withTimeLimit } from "../../../../src/internal.ts";
import type { chosenAgents } from "../../../../src/internal-edge.ts";
import type { Effects, ToolPolicy } from "../../../../src/runtime.ts";
import * as limits from "../../../../src/limits.ts";
import { dynamicTool, jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7, ToolSet } from "ai";
import type { CallToolResult, Tool } from "@modelcontextprotocol/client";
import { ByrefError, messageOf } from "../../../../src/errors.ts";
import { ClientOfGateway } from "../client-of-gateway.ts";
import { fitScalars } from "../servers/fit-scalars.ts";
import { type Greeting, transportInWorker } from "../servers/connecting.ts";
import { type ServerResult, textOfResult, valueOfResult } from "../servers/result-value.ts";
import { redact } from "../servers/secrets.ts";
import { policyOf } from "../servers/server-rules.ts";
import { Upstream } from "../servers/upstream.ts";

/** Maximum length of a tool's name at the model providers. */
const MAX_NAME_CHARS = 64;

export interface McpTools {
  readonly tools: ToolSet;
  readonly policies: Readonly<Record<string, ToolPolicy>>;
  /** The effects of running a tool again, as declared by the server. */
  readonly effects: Readonly<Record<string, Effects>>;
  /** Ends the sessions. Never rejects. The tools cannot be called afterwards. */
  close(): Promise<void>;
}

export interface McpDirectoryOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  /** Called once for each server that is down, until it is back. */
  readonly warn?: (message: string) => void;
}

/** A tool as its server lists it. */
type McpDefinition = Tool & {
  /** The schema of its input as a model is shown it. */
  readonly shown: JSONSchema7;
};

/** Known data of a server: plain data that any request may use. */
interface KnownServer {
  readonly tools: readonly McpDefinition[];
  /** What the server lists beside them. Empty if that is nothing. */
  readonly leftOut: string;
  readonly greeting: Greeting | undefined;
  readonly freshUntil: number;
  /** 0 for a server that has answered. */
  readonly downUntil: number;
}

const STALE = { greeting: undefined, freshUntil: 0 };
const NOTHING_KNOWN: KnownServer = { ...STALE, tools: [], leftOut: "", downUntil: 0 };

/**
 * The tools and greetings of MCP servers, for the lifetime of the process. Only data is kept between turns:
 * sockets and sessions belong to one turn, because a Worker's requests must not share them, and
 * conversations must not share a session.
 */
export class McpDirectory {
  readonly #known = new Map<string, KnownServer>();
  readonly #now: () => number;
  readonly #warn: (message: string) => void;

  constructor({ now = Date.now, warn = console.warn }: McpDirectoryOptions = {}) {
    this.#now = now;
    this.#warn = warn;
  }

  /**
   * Returns the tools of the servers that respond. A tool keeps the server's own name unless another server or `taken`
   * has the same name. Never rejects. Takes at most `replyMs`, and no time while the lists are fresh.
   */
  async open(
    servers: readonly mcpRules.McpServer[],
    { taken, signal }: { readonly taken: Iterable<string>; readonly signal: AbortSignal },
  ): Promise<McpTools> {
    const offers = await Promise.all(servers.map((server) => this.#offerOf(server, signal)));
    const names = namesFor(offers, new Set(taken));
    const tools: ToolSet = {};
    const policies: Record<string, ToolPolicy> = {};
    const effects: Record<string, Effects> = {};
    for (const { server, definitions, isUp, call } of offers) {
      for (const definition of isUp ? definitions : []) {
        const name = names.get(definition) ?? definition.name;
        tools[name] = toolFrom(definition, call);
        // The settings have rules for tools only.
        const ruled = { name: server.name, rules: { tools: server.tools } };
        policies[name] = policyOf(ruled, definition.name);
        const { readOnlyHint, idempotentHint } = definition.annotations ?? {};
        effects[name] =
          readOnlyHint === true ? "none" : idempotentHint === true ? "idempotent" : "once";
      }
    }
    const close = async () => {
      await Promise.all(offers.map(({ upstream }) => upstream.close()));
    };
    return { tools, policies, effects, close };
  }

  /** Includes the last known tools of a server that is down, so that their names stay reserved. */
  async #offerOf(server: mcpRules.McpServer, signal: AbortSignal): Promise<Offer> {
    const key = JSON.stringify([server.url, server.headers]);
    const known = this.#known.get(key) ?? NOTHING_KNOWN;
    const learn = (news: Partial<KnownServer>) => {
      this.#known.set(key, { ...(this.#known.get(key) ?? NOTHING_KNOWN), ...news });
    };
    const upstream = connectionTo(server, known.greeting);
    const onStale = () => learn(STALE);
    const call: CallTool = (tool, input, stop = signal) =>
      callTool(upstream, { tool, input, signal: stop, onStale });
    const offer = { server, upstream, definitions: known.tools, call };
    if (this.#now() < known.freshUntil) return { ...offer, isUp: true };
    if (this.#now() < known.downUntil) return { ...offer, isUp: false };
    try {
      const list = () => listTools(upstream);
      const { tools, leftOut } = await withTimeLimit(limits.replyMs, list, signal);
      if (leftOut !== "" && leftOut !== known.leftOut)
        this.#warn(characters.clip(`MCP server ${server.name} is used without: ${leftOut}`, 500));
      const freshUntil = this.#now() + limits.mcpFreshMs;
      learn({ tools, leftOut, freshUntil, greeting: upstream.greeting, downUntil: 0 });
      return { ...offer, definitions: tools, isUp: true };
    } catch (error) {
      if (signal.aborted) return { ...offer, isUp: false };
      if (known.downUntil === 0) {
        this.#warn(`MCP server ${server.name} cannot be asked for its tools: ${messageOf(error)}`);
      }
      learn({ ...STALE, downUntil: this.#now() + limits.silenceMs });
      return { ...offer, isUp: false };
    }
  }
}

interface Offer {
  readonly server: mcpRules.McpServer;
  readonly upstream: Upstream;
  readonly definitions: readonly McpDefinition[];
  readonly isUp: boolean;
  readonly call: CallTool;
}

type CallTool = (
  tool: McpDefinition,
  input: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
) => Promise<CallToolResult>;

/** The connection of one turn to a server, opened by its first list or call. */
function connectionTo(
  { name, url, headers = {} }: mcpRules.McpServer,
  greeting: Greeting | undefined,
): Upstream {
  const options = { open: transportInWorker, log: () => undefined, client: new ClientOfGateway() };
  return new Upstream({ name, address: { url, headers }, rules: {} }, { ...options, greeting });
}

/** Returns the server's tools, at most `maxMcpTools`. Rejects if the server cannot be reached. */
async function listTools(upstream: Upstream): Promise<Pick<KnownServer, "tools" | "leftOut">> {
  const listed = await upstream.tools().catch((error: unknown) => {
    throw failureOf(error, upstream);
  });
  const tools: McpDefinition[] = [];
  const leftOut = upstream.status.leftOut?.map(({ name }) => name) ?? [];
  for (const tool of listed.tools) {
    const inputSchema = tool.inputSchema as JSONSchema7;
    if (tools.length === limits.maxMcpTools) {
      leftOut.push(`all after the first ${limits.maxMcpTools}`);
      break;
    }
    // One endless schema must not remove all other tools from a turn.
    if (JSON.stringify(inputSchema).length <= limits.maxPieceChars) {
      const shown = acceptableSchema(inputSchema);
      tools.push({ ...tool, shown: { properties: {}, ...shown, type: "object" } });
    } else leftOut.push(tool.name);
  }
  return { tools, leftOut: leftOut.join(", ") };
}

interface AgentCall {
  readonly tool: McpDefinition;
  readonly input: Readonly<Record<string, unknown>>;
  /** Cancels the call on the server. */
  readonly signal: AbortSignal;
  /** Called when the failure suggests that the server has changed. */
  readonly onStale: () => void;
}

/** Calls a tool. Throws `tool_failed` with the server's message. */
async function callTool(
  upstream: Upstream,
  { tool, input, signal, onStale }: AgentCall,
): Promise<CallToolResult> {
  const calling = upstream.call({ tool, input, from: { signal } });
  const result = await unlessAborted(calling, signal).catch((error: unknown) => {
    if (!signal.aborted) onStale();
    throw failureOf(error, upstream);
  });
  if (result.isError !== true) return result;
  const message = reasonIn(result);
  if (UNKNOWN_TOOL.test(characters.clip(message, limits.maxReasonChars))) onStale();
  throw new ByrefError("tool_failed", message);
}

const UNKNOWN_TOOL = /-32602|unknown tool/i;

/** Reveals neither the server's headers nor its address. */
function failureOf(error: unknown, { server: { name, address } }: Upstream): ByrefError {
  const { host, hostname } = new URL("url" in address ? address.url : "");
  const message = redact(messageOf(error), [host, hostname]);
  const isNamed = error instanceof ByrefError;
  return new ByrefError("tool_failed", isNamed ? message : `Server ${name}: ${message}`);
}

/** Returns the texts of a failure, and its structured content, unless they repeat it. */
function reasonIn(failure: CallToolResult): string {
  const text = textOfResult(failure);
  const structured = failure.structuredContent ?? null;
  if (structured === null) return text === "" ? "The tool failed and did not say why." : text;
  const written = JSON.stringify(structured);
  const [only, ...others] = json.isObject(structured) ? Object.values(structured) : [];
  const isRepeated =
    (only === text && others.length === 0) || JSON.stringify(json.jsonIn(text)) === written;
  return isRepeated ? text : `${text}\n${written}`.trim();
}

/** Assigns unique names that the model providers accept. */
function namesFor(offers: readonly Offer[], used: Set<string>): ReadonlyMap<McpDefinition, string> {
  const owners = new Map<string, number>();
  for (const { definitions } of offers) {
    for (const name of new Set(definitions.map((definition) => safeName(definition.name)))) {
      owners.set(name, (owners.get(name) ?? 0) + 1);
    }
  }
  const names = new Map<McpDefinition, string>();
  const taken = new Set(used);
  for (const { server, definitions } of offers) {
    for (const definition of definitions) {
      const own = safeName(definition.name);
      const isUnique = owners.get(own) === 1 && !taken.has(own);
      const wanted = isUnique ? own : safeName(`${server.name}_${own}`.replaceAll("-", "_"));
      let name = wanted;
      for (let count = 2; used.has(name); count++) {
        name = `${wanted.slice(0, MAX_NAME_CHARS - 4)}_${count}`;
      }
      used.add(name);
      names.set(definition, name);
    }
  }
  return names;
}

function safeName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME_CHARS);
}

function toolFrom(definition: McpDefinition, call: CallTool): ToolSet[string] {
  // Not a copy: by the list's own object, what a model is shown is kept from turn to turn.
  const { description, shown: schema } = definition;
  return dynamicTool({
    ...(description !== undefined && {
      description: characters.clip(description, limits.maxParagraphChars),
    }),
    // The server validates its own inputs.
    inputSchema: jsonSchema(schema, {
      validate: (input) => ({ success: true, value: fitScalars(input, schema) }),
    }),
    execute: async (input, { abortSignal }) =>
      wholeValueOf(await call(definition, json.isObject(input) ? input : {}, abortSignal)),
  });
}

/** Pictures and links beside structured content are kept under `_content`; its texts repeat it. */
function wholeValueOf(result: ServerResult): unknown {
  const value = valueOfResult(result);
  const { content, structuredContent } = result;
  if (value !== structuredContent || !Array.isArray(content)) return value;
  const others = content.filter((part: unknown) => !json.isObject(part) || part.type !== "text");
  if (others.length === 0) return value;
  return { ...(json.isObject(value) ? value : { structuredContent: value }), _content: others };
}

/** Caches the servers' tool lists for the lifetime of the isolate; it keeps no connections. */
const directory = new McpDirectory();

/** Adds the tools of the agent's servers, and of those in `MCP_SERVERS` that it may use, if they are available. */
export const mcpTools: chosenAgents.Equip = async (agent, { MCP_SERVERS = [] }, signal) => {
  const given = MCP_SERVERS.filter(({ agents }) => agents?.includes(agent.name) ?? true);
  const servers = [...given, ...(agent.mcpServers ?? [])];
  if (servers.length === 0) return withOwnTools(agent);
  const taken = [
    ...Object.keys(agent.tools),
    ...ownTools.runtimeToolNames,
    ...ownTools.capabilityToolNames,
  ];
  const mcp = await directory.open(servers, { taken, signal });
  const policies = Object.fromEntries(
    Object.entries(mcp.policies).map(([name, policy]) => [name, joined(policy, agent, name)]),
  );
  return {
    agent: {
      ...agent,
      tools: { ...agent.tools, ...mcp.tools },
      policies: { ...agent.policies, ...policies },
      effects: { ...mcp.effects, ...agent.effects },
      // They only encode their input as JSON.
      readonlyTools: [...(agent.readonlyTools ?? []), ...Object.keys(mcp.tools)],
    },
    close: () => mcp.close(),
  };
};

/**
 * Merges an application's policy for a server's tool over the policy in the settings. Under `server/tool` all of it
 * applies. Under a plain name, which another server's tool may get later, only what makes the policy stricter.
 */
function joined(policy: ToolPolicy, { policies = {} }: turnAgents.Agent, name: string): ToolPolicy {
  const { aliases = [] } = policy;
  const named = [name, ...aliases].flatMap((alias) => policies[alias] ?? []);
  // Not the first alias, the tool's own name: its server chooses it, and may write "other/tool".
  const merged: ToolPolicy = { ...policy, ...policies[aliases.at(-1) ?? ""] };
  const approvals = new Set([merged, ...named].map(({ approval }) => approval));
  const approval = ([true, "untrusted"] as const).find((one) => approvals.has(one));
  return {
    ...merged,
    ...json.compact({ approval }),
    ...(named.some(({ sealed }) => sealed === true) ? { sealed: true } : {}),
  };
}
