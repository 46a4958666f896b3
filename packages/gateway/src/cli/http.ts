import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  type Server,
  WebStandardStreamableHTTPServerTransport,
  hostHeaderValidationResponse,
  isInitializeRequest,
  isJSONRPCNotification,
  isJSONRPCRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
  readRequestBody,
} from "@modelcontextprotocol/server";
import * as limits from "../gateway-limits.ts";
import { messageIn } from "../servers/mcp-fetch.ts";
import { withTimeLimit } from "../../../../src/internal.ts";

/** Only programs on this machine can connect. */
const LOOPBACK = "127.0.0.1";
const PATH = "/mcp";

export interface HttpEndpoint {
  readonly url: string;
  /** Ends all connections, those with a running answer after at most `gatewayCloseMs`. */
  close(): Promise<void>;
}

/** Answers a request whose body, if there is one, has been read: the library would round its numbers. */
type Answer = (request: Request, options: { readonly parsedBody?: unknown }) => Promise<Response>;

/**
 * Serves MCP over streamable HTTP, on the loopback address. Requests that a browser sends for a website are refused by
 * their `Host` and `Origin`, because a website's name can be made to mean this machine. Rejects if the port is in use.
 */
export async function listen(handler: Answer, port: number): Promise<HttpEndpoint> {
  const listener = getRequestListener((request) => answer(request, handler), {
    overrideGlobalObjects: false,
  });
  const server = createServer(listener).listen(port, LOOPBACK);
  // Rejects with an error that comes before.
  await once(server, "listening");
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${LOOPBACK}:${actual}${PATH}`,
    close: async () => {
      const closed = once(server.close(), "close");
      const closing = withTimeLimit(limits.gatewayCloseMs, () => closed);
      await closing.catch(() => server.closeAllConnections());
    },
  };
}

async function answer(request: Request, handler: Answer): Promise<Response> {
  const foreign =
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins());
  if (foreign !== undefined) return foreign;
  if (new URL(request.url).pathname !== PATH) return refuse(404, `MCP is served at ${PATH}.`);
  const read = await readRequestBody(request, limits.maxGatewayMessageBytes);
  if (read.tooLarge)
    return refuse(413, `A request has at most ${limits.maxGatewayMessageBytes} bytes.`);
  const parsedBody = messageIn(read.text);
  if (parsedBody === undefined && request.method === "POST")
    return refuse(400, "The body is no JSON.", -32_700);
  return handler(request, { parsedBody });
}

/** `code`: of JSON-RPC. */
function refuse(status: number, message: string, code = -32_000): Response {
  const error = { jsonrpc: "2.0", error: { code, message }, id: null };
  return Response.json(error, { status, headers: { connection: "close" } });
}

type Transport = WebStandardStreamableHTTPServerTransport;

interface Session {
  readonly transport: Transport;
  /** Ids of requests that are not answered. */
  readonly open: Set<unknown>;
}

/**
 * The sessions of clients of the older versions of the protocol: a server can ask such a client something only
 * in a session. Beyond `maxGatewaySessions`, the one that was used longest ago ends.
 */
export class HttpSessions {
  readonly #make: () => Server;
  /** Least recently used first. */
  readonly #open = new Map<string, Session>();

  constructor(make: () => Server) {
    this.#make = make;
  }

  /** Answers a request that begins a session or belongs to one; undefined for any other. */
  async fetch(...[request, options]: Parameters<Answer>): Promise<Response | undefined> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) {
      // Newer clients have no such request.
      const isFirst = request.method === "POST" && isInitializeRequest(options.parsedBody);
      return isFirst ? (await this.#begin()).handleRequest(request, options) : undefined;
    }
    const session = this.#open.get(id);
    // After a 404 a client begins another session.
    if (session === undefined)
      return refuse(404, "There is no such session; start another.", -32_001);
    this.#open.delete(id);
    this.#open.set(id, session);
    return answerIn(session, request, options);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ transport }) => transport.close()));
  }

  async #begin(): Promise<Transport> {
    const transport: Transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        this.#open.set(id, session);
        const [oldest] = this.#open.values();
        if (this.#open.size > limits.maxGatewaySessions) void oldest?.transport.close();
      },
    });
    const session: Session = { transport, open: new Set() };
    await this.#make().connect(transport);
    const send = transport.send.bind(transport);
    transport.send = (message, sending) => {
      if (!("method" in message)) session.open.delete(message.id);
      return send(message, sending);
    };
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      if (transport.sessionId !== undefined) this.#open.delete(transport.sessionId);
    };
    return transport;
  }
}

/**
 * Answers a request of a session. Of two requests with one id, the library would answer the newer one, and the other
 * never: an id is refused while an earlier request with it is neither answered nor cancelled.
 */
async function answerIn({ transport, open }: Session, ...[request, options]: Parameters<Answer>) {
  const messages = [options.parsedBody].flat();
  for (const message of messages.filter(isJSONRPCNotification)) {
    if (message.method === "notifications/cancelled") open.delete(message.params?.requestId);
  }
  const ids = messages.filter(isJSONRPCRequest).map(({ id }) => id);
  if (new Set(ids).size < ids.length || ids.some((id) => open.has(id))) {
    const error = { code: -32_600, message: "An earlier request has this id, and has no answer." };
    return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 400 });
  }
  for (const id of ids) open.add(id);
  const response = await transport.handleRequest(request, options);
  // A request that is refused gets no other answer.
  if (response.status !== 200) for (const id of ids) open.delete(id);
  return response;
}
