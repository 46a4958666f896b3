import {
  type Client,
  type ConnectOptions,
  type InitializeResult,
  isSpecType,
  type JSONRPCMessage,
  type PriorDiscovery,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  specTypeSchemas,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { characters, json, withTimeLimit } from "../../../../src/internal.ts";
import { isUnreachable, reasonOf } from "./server-errors.ts";
import type { ServerConfiguration } from "../configuration.ts";
import { maxDepth } from "../../../../src/limits.ts";
import * as limits from "../gateway-limits.ts";
import { mcpFetch, withoutNulls } from "./mcp-fetch.ts";

/** Each server has its own headers: nothing of the client's request is passed on. */
export function transportInWorker({ address }: ServerConfiguration, kind?: "sse") {
  if (!("url" in address)) throw new Error("A Worker starts no programs.");
  if (kind === "sse") throw new Error("A Worker knows no transport of 2024-11-05.");
  const requestInit = { headers: { ...address.headers } };
  return new StreamableHTTPClientTransport(new URL(address.url), { requestInit, fetch: mcpFetch });
}

interface Attempts {
  /** Returns a new transport to the server for each attempt; `"sse"` is that of 2024-11-05. */
  readonly open: (kind?: "sse") => Transport;
  readonly isProgram: boolean;
  /** True for a server with the transport of 2024-11-05, which knows no newer version. */
  readonly isSse?: boolean;
  /** Aborted when the server is given up: no other attempt is made. */
  readonly signal: AbortSignal;
  /** What it said to an earlier connection. */
  readonly greeting?: Greeting | undefined;
}

/** What a server says when it is connected, as plain data with which the next connection needs no request for it. */
export interface Greeting {
  readonly prior: PriorDiscovery;
  /** Of a server of before 2026-07-28 that has no sessions. */
  readonly initialized?: InitializeResult;
}

/** Connects a client to a server. Rejects with a sentence that says why that failed. */
export async function connectTo(
  client: Client,
  { open, isProgram, isSse = false, signal, greeting }: Attempts,
): Promise<void> {
  const startMs = Date.now();
  let transport: Transport | undefined;
  const connect = async (options: ConnectOptions, kind?: "sse") => {
    transport = open(kind);
    if (greeting?.initialized !== undefined) repeatGreeting(transport, greeting.initialized);
    return client.connect(transport, options);
  };
  // The library waits for the stream without a limit.
  const connectBySse = () => withTimeLimit(limits.gatewayConnectMs, () => connect(OLD, "sse"));
  const end = async () => transport?.close().catch(() => undefined);
  try {
    if (isSse) return await connectBySse();
    if (greeting !== undefined) return await connect({ ...TIMING, prior: greeting.prior });
    await connect(TIMING)
      .catch(async (error: unknown) => {
        // An old server may fail at the request for its version. It is then asked again without that request. A network
        // error says nothing about whether the server has understood the request.
        const isRefused = error instanceof SdkError && REFUSALS.has(error.code);
        const isUndecided = isRefused && (isProgram || !isUnreachable(error.cause));
        if (!isUndecided || signal.aborted) throw error;
        await connect(OLD);
      })
      .catch(async (error: unknown) => {
        // A server that refuses a message at its address may have the transport of 2024-11-05, as the protocol says.
        if (isProgram || !isRefusal(error) || signal.aborted) throw error;
        await end();
        // The first reason is that of the transport that the server should have.
        await connectBySse().catch(() => {
          throw error;
        });
      });
  } catch (error) {
    void end();
    throw new Error(reasonFor(error), { cause: error });
  }

  function reasonFor(error: unknown): string {
    if (signal.aborted) return "The connection was ended before the server answered.";
    const isEnded = error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
    return isEnded && isProgram
      ? "Its program ended without an answer; what it wrote is in the gateway's log."
      : reasonOf(error, Date.now() - startMs);
  }
}

/** Returns what the server of a connected client has said. */
export function greetingOf(client: Client): Greeting {
  const discover = client.getDiscoverResult();
  if (discover !== undefined) return { prior: { kind: "modern", discover } };
  const legacy = { prior: { kind: "legacy" } } as const;
  const { sessionId } = client.transport ?? {};
  const protocolVersion = client.getNegotiatedProtocolVersion();
  const [capabilities, serverInfo] = [client.getServerCapabilities(), client.getServerVersion()];
  if (sessionId !== undefined || !protocolVersion || !capabilities || !serverInfo) return legacy;
  const instructions = client.getInstructions();
  const others = json.compact({ instructions });
  return { ...legacy, initialized: { protocolVersion, capabilities, serverInfo, ...others } };
}

/** Answers the library's greeting in the server's place: without sessions nothing depends on it. */
function repeatGreeting(transport: Transport, result: InitializeResult): void {
  const send = transport.send.bind(transport);
  transport.send = async (message, options) => {
    if (!("method" in message)) return send(message, options);
    if (message.method === "notifications/initialized") return;
    if (message.method !== "initialize" || !("id" in message)) return send(message, options);
    transport.onmessage?.({ jsonrpc: "2.0", id: message.id, result });
  };
}

const TIMING = { timeout: limits.gatewayGreetingMs };
const OLD = { ...TIMING, prior: { kind: "legacy" } } as const;

/** True for a response that refuses the method or the message, and not the client. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status >= 400 && error.status < 500 && !OF_CLIENT.has(error.status);
}

/** Not signed in, not allowed, too many requests. */
const OF_CLIENT: ReadonlySet<number> = new Set([401, 403, 429]);

/** Servers refuse what they do not know also with 401 or 403, whatever the headers. */
const REFUSALS: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.EraNegotiationFailed,
  SdkErrorCode.ClientHttpAuthentication,
  SdkErrorCode.ClientHttpForbidden,
]);

