import { asSchema, dynamicTool, jsonSchema } from "@ai-sdk/provider-utils";
import type { JSONSchema7 } from "ai";
import type {
  CallToolRequestParams,
  ContentBlock,
  Prompt,
  Resource,
  ResourceTemplateType,
  Tool,
} from "@modelcontextprotocol/server";
import { ByrefError, messageOf } from "../../../src/errors.ts";
import { fitScalars } from "./servers/fit-scalars.ts";
import { json, shortHash, withTimeLimit } from "../../../src/internal.ts";
import {
  finderTool,
  acceptableSchema,
  policies,
  type wraps,
  toolCalls,
} from "../../../src/internal-tool.ts";
import { policyOf } from "./servers/server-rules.ts";
import { textsFor } from "./json-text.ts";
import { isOwn, type OwnTool } from "./own-tools.ts";
import type { Upstream } from "./servers/upstream.ts";
import * as limits from "./gateway-limits.ts";

/** A tool as a client sees it, and how it is called: a server's, the gateway's own, or another one of this process. */
export interface OfferedTool {
  readonly definition: Tool;
  readonly wrapped: wraps.WrappedTool;
  readonly from?: ToolOfServer;
  readonly own?: OwnTool;
}

/** Wraps tools that run in this process, by their names. */
export type LocalTools = (
  wrap: wraps.WrapOptions,
) => Promise<ReadonlyMap<string, wraps.WrappedTool>>;

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

