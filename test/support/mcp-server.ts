import type { IncomingMessage, ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../src/value/json.ts";
import { startLoopback, textOf } from "./loopback.ts";

export interface OfferedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema?: Tool["inputSchema"];
  readonly annotations?: Tool["annotations"];
  readonly answer: (input: JsonObject, signal: AbortSignal) => Result | Promise<Result>;
}

export type Result = CallToolResult;

type McpCall = { readonly tool: string; readonly input: JsonObject };

interface McpRequest {
  readonly method: string;
  readonly rpc: string | undefined;
  readonly headers: IncomingMessage["headers"];
}

export interface McpServerOptions {
  /** Issues and requires sessions. Default: false. */
  readonly sessions?: boolean;
  /** Answers with JSON instead of a stream. */
  readonly json?: boolean;
  /** Tools per page of the list. Default: all. */
  readonly pageSize?: number;
}

export type RunningMcpServer = Awaited<ReturnType<typeof startMcpServer>>;

/** Starts an MCP server, built with the official SDK, over streamable HTTP on the loopback address. */
export async function startMcpServer(
  offered: readonly OfferedTool[] = [],
  options: McpServerOptions = {},
) {
  const state = new State(offered, options);
  const server = await startLoopback((request, response) => state.handle(request, response));
  return {
    ...server,
    url: `${server.url}/mcp`,
    /** Tool calls received, oldest first. */
    calls: state.calls,
    requests: state.requests,
    /** Open sessions. */
    sessions: state.sessions,
    offer: (tools: readonly OfferedTool[]) => void (state.offered = tools),
    /** Passes each later request to the handler first, which returns true if it answered the request. */
    intercept: (handler: State["intercept"]) => void (state.intercept = handler),
    /** Forgets every session, as a restart does. */
    forget: () => state.sessions.clear(),
  };
}

class State {
  readonly calls: McpCall[] = [];
  readonly requests: McpRequest[] = [];
  readonly sessions = new Map<string, StreamableHTTPServerTransport>();
  offered: readonly OfferedTool[];
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #options: McpServerOptions;

  constructor(offered: readonly OfferedTool[], options: McpServerOptions) {
    this.offered = offered;
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.intercept(request, response)) return;
    const text = await textOf(request);
    const body = text === "" ? undefined : (JSON.parse(text) as { method?: string });
    const { method = "", headers } = request;
    this.requests.push({ method, rpc: body?.method, headers });
    const transport = await this.#transportFor(request, body?.method === "initialize");
    if (transport === undefined) {
      const error = { code: -32_000, message: "No such session" };
      response.writeHead(404, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", error, id: null }));
      return;
    }
    await transport.handleRequest(request, response, body);
  }

  async #transportFor(request: IncomingMessage, isInitialize: boolean) {
    const { sessions: keepsSessions = false, json = false } = this.#options;
    const id = request.headers["mcp-session-id"];
    if (keepsSessions && !isInitialize) return this.sessions.get(String(id));
    const transport = new StreamableHTTPServerTransport({
      enableJsonResponse: json,
      ...(keepsSessions
        ? {
            sessionIdGenerator: () => crypto.randomUUID(),
            onsessioninitialized: (id: string) => void this.sessions.set(id, transport),
            onsessionclosed: (id: string) => void this.sessions.delete(id),
          }
        : {}),
    });
    // The SDK's class does not satisfy its own interface under exactOptionalPropertyTypes.
    await this.#server().connect(transport as Parameters<Server["connect"]>[0]);
    return transport;
  }

  #server(): Server {
    const server = new Server({ name: "test", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
      const start = Number(params?.cursor ?? 0);
      const end = start + (this.#options.pageSize ?? this.offered.length);
      const tools = this.offered.slice(start, end).map(({ answer: _answer, ...tool }) => ({
        inputSchema: { type: "object" as const },
        ...tool,
      }));
      return { tools, ...(end < this.offered.length ? { nextCursor: String(end) } : {}) };
    });
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
      const tool = this.offered.find(({ name }) => name === params.name);
      // The wording of the SDK's own McpServer.
      if (tool === undefined) return failure(`MCP error -32602: Tool ${params.name} not found`);
      // The arguments were parsed from JSON.
      const input = (params.arguments ?? {}) as JsonObject;
      this.calls.push({ tool: params.name, input });
      return tool.answer(input, signal);
    });
    return server;
  }
}

export const textResult = (text: string): Result => ({ content: [{ type: "text", text }] });

export function structured(value: JsonObject): Result {
  return { content: [{ type: "text", text: "see structuredContent" }], structuredContent: value };
}

export function failure(text: string): Result {
  return { ...textResult(text), isError: true };
}
