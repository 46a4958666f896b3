import type { IncomingMessage, ServerResponse } from "node:http";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, it } from "vitest";
import { maxBodyBytes } from "../../src/limits.ts";
import { isObject } from "../../src/value/json.ts";
import { gatewayCommand, textIn } from "../support/gateway-process.ts";
import { type Loopback, startLoopback, textOf } from "../support/loopback.ts";

const TOKEN = "token-of-the-shop-4711";
const LARGE = `"${"x".repeat(maxBodyBytes)}"`;
const seen: IncomingMessage["headers"][] = [];
const elsewhere: IncomingMessage["headers"][] = [];
let other: Loopback;
let old: Loopback;
let shop: Loopback;
const client = new Client({ name: "test", version: "1" });

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
const text = (value: string) => ({ content: [{ type: "text", text: value }] });
const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "shop", version: "1" },
  },
  "tools/list": { tools: ["small", "json", "stream", "endless", "away"].map(tool) },
};

/** An MCP server over HTTP whose answers exceed the limits. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = "", url = "" } = request;
  if (method !== "POST") return void response.writeHead(405).end();
  if (url === "/old") return void response.writeHead(308, { location: "/mcp" }).end();
  const body: unknown = JSON.parse(await textOf(request));
  if (!isObject(body)) throw new Error("It is no message.");
  const { id, method: asked, params } = body;
  seen.push(request.headers);
  if (id === undefined) return void response.writeHead(202).end();
  const name = asked === "tools/call" && isObject(params) ? params.name : undefined;
  const start = `{"jsonrpc":"2.0","id":${Number(id)},"result":`;
  if (name === "away") {
    return void response.writeHead(307, { location: `${other.url}/mcp` }).end();
  }
  const isStream = name === "stream" || name === "endless";
  response.setHeader("content-type", isStream ? "text/event-stream" : "application/json");
  if (name === "json" || name === "stream") {
    const message = `${start}{"content":[{"type":"text","text":${LARGE}}]}}`;
    return void response.end(isStream ? `data: ${message}\n\n` : message);
  }
  if (name === "endless") {
    const more = () => {
      if (!response.destroyed) response.write(`: ${LARGE.slice(0, 1_000_000)}\n\n`, more);
    };
    return more();
  }
  const result = results[String(asked)] ?? (name === "small" ? text("Small.") : undefined);
  if (result === undefined) {
    const error = { code: -32_601, message: "Method not found" };
    return void response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  }
  response.end(`${start}${JSON.stringify(result)}}`);
}

/** An MCP server with the transport of 2024-11-05, which answers with the token that it received. */
function serveEvents() {
  let events: ServerResponse | undefined;
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === "GET") {
      events = response.writeHead(200, { "content-type": "text/event-stream" });
      return void response.write("event: endpoint\ndata: /messages\n\n");
    }
    if (request.url !== "/messages") return void response.writeHead(405).end();
    const { id, method } = JSON.parse(await textOf(request));
    response.writeHead(202).end();
    const { authorization = "" } = request.headers;
    const result = { ...results, "tools/list": { tools: [tool("whose")] } }[String(method)];
    const message = { jsonrpc: "2.0", id, result: result ?? text(authorization) };
    if (id !== undefined) events?.write(`data: ${JSON.stringify(message)}\n\n`);
  };
}

beforeAll(async () => {
  other = await startLoopback((request, response) => {
    elsewhere.push(request.headers);
    response.writeHead(500).end();
  });
  shop = await startLoopback(serve);
  old = await startLoopback(serveEvents());
  const folder = mkdtempSync(join(tmpdir(), "gateway-http-servers-"));
  const { command, args } = gatewayCommand(folder, {});
  const headers = { Authorization: `Bearer ${TOKEN}`, "X-Api-Key": TOKEN };
  const mcpServers = {
    shop: { url: `${shop.url}/old`, headers },
    old: { url: `${old.url}/sse`, headers },
  };
  writeFileSync(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
});

afterAll(async () => {
  await client.close();
  await Promise.all([shop.down(), other.down(), old.down()]);
});

const call = (name: string) => client.callTool({ name, arguments: {} });

it("redirects within the server's origin are followed, with its headers", async () => {
  expect(textIn(await call("small"))).toBe("Small.");
  expect(seen.at(-1)).toMatchObject({ authorization: `Bearer ${TOKEN}`, "x-api-key": TOKEN });
});

it("a server of the older transport needs no type", async () => {
  expect(textIn(await call("whose"))).toBe(`Bearer ${TOKEN}`);
});

it("a redirect to another origin is refused, and no header reaches it", async () => {
  const result = await call("away");
  expect(result.isError).toBe(true);
  expect(textIn(result)).toContain(`redirects to another origin: ${other.url}`);
  expect(elsewhere).toEqual([]);
});

it.each(["json", "stream", "endless"])(
  "an answer that is too long (%s) fails its call, but the server stays usable",
  async (name) => {
    const result = await call(name);
    expect(result.isError).toBe(true);
    expect(textIn(result)).toContain(`longer than ${maxBodyBytes} bytes`);
    expect(textIn(await call("small"))).toBe("Small.");
  },
);