/** An item of a server's list that is not offered. */
export interface LeftOut {
  readonly kind: "tool" | "prompt" | "resource" | "template";
  /** Its name or address, or its place in the list. */
  readonly name: string;
  readonly why: string;
}

interface List {
  readonly kind: LeftOut["kind"];
  readonly key: string;
  readonly type: "Tool" | "Prompt" | "Resource" | "ResourceTemplate";
}

const LISTS: Readonly<Record<string, List>> = {
  "tools/list": { kind: "tool", key: "tools", type: "Tool" },
  "prompts/list": { kind: "prompt", key: "prompts", type: "Prompt" },
  "resources/list": { kind: "resource", key: "resources", type: "Resource" },
  "resources/templates/list": {
    kind: "template",
    key: "resourceTemplates",
    type: "ResourceTemplate",
  },
};

/** Takes items out of a server's lists that the library would refuse together with all others of the list. */
export function listSieve(onLeftOut: (item: LeftOut) => void) {
  const all = new Map<string, LeftOut>();
  return { leftOut: () => [...all.values()], sift };

  /** Adds an item, which stays until the list is requested again. */
  function leaveOut({ kind, name: written, why }: LeftOut): void {
    const name = characters.clip(written, limits.maxGatewayNameChars);
    const item = { kind, name, why };
    all.set(`${kind} ${name}`, item);
    onLeftOut(item);
  }

  /** Returns the transport, which the library has not yet opened. */
  function sift(transport: Transport): Transport {
    const asked = new Map<unknown, (result: ServerResult) => ServerResult>();
    const pages = new Map<List, number>();
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!("method" in message && "id" in message)) return send(message, options);
      const { id, method, params } = message;
      const list = LISTS[method];
      if (method === "tools/call") asked.set(id, readableResult);
      if (list !== undefined) {
        const page = params?.cursor === undefined ? 1 : (pages.get(list) ?? 0) + 1;
        pages.set(list, page);
        for (const [key, { kind }] of all) if (page === 1 && kind === list.kind) all.delete(key);
        asked.set(id, (result) => sifted(result, { list, page, cursor: params?.cursor }));
      }
      return send(message, options);
    };
    // The library calls this handler before it reads the message.
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!("id" in message) || "method" in message) return;
      const read = asked.get(message.id);
      asked.delete(message.id);
      if (read !== undefined && "result" in message) message.result = read(message.result);
    };
    return transport;
  }

  function sifted(result: ServerResult, { list, page, cursor }: Page): ServerResult {
    const { [list.key]: items, nextCursor, ...others } = result;
    if (!Array.isArray(items)) return result;
    const kept = items.map(list.kind === "tool" ? readableTool : keep).filter((item, index) => {
      const why = refusalOf(item, list);
      if (why !== undefined) leaveOut({ kind: list.kind, name: nameOf(item, index), why });
      return why === undefined;
    });
    // Some servers end a list with null or an empty text, or give the same page for each cursor.
    const isEnd = !isText(nextCursor) || nextCursor === "" || nextCursor === cursor;
    const isLast = !isEnd && page === MAX_PAGES;
    const why = `The list has more than ${MAX_PAGES} pages.`;
    if (isLast) leaveOut({ kind: list.kind, name: "after the last page", why });
    return { ...others, [list.key]: kept, ...(!isEnd && !isLast && { nextCursor }) };
  }
}

