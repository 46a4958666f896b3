import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { upstreamFetch } from "../src/servers/mcp-fetch.ts";
import { connectTo } from "../src/servers/connecting.ts";
import { type Loopback, startLoopback, textOf } from "../../../test/support/loopback.ts";

const { signal } = new AbortController();
const GREETING = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "old", version: "1" },
};

let server: Loopback;
let events: { write(text: string): unknown } | undefined;
const asked: string[] = [];
const opened: string[] = [];

/**
 * An old server, which answers unknown methods with the status in its address: at `/mcp`, or at `/messages` for who
 * listens to the events of `/sse`, where any message is answered with the status.
 */
beforeAll(async () => {
  server = await startLoopback(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://host");
    const [, kind, status] = pathname.split("/");
    if (request.method === "GET" && kind === "sse") {
      opened.push(pathname);
      events = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      return response.write(`event: endpoint\ndata: /messages/${status}\n\n`);
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    if (kind === "sse") return response.writeHead(Number(status)).end("Not here");
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
    if (kind === "mcp") {
      return response.writeHead(200, { "content-type": "application/json" }).end(message);
    }
    response.writeHead(202).end();
    return events?.write(`data: ${message}\n\n`);
  });
});

beforeEach(() => {
  asked.splice(0);
  opened.splice(0);
});
afterAll(() => server.down());

/** Connects a client to the address and ends the connection. `isSse`: the configuration says so. */
async function connect(address: string, isSse: boolean) {
  const open = (kind?: "sse") => {
    const Transport = kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
    return new Transport(new URL(`${server.url}${address}`), { fetch: upstreamFetch });
  };
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  await connectTo(client, { open, isProgram: false, isSse, signal });
  expect(client.getServerVersion()?.name).toBe("old");
  expect(asked.filter((method) => method === "initialize")).toHaveLength(1);
  await client.close();
}

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
])("an old server is greeted as one if it answers server/discover at /%s with %i", (kind, status) =>
  connect(`/${kind}/${status}`, kind === "sse"),
);

it.each([400, 404, 405, 406, 415])(
  "a server whose configuration does not say that it has the transport of 2024-11-05 is connected by it after %i",
  async (status) => {
    await connect(`/sse/${status}`, false);
    expect(opened).toEqual([`/sse/${status}`]);
  },
);
