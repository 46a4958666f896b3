import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import * as limits from "../gateway-limits.ts";

type Transport = WebStandardStreamableHTTPServerTransport;

/**
 * The sessions of clients of the older versions of the protocol: a server can ask such a client something only
 * in a session. Beyond `maxGatewaySessions`, the one that was used longest ago ends.
 */
export class HttpSessions {
  readonly #make: () => Server;
  /** Least recently used first. */
  readonly #open = new Map<string, Transport>();

  constructor(make: () => Server) {
    this.#make = make;
  }

  /** Answers a request that begins a session or belongs to one; undefined for any other. */
  async fetch(request: Request): Promise<Response | undefined> {
    const id = request.headers.get("mcp-session-id");
    if (id !== null) return this.#used(id)?.handleRequest(request) ?? notFound();
    // Requests after the first, and all of newer clients, name their version.
    const isFirst = request.method === "POST" && !request.headers.has("mcp-protocol-version");
    if (!isFirst || !(await begins(request))) return undefined;
    const transport = await this.#begin();
    return transport.handleRequest(request);
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((transport) => transport.close()));
  }

  async #begin(): Promise<Transport> {
    const transport: Transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        this.#open.set(id, transport);
        this.#endOldest();
      },
      maxRequestBodySize: limits.maxGatewayMessageBytes,
    });
    await this.#make().connect(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      if (transport.sessionId !== undefined) this.#open.delete(transport.sessionId);
    };
    return transport;
  }

  #used(id: string): Transport | undefined {
    const transport = this.#open.get(id);
    if (transport === undefined) return undefined;
    this.#open.delete(id);
    this.#open.set(id, transport);
    return transport;
  }

  #endOldest(): void {
    const [oldest] = this.#open.values();
    if (this.#open.size > limits.maxGatewaySessions) void oldest?.close();
  }
}

/** True for the first message of a client. */
async function begins(request: Request): Promise<boolean> {
  const message: unknown = await request
    .clone()
    .json()
    .catch(() => undefined);
  return isInitializeRequest(message);
}

/** A client then begins another session. */
function notFound(): Response {
  const error = { code: -32_001, message: "There is no such session; start another." };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}
