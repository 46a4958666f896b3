import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import {
  type Server,
  WebStandardStreamableHTTPServerTransport,
  isInitializeRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  readRequestBody,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import * as limits from "../gateway-limits.ts";
import { messageIn } from "../../../mcp/src/mcp-fetch.ts";
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
  const server = createServer((incoming, outgoing) => {
    const refusal = refusalOf(incoming);
    if (refusal !== undefined) return refuse(outgoing, refusal);
    // A client that has gone needs no answer.
    void answer(handler, incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(port, LOOPBACK, done);
  });
  const { port: actual } = server.address() as AddressInfo;
  return {
    url: `http://${LOOPBACK}:${actual}${PATH}`,
    close: async () => {
      const closed = new Promise<void>((done) => {
        server.close(() => done());
      });
      const closing = withTimeLimit(limits.gatewayCloseMs, () => closed);
      await closing.catch(() => server.closeAllConnections());
    },
  };
}

interface Refusal {
  readonly status: number;
  readonly message: string;
  /** Of JSON-RPC. Default: that of the server's own errors. */
  readonly code?: number;
}

const TOO_LARGE: Refusal = {
  status: 413,
  message: `A request has at most ${limits.maxGatewayMessageBytes} bytes.`,
};
const NO_JSON: Refusal = { status: 400, message: "The body is no JSON.", code: -32_700 };

function refusalOf({ url = "", headers }: IncomingMessage): Refusal | undefined {
  const checks = [
    validateHostHeader(headers.host, localhostAllowedHostnames()),
    validateOriginHeader(headers.origin, localhostAllowedOrigins()),
  ];
  for (const check of checks) {
    if (!check.ok) return { status: 403, message: check.message };
  }
  if (url.split("?")[0] === PATH) return undefined;
  return { status: 404, message: `MCP is served at ${PATH}.` };
}

function refuse(outgoing: ServerResponse, { status, message, code = -32_000 }: Refusal): void {
  const error = { jsonrpc: "2.0", error: { code, message }, id: null };
  outgoing.writeHead(status, { "content-type": "application/json", connection: "close" });
  outgoing.end(JSON.stringify(error));
}

async function answer(
  handler: Answer,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const request = requestOf(incoming, gone.signal);
  const read = await readRequestBody(request, limits.maxGatewayMessageBytes);
  if (read.tooLarge) return refuse(outgoing, TOO_LARGE);
  const parsedBody = messageIn(read.text);
  if (parsedBody === undefined && incoming.method === "POST") return refuse(outgoing, NO_JSON);
  const response = await handler(request, { parsedBody });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) return void outgoing.end();
  // Casts between two declarations of one class.
  const body = response.body as unknown as NodeStream;
  await pipeline(Readable.fromWeb(body), outgoing);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", headers: received } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) headers.set(name, String(value));
  const hasBody = method !== "GET" && method !== "HEAD";
  // Node needs `duplex` for a stream; the type does not have it.
  const body = hasBody && { body: Readable.toWeb(incoming) as unknown as BodyInit, duplex: "half" };
  return new Request(`http://${LOOPBACK}${PATH}`, { method, headers, signal, ...body });
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
    if (id !== null) {
      // After a 404 a client begins another session.
      const error = { code: -32_001, message: "There is no such session; start another." };
      const none = () => Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
      const session = this.#used(id);
      return session === undefined ? none() : answerIn(session, request, options);
    }
    // Requests after the first, and all of newer clients, name their version.
    const isFirst = request.method === "POST" && !request.headers.has("mcp-protocol-version");
    if (!isFirst || !isInitializeRequest(options.parsedBody)) return undefined;
    const transport = await this.#begin();
    return transport.handleRequest(request, options);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ transport }) => transport.close()));
  }

  async #begin(): Promise<Transport> {
    const transport: Transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        this.#open.set(id, session);
        this.#endOldest();
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

  #used(id: string): Session | undefined {
    const session = this.#open.get(id);
    if (session === undefined) return undefined;
    this.#open.delete(id);
    this.#open.set(id, session);
    return session;
  }

  #endOldest(): void {
    const [oldest] = this.#open.values();
    if (this.#open.size > limits.maxGatewaySessions) void oldest?.transport.close();
  }
}

/**
 * Answers a request of a session. Of two requests with one id, the library would answer the newer one, and the other
 * never: an id is refused while an earlier request with it is neither answered nor cancelled.
 */
async function answerIn({ transport, open }: Session, ...[request, options]: Parameters<Answer>) {
  const ids = messagesIn(options.parsedBody).flatMap(({ method, id, params }) => {
    if (method === CANCELLED) open.delete(params?.requestId);
    return method === undefined || id === undefined ? [] : [id];
  });
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

const CANCELLED = "notifications/cancelled";

interface Message {
  readonly method?: unknown;
  readonly id?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** The library checks them later. */
function messagesIn(body: unknown): readonly Message[] {
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body];
  return messages.filter((one): one is Message => typeof one === "object" && one !== null);
}
