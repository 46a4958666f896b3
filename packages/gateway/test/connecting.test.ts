import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { upstreamFetch } from "../../mcp/src/mcp-fetch.ts";
import { connectTo } from "../src/connecting.ts";
import { type Loopback, startLoopback, textOf } from "../../../test/support/loopback.ts";

const { signal } = new AbortController();
const GREETING = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "old", version: "1" },
};

describe("an old server behind a URL", () => {
  let server: Loopback;
  let events: { write(text: string): unknown } | undefined;
  const asked: string[] = [];

  /** Answers unknown methods with the status in its address. */
  beforeAll(async () => {
    server = await startLoopback(async (request, response) => {
      const { pathname } = new URL(request.url ?? "", "http://host");
      const [, kind, status] = pathname.split("/");
      if (request.method === "GET" && kind === "sse") {
        events = response;
        response.writeHead(200, { "content-type": "text/event-stream" });
        return response.write(`event: endpoint\ndata: ${pathname}\n\n`);
      }
      if (request.method !== "POST") return response.writeHead(405).end();
      const { id, method } = JSON.parse(await textOf(request));
      asked.push(method);
      if (id === undefined) return response.writeHead(202).end();
      if (method !== "initialize" && status === "200") {
        response.writeHead(200, { "content-type": "application/json" });
        const error = { code: -32_700, message: "Parse error" };
        return response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
      }
      if (method !== "initialize") return response.writeHead(Number(status)).end("<h1>No</h1>");
      const message = JSON.stringify({ jsonrpc: "2.0", id, result: GREETING });
      if (kind !== "sse") {
        return response.writeHead(200, { "content-type": "application/json" }).end(message);
      }
      response.writeHead(202).end();
      return events?.write(`data: ${message}\n\n`);
    });
  });

  beforeEach(() => asked.splice(0));
  afterAll(() => server.down());

  it.each([
    // Without an id.
    ["mcp", 200],
    ["mcp", 400],
    ["mcp", 401],
    ["mcp", 403],
    ["mcp", 404],
    ["mcp", 405],
    ["mcp", 500],
    ["mcp", 501],
    ["mcp", 503],
    ["sse", 400],
    ["sse", 500],
  ])("is greeted as one if it answers server/discover at /%s with %i", async (kind, status) => {
    const url = new URL(`${server.url}/${kind}/${status}`);
    const isSse = kind === "sse";
    const Transport = isSse ? SSEClientTransport : StreamableHTTPClientTransport;
    const open = () => new Transport(url, { fetch: upstreamFetch });
    const client = clientOf();
    await connectTo(client, { open, isProgram: false, isSse, signal });
    expect(client.getServerVersion()?.name).toBe("old");
    expect(asked.filter((method) => method === "initialize")).toHaveLength(1);
    await client.close();
  });
});

describe("a server with the transport of 2024-11-05 whose configuration does not say so", () => {
  let server: Loopback;
  let events: { write(text: string): unknown } | undefined;
  const got: string[] = [];

  /** Answers a message at its address with the status there, and has events unless it is `none`. */
  beforeAll(async () => {
    server = await startLoopback(async (request, response) => {
      const { pathname } = new URL(request.url ?? "", "http://host");
      const [, kind, status] = pathname.split("/");
      if (request.method === "GET") got.push(pathname);
      if (request.method === "GET" && kind === "sse") {
        events = response;
        response.writeHead(200, { "content-type": "text/event-stream" });
        return response.write("event: endpoint\ndata: /messages\n\n");
      }
      if (kind !== "messages") return response.writeHead(Number(status)).end("Not here");
      const { id } = JSON.parse(await textOf(request));
      response.writeHead(202).end();
      const message = JSON.stringify({ jsonrpc: "2.0", id, result: GREETING });
      return id === undefined ? undefined : events?.write(`data: ${message}\n\n`);
    });
  });

  beforeEach(() => got.splice(0));
  afterAll(() => server.down());

  const connectingTo = (address: string) => {
    const open = (kind?: "sse") =>
      new (kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport)(
        new URL(`${server.url}${address}`),
        { fetch: upstreamFetch },
      );
    return (client: Client) => connectTo(client, { open, isProgram: false, signal });
  };

  it.each([400, 404, 405, 406, 415])("is connected by it after %i", async (status) => {
    const client = clientOf();
    await connectingTo(`/sse/${status}`)(client);
    expect(client.getServerVersion()?.name).toBe("old");
    expect(got).toEqual([`/sse/${status}`]);
    await client.close();
  });
});

function clientOf(): Client {
  return new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } });
}
