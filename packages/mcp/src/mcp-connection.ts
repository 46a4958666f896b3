import {
  type CallToolResult,
  createMCPClient,
  type InitializeResult,
  type ListToolsResult,
  type MCPClient,
  MCPClientError,
} from "@ai-sdk/mcp";
import type { JSONSchema7 } from "ai";
import { mcpFetchWith, restoreDigits } from "./mcp-fetch.ts";
import { textOfResult } from "./result-value.ts";
import * as limits from "../../../src/limits.ts";
import { ByrefError, messageOf } from "../../../src/errors.ts";
import { version } from "../../../src/version.ts";
import { formsOf, redact, secretsIn } from "./secrets.ts";
import { characters, json, withTimeLimit } from "../../../src/internal.ts";
import { acceptableSchema, type mcpRules } from "../../../src/internal-tool.ts";

const MAX_PAGES = 100;
/** From this MCP version on there are no sessions and no handshake to reuse. */
const FIRST_STATELESS_VERSION = "2026-07-28";

/** A tool as its server lists it. */
export type McpDefinition = ListToolsResult["tools"][number] & {
  /** The schema of its input as a model is shown it. */
  readonly shown: JSONSchema7;
};

export interface McpList {
  readonly tools: readonly McpDefinition[];
  /** What the server lists beside them. Empty if that is nothing. */
  readonly leftOut: string;
}

/** The handshake of one connection as plain data, for the next connection to reuse. */
export interface McpHandshake {
  /** Unset or true: first ask the server whether it supports a version without sessions. */
  readonly protocolVersionDiscovery?: boolean;
  /** Set for a server without sessions: a call then needs no handshake. */
  readonly initialInitializeResult?: InitializeResult;
}

export interface McpConnectionOptions {
  readonly handshake: McpHandshake;
  readonly signal: AbortSignal;
  /** Called when a call's failure suggests that the server has changed. */
  readonly onStale: () => void;
}

/**
 * A connection to an MCP server for one turn. It is opened by the first list or call, shared by the turn's
 * calls, and ended by `close`. Its errors reveal neither the server's headers nor its address.
 */
export class McpConnection {
  readonly #endpoint: mcpRules.McpServer;
  readonly #options: McpConnectionOptions;
  #handshake: McpHandshake;
  #client: Promise<MCPClient> | undefined;
  #isClosed = false;
  /** Names of tools of the list that cannot be used. */
  readonly #unusable: string[] = [];

  constructor(endpoint: mcpRules.McpServer, options: McpConnectionOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#handshake = options.handshake;
  }

  get handshake(): McpHandshake {
    return this.#handshake;
  }

  /** Returns the server's tools, at most `maxMcpTools`. Rejects if the server cannot be reached. */
  async list(signal: AbortSignal): Promise<McpList> {
    const client = await this.#connected(signal);
    const tools: McpDefinition[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES && tools.length <= limits.maxMcpTools; page++) {
      const params = cursor === undefined ? {} : { params: { cursor } };
      const listed = await client.listTools({ ...params, options: { signal } });
      // Some servers give the same page for each cursor.
      for (const tool of listed.tools) {
        const { name, inputSchema } = tool;
        if (seen.has(name)) continue;
        seen.add(name);
        if (isUsable(inputSchema)) {
          const shown = acceptableSchema(inputSchema as JSONSchema7);
          tools.push({ ...tool, shown: { properties: {}, ...shown, type: "object" } });
        } else this.#unusable.push(name);
      }
      cursor = listed.nextCursor === cursor ? undefined : listed.nextCursor;
      if (cursor === undefined) break;
    }
    const unusable = this.#unusable.splice(0);
    const isCut = cursor !== undefined || tools.length > limits.maxMcpTools;
    const leftOut = [
      ...(unusable.length === 0 ? [] : [`tools without a usable schema: ${unusable.join(", ")}`]),
      ...(isCut ? [`tools after the first ${Math.min(tools.length, limits.maxMcpTools)}`] : []),
    ].join("; ");
    return { tools: tools.slice(0, limits.maxMcpTools), leftOut };
  }

  /**
   * Calls a tool. Throws `tool_failed` with the server's message, shortened. `signal` cancels the call on the server.
   */
  async call(
    definition: McpDefinition,
    input: Readonly<Record<string, unknown>>,
    signal: AbortSignal = this.#options.signal,
  ): Promise<CallToolResult> {
    const request = { name: definition.name, arguments: input, options: { signal } };
    try {
      const result = await this.#call(definition, request);
      if (result.isError !== true) return result;
      const message = reasonIn(result);
      if (UNKNOWN_TOOL.test(characters.clip(message, limits.maxReasonChars)))
        this.#options.onStale();
      throw this.#failure(message);
    } catch (error) {
      if (error instanceof ByrefError) throw error;
      if (!signal.aborted) this.#options.onStale();
      // The library says no more.
      const isUnread = messageOf(error) === "Failed to parse server response";
      const why = isUnread ? "Its answer does not follow MCP." : messageOf(error);
      throw this.#failure(`MCP server ${this.#endpoint.name}: ${why}`);
    }
  }

  /** Ends the session, if there is one. Never rejects. The connection cannot be used afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => undefined);
    await client?.close().catch(() => undefined);
  }

  /** Replaces the endpoint's secrets in a text. */
  redact(text: string): string {
    const { url, headers = {} } = this.#endpoint;
    return redact(text, formsOf(secretsIn([["", url], ...Object.entries(headers)])));
  }

