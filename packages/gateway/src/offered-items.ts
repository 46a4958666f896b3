import { asSchema, dynamicTool, jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import type { Prompt, Resource, ResourceTemplateType, Tool } from "@modelcontextprotocol/server";
import { messageOf } from "../../../src/errors.ts";
import { fitScalars } from "../../mcp/src/fit-scalars.ts";
import { json, withTimeLimit } from "../../../src/internal.ts";
import {
  type WrapOptions,
  type WrappedTool,
  acceptableSchema,
  fitsName,
  wrapRuntimeTool,
  wrapTool,
} from "../../../src/internal-tool.ts";
import { policyOf } from "../../mcp/src/server-rules.ts";
import { textsFor } from "./json-text.ts";
import { type OwnTool, isOwn } from "./own-tools.ts";
import { LastingNames } from "./unique-names.ts";
import type { Upstream } from "./upstream.ts";
import * as limits from "./gateway-limits.ts";

/** A tool as a client sees it, and how it is called. */
export interface OfferedTool {
  readonly definition: Tool;
  readonly wrapped: WrappedTool;
  /** Undefined for a tool of this process. */
  readonly from?: ToolOfServer;
  /** The gateway's own tool. */
  readonly own?: OwnTool;
  /** True for a tool of this process that is not the gateway's own, such as an agent's. */
  readonly isLocal?: true;
}

/** Wraps tools that run in this process, by their names. */
export type LocalTools = (wrap: WrapOptions) => Promise<ReadonlyMap<string, WrappedTool>>;

/** A tool as its server lists it. */
export interface ToolOfServer {
  readonly upstream: Upstream;
  readonly tool: Tool;
}

/** Calls a server's tool; the result is the value to save. */
type CallServer = (
  from: ToolOfServer,
  input: Readonly<Record<string, unknown>>,
  toolCallId: string,
) => Promise<unknown>;

export interface OfferingOptions {
  readonly wrap: WrapOptions;
  readonly local: ReadonlyMap<string, WrappedTool>;
  readonly own: readonly OwnTool[];
  readonly names: LastingNames;
  readonly call: CallServer;
}

/**
 * Returns the tools by the names that a client sees: those of this process, the servers' in their order, then
 * the gateway's own, whose names nobody else can have.
 */
export async function offeredTools(
  listed: readonly ToolOfServer[],
  options: OfferingOptions,
): Promise<ReadonlyMap<string, OfferedTool>> {
  const local = [...options.local.values()];
  const given = [
    ...local.map(({ name }) => ({ server: "agent", name, isLocal: true as const })),
    ...listed.map(({ upstream, tool }) => ({ server: upstream.server.name, name: tool.name })),
  ];
  const names = options.names.of(given).values();
  const next = () => names.next().value ?? "";
  const tools = await Promise.all([
    ...local.map((tool) => localTool(next(), tool)),
    ...listed.map((from) => readableTool(next(), from, options)),
    ...options.own.map((tool) => ownTool(tool, options.wrap)),
  ]);
  const offered = tools.filter((tool) => tool !== undefined);
  return new Map(offered.map((tool) => [tool.definition.name, tool]));
}

/** Undefined for a tool whose schema cannot be read: the others are offered. */
async function readableTool(name: string, from: ToolOfServer, options: OfferingOptions) {
  try {
    return await serversTool(name, from, options);
  } catch (error) {
    const { upstream, tool } = from;
    upstream.leaveOut({ kind: "tool", name: tool.name, why: messageOf(error) });
    return undefined;
  }
}

async function serversTool(
  name: string,
  from: ToolOfServer,
  { wrap, call }: OfferingOptions,
): Promise<OfferedTool> {
  const { upstream, tool } = from;
  // Results are handles, and tasks are calls like any other.
  const { outputSchema: _outputSchema, execution: _execution, ...definition } = tool;
  const schema = acceptableSchema(tool.inputSchema as JSONSchema7);
  const runnable = dynamicTool({
    // The server checks its own inputs.
    inputSchema: jsonSchema(schema, {
      validate: (input) => ({ success: true, value: fitScalars(input, schema) }),
    }),
    execute: (input, { toolCallId }) => call(from, json.isObject(input) ? input : {}, toolCallId),
  });
  const wrapped = await wrapTool(name, runnable, {
    ...wrap,
    policies: { [name]: policyOf(upstream.server, tool.name) },
    textFor: textsFor(schema, wrap.store),
  });
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const meta = definition._meta && { _meta: withoutView(definition._meta) };
  return { definition: { ...definition, ...meta, name, inputSchema }, wrapped, from };
}

/** A view of a server could use everything behind the gateway. Keeps whom the tool is for. */
function withoutView(meta: NonNullable<Tool["_meta"]>): NonNullable<Tool["_meta"]> {
  const text = JSON.stringify(meta, (key, value: unknown) =>
    key.endsWith("resourceUri") ? undefined : value,
  );
  // Only members are missing.
  return JSON.parse(text) as NonNullable<Tool["_meta"]>;
}

async function localTool(name: string, wrapped: WrappedTool): Promise<OfferedTool> {
  const { description } = wrapped.shown;
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const described = typeof description === "string" ? { description } : {};
  return { definition: { name, ...described, inputSchema }, wrapped, isLocal: true };
}

export async function ownTool(tool: OwnTool, wrap: WrapOptions): Promise<OfferedTool> {
  const wrapped = await wrapRuntimeTool(tool, wrap);
  const inputSchema = (await shownSchema(wrapped)) as Tool["inputSchema"];
  const readOnly = tool.effects === undefined && tool.writes === undefined;
  const annotations = { readOnlyHint: readOnly, openWorldHint: false };
  return {
    definition: {
      name: tool.name,
      description: tool.description,
      inputSchema,
      annotations,
      ...(tool.meta && { _meta: tool.meta }),
    },
    wrapped,
    own: tool,
  };
}

async function shownSchema({ shown }: WrappedTool) {
  return asSchema(shown.inputSchema).jsonSchema;
}

export interface OfferedPrompt {
  readonly upstream: Upstream;
  readonly item: Prompt;
  /** The name that the client sees. */
  readonly shown: string;
}

/** The prompts of all servers, under the names that they had before. */
export class OfferedPrompts {
  readonly #servers: AllServers;
  #names: LastingNames | undefined;
  #known: Promise<readonly OfferedPrompt[]> | undefined;

  constructor(servers: AllServers) {
    this.#servers = servers;
  }

  /** Asks all servers. */
  list(): Promise<readonly OfferedPrompt[]> {
    this.#known = this.#list();
    return this.#known;
  }

  /** Asks the servers only if the prompt was not in their last lists. */
  async find(name: string): Promise<OfferedPrompt | undefined> {
    const named = ({ shown }: OfferedPrompt) => shown === name;
    return (await this.#known)?.find(named) ?? (await this.list()).find(named);
  }

  async #list(): Promise<readonly OfferedPrompt[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.prompts());
    const servers = this.#servers.upstreams.map(({ server }) => server.name);
    this.#names ??= new LastingNames(servers);
    const names = this.#names.of(
      found.map(({ upstream, item: { name } }) => ({ server: upstream.server.name, name })),
    );
    return found.map((one, index) => ({ ...one, shown: names[index] ?? one.item.name }));
  }
}

