import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, beforeEach, expect, it, describe } from "vitest";
import { upstreamFetch } from "../../mcp/src/mcp-fetch.ts";
import { connectTo } from "../src/connecting.ts";
import { type Loopback, startLoopback, textOf } from "../../../test/support/loopback.ts";
import { maxBodyBytes, maxTries } from "../../../src/limits.ts";
import { slow } from "../../../test/support/slow.ts";

const { signal } = new AbortController();
const GREETING = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "old", version: "1" },
};

let server: Loopback;
let events: { write(text: string): unknown } | undefined;
const asked: string[] = [];
const got: string[] = [];

/**
 * Answers unknown methods with the status in its address. At `apart` it does so for all messages, because its events
 * name another address for them.
 */
beforeAll(async () => {
  server = await startLoopback(async (request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://host");
    const [, kind, status] = pathname.split("/");
    if (request.method === "GET" && kind !== "mcp") {
      got.push(pathname);
      events = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      const endpoint = kind === "apart" ? "/sse/400" : pathname;
      return response.write(`event: endpoint\ndata: ${endpoint}\n\n`);
    }
    if (request.method !== "POST") return response.writeHead(405).end();
    if (kind === "apart") return response.writeHead(Number(status)).end("Not here");
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

beforeEach(() => {
  asked.length = 0;
  got.length = 0;
});
afterAll(() => server.down());

/** Connects a client to this address. Without `isSse`, the configuration does not name the transport. */
async function connected(address: string, isSse?: boolean): Promise<Client> {
  const options = { versionNegotiation: { mode: "auto" } } as const;
  const client = new Client({ name: "test", version: "1" }, options);
  const open = (kind?: "sse") => {
    const Transport = isSse || kind === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
    return new Transport(new URL(`${server.url}${address}`), { fetch: upstreamFetch });
  };
  const about = isSse === undefined ? {} : { isSse };
  await connectTo(client, { open, isProgram: false, ...about, signal });
  return client;
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
])(
  "an old server is greeted as one if it answers server/discover at /%s with %i",
  async (kind, status) => {
    const client = await connected(`/${kind}/${status}`, kind === "sse");
    expect(client.getServerVersion()?.name).toBe("old");
    expect(asked.filter((method) => method === "initialize")).toHaveLength(1);
    await client.close();
  },
);

it.each([400, 404, 405, 406, 415])(
  "a server with the transport of 2024-11-05 whose configuration does not say so is connected by it after %i",
  async (status) => {
    const client = await connected(`/apart/${status}`);
    expect(client.getServerVersion()?.name).toBe("old");
    expect(got).toEqual([`/apart/${status}`]);
    await client.close();
  },
);

const MEGABYTE = "x".repeat(1_000_000);
const COUNT = Math.ceil(maxBodyBytes / 1_000_000) + 1;

describe("fetches of servers behind a URL", () => {
  let server: Loopback;

  beforeAll(async () => {
    server = await startLoopback((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://host");
      if (pathname === "/hops") {
        const left = Number(searchParams.get("left"));
        const location = left > 1 ? `/hops?left=${left - 1}` : "/end";
        return response.writeHead(302, { location }).end();
      }
      if (pathname === "/end") return response.end("The end.");
      response.setHeader("content-type", "text/event-stream");
      for (let count = 0; count < COUNT; count++) {
        response.write(`data: ${MEGABYTE}\n${pathname === "/events" ? "\r\n" : ""}`);
      }
      response.end("\n");
    });
  });

  afterAll(() => server.down());

  const get = async (path: string) => {
    const response = await upstreamFetch(`${server.url}${path}`, { method: "GET" });
    let chars = 0;
    for await (const chunk of response.body ?? []) chars += chunk.length;
    return chars;
  };

  it(
    "let an open stream send more than an answer may have, in several messages",
    slow,
    async () => {
      expect(await get("/events")).toBeGreaterThan(maxBodyBytes);
    },
  );

  it("end such a stream at a single message that is too long", slow, async () => {
    await expect(get("/one")).rejects.toThrow(`longer than ${maxBodyBytes} bytes`);
  });

  it("follow a limited number of redirects", async () => {
    expect(await get(`/hops?left=${maxTries}`)).toBe("The end.".length);
    await expect(get(`/hops?left=${maxTries + 1}`)).rejects.toThrow("redirects more than");
  });

  it("follow no redirect that turns a POST into a GET", async () => {
    const post = upstreamFetch(`${server.url}/hops?left=1`, { method: "POST", body: "{}" });
    await expect(post).rejects.toThrow(/redirect \(30\d\) cannot be followed/u);
  });
});