  async #call(
    definition: McpDefinition,
    request: Parameters<MCPClient["callTool"]>[0],
  ): Promise<CallToolResult> {
    const connecting = this.#connected();
    const client = await connecting;
    try {
      return await callTool(client, definition, request);
    } catch (error) {
      const status = MCPClientError.isInstance(error) ? error.statusCode : undefined;
      if (status !== 400 && status !== 404) throw error;
      // The call has not run: the session has expired, or the server has changed. A parallel call may have
      // noticed first.
      if (this.#client === connecting) {
        this.#client = undefined;
        this.#handshake = {};
      }
      return callTool(await this.#connected(), definition, request);
    }
  }

  #connected(signal = this.#options.signal): Promise<MCPClient> {
    if (this.#isClosed) return Promise.reject(this.#failure("The turn of this tool is over."));
    const connect = (limited: AbortSignal) => this.#connect(limited);
    this.#client ??= withTimeLimit(limits.connectMs, connect, signal).catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(signal: AbortSignal): Promise<MCPClient> {
    const { url, headers } = this.#endpoint;
    let hasSession = false;
    const client = await createMCPClient({
      clientName: "byref",
      version,
      transport: {
        type: "http",
        url,
        headers: { ...headers },
        fetch: mcpFetchWith((result) => readable(result, this.#unusable)),
        onSessionIdChange: (id) => {
          hasSession ||= id !== undefined;
        },
      },
      initializationOptions: { signal },
      ...this.#handshake,
    });
    const { initializeResult } = client;
    const isLegacy = initializeResult.protocolVersion < FIRST_STATELESS_VERSION;
    this.#handshake = {
      ...(isLegacy ? { protocolVersionDiscovery: false } : {}),
      ...(isLegacy && !hasSession ? { initialInitializeResult: initializeResult } : {}),
    };
    return client;
  }

  #failure(message: string): ByrefError {
    return new ByrefError("tool_failed", this.redact(message));
  }
}

/**
 * Makes a result readable for the library, which else refuses all of it: its members that are null are left out, and
 * contents get the form that they should have. In a list of tools, members of another type are left out, and tools that
 * it cannot read, whose names are added to `leftOut`.
 */
function readable(result: Readonly<Record<string, unknown>>, leftOut: string[]): typeof result {
  const { tools, nextCursor, ...others } = result;
  if (!Array.isArray(tools)) return readableResult(result);
  const read = tools.flatMap((tool: unknown) => {
    const { name, inputSchema, annotations, ...members } = json.isObject(tool) ? tool : {};
    if (!isText(name) || !json.isObject(inputSchema)) {
      leftOut.push(isText(name) ? name : "one without a name");
      return [];
    }
    const kept = Object.entries(members).filter(
      ([key, value]) => MEMBERS.get(key)?.(value) ?? true,
    );
    const hints = Object.entries(json.isObject(annotations) ? annotations : {}).filter(
      ([key, value]) =>
        key === "title" ? isText(value) : !key.endsWith("Hint") || typeof value === "boolean",
    );
    return {
      name,
      inputSchema: json.isObject(inputSchema.properties)
        ? inputSchema
        : { ...inputSchema, properties: {} },
      ...Object.fromEntries(kept),
      annotations: Object.fromEntries(hints),
    };
  });
  // Some servers end a list with null or an empty text.
  const isMore = isText(nextCursor) && nextCursor !== "";
  return { ...others, tools: read, ...(isMore && { nextCursor }) };
}

/** Returns the same object if nothing has to change: its text then goes on as it is. */
function readableResult(result: Readonly<Record<string, unknown>>): typeof result {
  const members = Object.entries(result).filter(([, value]) => value !== null);
  const kept = members.length < Object.keys(result).length ? Object.fromEntries(members) : result;
  const { content, structuredContent, toolResult } = kept;
  if (content === undefined && (structuredContent ?? toolResult) !== undefined) return kept;
  const read = [content ?? []].flat().map(readableContent);
  const isSame = Array.isArray(content) && read.every((one, at) => one === content[at]);
  return isSame ? kept : { ...kept, content: read };
}

/** A text that is none, a link without a name, data with line breaks or as a URL. */
function readableContent(content: unknown): unknown {
  if (!json.isObject(content) || !isText(content.type))
    return { type: "text", text: isText(content) ? content : JSON.stringify(content) };
  const { type, text, data, uri } = content;
  switch (type) {
    case "text":
      return isText(text) ? content : { ...content, text: JSON.stringify(text) ?? "" };
    case "image": {
      const plain = isText(data) ? data.replace(/^data:[^,]*,|\s+/gu, "") : data;
      return plain === data ? content : { ...content, data: plain };
    }
    case "resource_link":
      return "name" in content ? content : { ...content, name: uri };
    default:
      return content;
  }
}

const isText = (value: unknown) => typeof value === "string";
const MEMBERS = new Map<string, (value: unknown) => boolean>([
  ["title", isText],
  ["description", isText],
  ["outputSchema", json.isObject],
  ["_meta", json.isObject],
]);

/** One schema without end must not remove all other tools from a turn. */
function isUsable(schema: object): boolean {
  return (
    isShallow(schema, limits.maxDepth) && JSON.stringify(schema).length <= limits.maxPieceChars
  );
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1));
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

const UNKNOWN_TOOL = /-32602|unknown tool/i;

async function callTool(
  client: MCPClient,
  definition: McpDefinition,
  request: Parameters<MCPClient["callTool"]>[0],
): Promise<CallToolResult> {
  // From the definition, the client knows which arguments a server without sessions expects as headers.
  client.toolsFromDefinitions({ tools: [definition] });
  return restoreDigits(await client.callTool(request));
}