/** A resource of a server, by the address that the server knows. */
export interface FoundResource {
  readonly upstream: Upstream;
  readonly uri: string;
}

/**
 * The resources and templates of all servers. An address belongs to the first server that offered it; on another
 * server it is `byref://servers/NAME/ADDRESS`. The gateway's own addresses are left out, and so are views: a client
 * lets a view use all that its server offers, which would be everything behind the gateway.
 */
export class OfferedResources {
  readonly #servers: AllServers;
  readonly #owners = new Map<string, Upstream>();
  readonly #templateOwners = new Map<string, Upstream>();

  constructor(servers: AllServers) {
    this.#servers = servers;
  }

  /** Asks all servers. */
  async list(): Promise<readonly Resource[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.resources());
    return found
      .filter(({ item }) => !isOwn(item.uri))
      .map(({ upstream, item }) => ({ ...item, uri: claimed(item.uri, upstream, this.#owners) }));
  }

  /** Asks all servers. */
  async templates(): Promise<readonly ResourceTemplateType[]> {
    const found = await itemsOf(this.#servers, (upstream) => upstream.resourceTemplates());
    return found
      .filter(({ item }) => !isOwn(item.uriTemplate))
      .map(({ upstream, item }) => {
        const uriTemplate = claimed(item.uriTemplate, upstream, this.#templateOwners);
        return { ...item, uriTemplate };
      });
  }

  /**
   * Finds the server that has listed the address, or has the template for it with the most characters of its
   * own. Asks the servers only if none has listed it so far.
   */
  async find(uri: string): Promise<FoundResource | undefined> {
    const prefixed = this.#inServer(uri);
    if (prefixed !== undefined || isOwn(uri)) return prefixed;
    if (!this.#owners.has(uri)) await Promise.all([this.list(), this.templates()]);
    const upstream = this.#ownerOf(uri);
    return upstream && { upstream, uri };
  }

  /** Returns the address under which clients know a server's resource. */
  addressOf({ uri, upstream }: FoundResource): string {
    return shown(uri, upstream, this.#ownerOf(uri));
  }

  #ownerOf(uri: string): Upstream | undefined {
    return this.#owners.get(uri) ?? this.#byTemplate(uri);
  }

  #byTemplate(uri: string): Upstream | undefined {
    const fitting = [...this.#templateOwners.keys()].filter((one) => fitsTemplate(one, uri));
    const [closest] = fitting.toSorted((a, b) => ownChars(b) - ownChars(a));
    return closest === undefined ? undefined : this.#templateOwners.get(closest);
  }

  #inServer(uri: string): FoundResource | undefined {
    const [, name, own = ""] = IN_SERVER.exec(uri) ?? [];
    const upstream = this.#servers.upstreams.find(
      ({ server }) => encodeURIComponent(server.name) === name,
    );
    return upstream && !isOwn(own) ? { upstream, uri: own } : undefined;
  }
}

const IN_SERVER = /^byref:\/\/servers\/([^/]+)\/(.+)$/su;

/** Returns the address that clients see. It belongs to the server if it was nobody's. */
function claimed(address: string, upstream: Upstream, owners: Map<string, Upstream>): string {
  const owner = owners.get(address) ?? upstream;
  owners.set(address, owner);
  return shown(address, upstream, owner);
}

function shown(address: string, upstream: Upstream, owner: Upstream | undefined): string {
  if (owner === upstream) return address;
  return `byref://servers/${encodeURIComponent(upstream.server.name)}/${address}`;
}

const EXPRESSION = /\{[^{}]*\}/gu;

/** Takes any characters for each expression: the server itself refuses what does not fit. Linear. */
function fitsTemplate(template: string, uri: string): boolean {
  return template === uri || fitsName(template.replaceAll(EXPRESSION, "*"), uri);
}

function ownChars(template: string): number {
  return template.replaceAll(EXPRESSION, "").length;
}

export interface AllServers {
  readonly upstreams: readonly Upstream[];
  /** Tells a person. */
  log(line: string): void;
}

/** Lists something at all servers, in their order. A server that does not answer in time has none. */
async function itemsOf<Item>(
  { upstreams, log }: AllServers,
  list: (upstream: Upstream) => Promise<readonly Item[]>,
): Promise<readonly { readonly upstream: Upstream; readonly item: Item }[]> {
  const lists = await Promise.all(
    upstreams.map(async (upstream) => {
      try {
        const listed = await withTimeLimit(limits.gatewayListMs, () => list(upstream));
        return listed.map((item) => ({ upstream, item }));
      } catch (error) {
        log(messageOf(error));
        return [];
      }
    }),
  );
  return lists.flat();
}