type ServerResult = Readonly<Record<string, unknown>>;

interface Page {
  readonly list: List;
  /** From 1. */
  readonly page: number;
  readonly cursor: unknown;
}

/** As the library has it by default, which throws all pages away at the next. */
const MAX_PAGES = 64;
const keep = (item: unknown) => item;

/** Returns a tool without what the library would refuse it for, and without its output: results are handles. */
function readableTool(tool: unknown): unknown {
  if (!json.isObject(tool)) return tool;
  const { inputSchema, annotations, outputSchema: _outputSchema, ...members } = tool;
  const hints = Object.entries(json.isObject(annotations) ? annotations : {}).filter(
    ([key, value]) =>
      key === "title" ? isText(value) : !key.endsWith("Hint") || typeof value === "boolean",
  );
  return {
    ...Object.fromEntries(
      Object.entries(members).filter(([key, value]) => MEMBERS.get(key)?.(value) ?? true),
    ),
    inputSchema: json.isObject(inputSchema) ? readableSchema(inputSchema) : inputSchema,
    ...(hints.length > 0 && { annotations: Object.fromEntries(hints) }),
  };
}

const isText = (value: unknown) => typeof value === "string";
const MEMBERS = new Map<string, (value: unknown) => boolean>([
  ["title", isText],
  ["description", isText],
  ["_meta", json.isObject],
]);

function readableSchema({ properties, ...schema }: ServerResult): ServerResult {
  return { type: "object", ...schema, properties: json.isObject(properties) ? properties : {} };
}

/** Gives contents the form that they should have, because the library else refuses all of a result. */
function readableResult(result: ServerResult): ServerResult {
  const read = withoutNulls(result);
  const { content, structuredContent, toolResult } = read;
  if (content === undefined && (structuredContent ?? toolResult) !== undefined) return read;
  return { ...read, content: [content ?? []].flat().map(readableContent) };
}

/** A text that is none, a link without a name, data with line breaks or as a URL. */
function readableContent(content: unknown): unknown {
  if (!json.isObject(content) || !isText(content.type))
    return { type: "text", text: isText(content) ? content : JSON.stringify(content) };
  const { type, text, data, uri } = content;
  switch (type) {
    case "text":
      return isText(text) ? content : { ...content, text: JSON.stringify(text) ?? "" };
    case "image":
      return isText(data) ? { ...content, data: data.replace(/^data:[^,]*,|\s+/gu, "") } : content;
    case "resource_link":
      return "name" in content ? content : { ...content, name: uri };
    default:
      return content;
  }
}

function nameOf(item: unknown, index: number): string {
  const { name, uri, uriTemplate } = json.isObject(item) ? item : {};
  const found = [name, uri, uriTemplate].find((one) => typeof one === "string" && one !== "");
  return typeof found === "string" ? found : `number ${index + 1}`;
}

function refusalOf(item: unknown, { type }: List): string | undefined {
  // Of an item: its own level, and those of its schema.
  if (!isShallow(item, maxDepth + 1)) return `It has more than ${maxDepth} levels.`;
  if (isSpecType[type](item)) return undefined;
  const { issues: [issue] = [] } = specTypeSchemas[type]["~standard"].validate(item);
  return [issue?.path?.join("."), issue?.message].filter(Boolean).join(": ");
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
}