interface OfferingOptions {
  readonly wrap: wraps.WrapOptions;
  readonly local: ReadonlyMap<string, wraps.WrappedTool>;
  readonly own: readonly OwnTool[];
  readonly names: NameTools;
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
  const names = options.names(given).values();
  const next = () => names.next().value ?? "";
  const tools = await Promise.all([
    ...local.map((tool) => localTool(next(), tool)),
    ...listed.map((from) =>
      // A tool that cannot be offered leaves the others alone.
      serversTool(next(), from, options).catch((error: unknown) =>
        from.upstream.logOnce(`its tool ${from.tool.name} is left out. ${messageOf(error)}`),
      ),
    ),
    ...options.own.map((tool) => ownTool(tool, options.wrap)),
  ]);
  return new Map(tools.flatMap((tool) => (tool ? [[tool.definition.name, tool]] : [])));
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
  const wrapped = await toolCalls.wrapTool(name, runnable, {
    ...wrap,
    policies: { [name]: policyOf(upstream.server, tool.name) },
    textFor: textsFor(schema, wrap.store),
  });
  const inputSchema = await shownSchema(wrapped);
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

async function localTool(name: string, wrapped: wraps.WrappedTool): Promise<OfferedTool> {
  const { description } = wrapped.shown;
  const inputSchema = await shownSchema(wrapped);
  const described = typeof description === "string" ? { description } : {};
  return { definition: { name, ...described, inputSchema }, wrapped };
}

async function ownTool(tool: OwnTool, wrap: wraps.WrapOptions): Promise<OfferedTool> {
  const wrapped = await toolCalls.wrapRuntimeTool(tool, wrap);
  const { name, description, meta: _meta } = tool;
  const inputSchema = await shownSchema(wrapped);
  const readOnly = tool.effects === undefined && tool.writes === undefined;
  const annotations = { readOnlyHint: readOnly, openWorldHint: false };
  const definition = { name, description, inputSchema, annotations, ...(_meta && { _meta }) };
  return { definition, wrapped, own: tool };
}

async function shownSchema({ shown }: wraps.WrappedTool): Promise<Tool["inputSchema"]> {
  return (await asSchema(shown.inputSchema).jsonSchema) as Tool["inputSchema"];
}

interface OfferedPrompt {
  readonly upstream: Upstream;
  readonly item: Prompt;
  readonly shown: string;
}

/** The prompts of all servers. A name that occurs twice is `server__name` for all but the first. */
export function offeredPrompts(servers: AllServers) {
  let names: NameTools | undefined;
  let known: Promise<readonly OfferedPrompt[]> | undefined;
  /** Asks all servers. */
  const list = () => (known = listed());
  return { list, find };

  /** Asks the servers only if the prompt was not in their last lists. */
  async function find(name: string): Promise<OfferedPrompt | undefined> {
    const named = ({ shown }: OfferedPrompt) => shown === name;
    return (await known)?.find(named) ?? (await list()).find(named);
  }

  async function listed(): Promise<readonly OfferedPrompt[]> {
    const found = await itemsOf(servers, (upstream) => upstream.prompts());
    names ??= lastingNames(servers.upstreams.map(({ server }) => server.name));
    const all = names(
      found.map(({ upstream, item: { name } }) => ({ server: upstream.server.name, name })),
    );
    return found.map((one, index) => ({ ...one, shown: all[index] ?? one.item.name }));
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
export function offeredResources(servers: AllServers) {
  const owners = new Map<string, Upstream>();
  const templateOwners = new Map<string, Upstream>();
  return { list, templates, find, addressOf, withAddress };

  /** Asks all servers. */
  async function list(): Promise<readonly Resource[]> {
    const found = await itemsOf(servers, (upstream) => upstream.resources());
    return found
      .filter(({ item }) => !isOwn(item.uri))
      .map(({ upstream, item }) => ({ ...item, uri: claimed(item.uri, upstream, owners) }));
  }

  async function templates(): Promise<readonly ResourceTemplateType[]> {
    const found = await itemsOf(servers, (upstream) => upstream.resourceTemplates());
    return found
      .filter(({ item }) => !isOwn(item.uriTemplate))
      .map(({ upstream, item }) => ({
        ...item,
        uriTemplate: claimed(item.uriTemplate, upstream, templateOwners),
      }));
  }

  /**
   * Finds the server that has listed the address, or has the template for it with the most characters of its own;
   * without any, the only server. Asks the servers only if none has listed it so far.
   */
  async function find(uri: string): Promise<FoundResource | undefined> {
    const prefixed = inServer(uri);
    if (prefixed !== undefined || isOwn(uri)) return prefixed;
    if (!owners.has(uri)) await Promise.all([list(), templates()]);
    const upstream = ownerOf(uri);
    return upstream && { upstream, uri };
  }

  /** Returns the address under which clients know a server's resource. */
  function addressOf({ uri, upstream }: FoundResource): string {
    return shown(uri, upstream, ownerOf(uri));
  }

  /** Returns a content of a server's result with the address under which the client can read it. */
  function withAddress(part: ContentBlock, upstream: Upstream): ContentBlock {
    // An address that no list has is the server's own: what one server says is no claim on what others have.
    const at = (uri: string) => (isOwn(uri) ? uri : addressOf({ upstream, uri }));
    if (part.type === "resource_link") return { ...part, uri: at(part.uri) };
    if (part.type !== "resource") return part;
    return { ...part, resource: { ...part.resource, uri: at(part.resource.uri) } };
  }

  function ownerOf(uri: string): Upstream | undefined {
    const owner = owners.get(uri);
    if (owner !== undefined) return owner;
    const fitting = [...templateOwners.keys()].filter(
      // Any characters fit each expression: the server itself refuses what does not. Linear.
      (one) => one === uri || policies.fitsName(one.replaceAll(EXPRESSION, "*"), uri),
    );
    const [closest] = fitting.toSorted((a, b) => ownChars(b) - ownChars(a));
    if (closest !== undefined) return templateOwners.get(closest);
    const [only, ...others] = servers.upstreams;
    return others.length === 0 ? only : undefined;
  }

  function inServer(uri: string): FoundResource | undefined {
    const [, name, own = ""] = IN_SERVER.exec(uri) ?? [];
    const upstream = servers.upstreams.find(
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

function ownChars(template: string): number {
  return template.replaceAll(EXPRESSION, "").length;
}

interface AllServers {
  readonly upstreams: readonly Upstream[];
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

export interface Named {
  readonly server: string;
  readonly name: string;
  /** True for a tool of this process, which is no server's. */
  readonly isLocal?: true;
}

/** Returns a unique name for each, in order. */
export type NameTools = (all: readonly Named[]) => readonly string[];

/**
 * Returns a function that names tools, each as it was named before: a name must not come to mean another server's tool.
 * The first of a name keeps it. The others are `server__name`, and so are names that a reader could take for the
 * gateway's or another server's, and those with unusual characters. Names are the same if they differ in case or
 * punctuation only, because clients replace characters. A name that is too long ends in a digest of it.
 *
 * `servers`: all of them. A name that begins with one of them and `__` is that server's.
 */
export function lastingNames(servers: readonly string[] = []): NameTools {
  const given = new Map<string, string>();
  const used = new Set<string>();
  return (all) =>
    all.map((one) => {
      const key = JSON.stringify([one.server, one.name, one.isLocal]);
      const name = given.get(key) ?? uniqueName(one, servers, used);
      given.set(key, name);
      return name;
    });
}

/** `used`: the keys of the names that are given. Adds the name's. */
function uniqueName(named: Named, servers: readonly string[], used: Set<string>): string {
  const { server, name } = named;
  const own = shortened(name);
  const isFree = !used.has(keyOf(own)) && !isReserved(named, servers);
  // A server that is named like the gateway does not look like it either.
  const prefix = looksOwn(server) ? "server_" : "";
  const wanted = isFree ? own : shortened(`${prefix}${server}__${name}`);
  let unique = wanted;
  for (let count = 2; used.has(keyOf(unique)); count++) unique = shortened(`${wanted}_${count}`);
  used.add(keyOf(unique));
  return unique;
}

/** A name that is printed as it is read. Others get their server's name in front. */
const PLAIN = /^[\w./:-]+$/u;

function isReserved({ server, name }: Named, servers: readonly string[]): boolean {
  return (
    !PLAIN.test(name) ||
    looksOwn(name) ||
    servers.some((other) => other !== server && keyOf(name).startsWith(`${keyOf(other)}__`))
  );
}

/** What clients leave of a name: they replace what is no letter, digit or underscore, and some ignore case. */
function keyOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^\w]/gu, "_");
}

/**
 * True for the names of the gateway's own tools, also of those that it does not offer here, and for what a reader takes
 * for one at a glance: in other case, with other punctuation, in the plural, with digits for letters.
 */
function looksOwn(name: string): boolean {
  return OWN.test(name.toLowerCase().replaceAll(/[^a-z\d]/gu, ""));
}

const OWN =
  /^byref|^(?:[l1i][i1l]st|read|ed[i1l]t|query|save|sh[o0]w)var[i1l]ab[l1i]es?$|^(?:f[i1l]nd|ca[l1i]{2})t[o0]{2}[l1i]s?$/u;

function shortened(name: string): string {
  if (name.length <= limits.maxGatewayNameChars) return name;
  const end = `_${shortHash(name)}`;
  return name.slice(0, limits.maxGatewayNameChars - end.length) + end;
}

type Offered = ReadonlyMap<string, OfferedTool>;

/** Adds the tool that finds those that are not the gateway's own. Its description changes with the list only. */
export async function withFinder(offered: Offered, wrap: wraps.WrapOptions): Promise<Offered> {
  const others = [...offered.values()].filter(({ own }) => own === undefined);
  const known = others.map(({ definition: { name, description = "", inputSchema } }) => ({
    name,
    description,
    inputSchema,
  }));
  const how = `Call them with ${CALL_TOOL.name}.`;
  const finder = finderTool({ name: "find_tools", how, known, maxChars: limits.maxFinderChars });
  return new Map([...offered, [finder.name, await ownTool(finder, wrap)]]);
}

/** The tool that calls those which are not listed. It has no result of its own: see `calledBy`. */
export const CALL_TOOL = {
  name: "call_tool",
  description: "Call a tool that find_tools shows, with arguments that fit its inputSchema.",
  inputSchema: {
    type: "object",
    properties: { name: { type: "string" }, arguments: { type: "object" } },
    required: ["name"],
  },
} as const satisfies Tool;

/**
 * Returns the call that a call of `call_tool` stands for. Some clients send the arguments as a JSON text. Throws
 * `invalid_tool_input`.
 */
export function calledBy(params: CallToolRequestParams): CallToolRequestParams {
  const { name, arguments: given, ...others } = params.arguments ?? {};
  const input = typeof given === "string" ? json.jsonIn(given) : (given ?? {});
  const [unknown] = Object.keys(others);
  if (typeof name !== "string") throw wrong('"name" is not the name of a tool');
  if (name === CALL_TOOL.name) throw wrong("it does not call itself");
  if (unknown !== undefined) throw wrong(`"${unknown}" belongs into "arguments"`);
  if (!json.isObject(input)) throw wrong('"arguments" is not an object');
  return { ...params, name, arguments: input };
}

function wrong(why: string): ByrefError {
  const message = `${CALL_TOOL.name} takes {"name": "…", "arguments": {…}}: ${why}.`;
  return new ByrefError("invalid_tool_input", message);
}
