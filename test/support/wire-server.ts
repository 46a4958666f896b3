import type { ServerResponse } from "node:http";
import { SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { upstreamFetch } from "../../packages/gateway/src/servers/mcp-fetch.ts";
import { isObject } from "../../src/value/json.ts";
import type { BehindServer } from "./gateway.ts";
import { type Loopback, startLoopback, textOf } from "./loopback.ts";
import { RawServer } from "./raw-server.ts";

/** How a server sends its answers. */
export type Sending = "JSON" | "JSON called a stream" | "a stream" | "a stream with ids" | "SSE";

/** Cuts the connection on which the answer would come; `end` closes it in good order. */
export type Cut = "cut" | "end";

/** Returns the answer without its id, or cuts it. */
export type WireAnswer = (
  method: string,
  params: Readonly<Record<string, unknown>>,
) => object | Cut;

const HINTS = { annotations: { readOnlyHint: true } };
const tool = (name: string, more = {}) => ({ name, inputSchema: { type: "object" }, ...more });
const GREETING = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
  serverInfo: { name: "wire", version: "1" },
};
/** The beginning of an answer. */
const ON_ITS_WAY: Readonly<Record<Sending, string>> = {
  JSON: '{"jsonrpc":',
  "JSON called a stream": '{"jsonrpc":',
  "a stream": ": on its way\n\n",
  "a stream with ids": "id: 1\ndata:\n\n",
  SSE: ": on its way\n\n",
};

const LISTS: Readonly<Record<string, object>> = {
  initialize: GREETING,
  "tools/list": { tools: [tool("act"), tool("look", HINTS)] },
  "prompts/list": { prompts: [{ name: "greet" }] },
  "resources/list": { resources: [{ name: "page", uri: "test://page" }] },
  "resources/templates/list": { resourceTemplates: [] },
};

/** An MCP server over HTTP that can break the protocol in what it answers to calls. */
export async function startWireServer(sending: Sending, answer: WireAnswer) {
  const received: string[] = [];
  const texts: string[] = [];
  let listening: ServerResponse | undefined;
  const loopback: Loopback = await startLoopback(async (request, response) => {
    const { method: verb = "", url = "" } = request;
    const isResuming = request.headers["last-event-id"] !== undefined;
    if (verb === "GET" && (sending === "JSON" || isResuming)) return response.writeHead(405).end();
    if (verb === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      // Lives on when another stream is cut.
      response.write(sending === "SSE" ? "event: endpoint\ndata: /messages\n\n" : ": alive\n\n");
      listening = response;
      return;
    }
    if (sending === "SSE" && url !== "/messages") return response.writeHead(405).end();
    const given = await textOf(request);
    texts.push(given);
    const message: unknown = JSON.parse(given);
    if (!isObject(message)) throw new Error("It is no message.");
    const { id, method, params } = message;
    if (id === undefined) return response.writeHead(202).end();
    const asked = String(method);
    const listed = LISTS[asked];
    if (listed === undefined) received.push(asked);
    const isKnown = asked !== "server/discover";
    const result = listed === undefined ? undefined : { result: listed };
    const unknown = { error: { code: -32_601, message: "Method not found" } };
    const answered = result ?? (isKnown ? answer(asked, isObject(params) ? params : {}) : unknown);
    const target = sending === "SSE" ? listening : response;
    if (sending === "SSE") response.writeHead(202).end();
    else {
      const type = sending === "JSON" ? "application/json" : "text/event-stream";
      response.writeHead(200, { "content-type": type });
    }
    if (answered === "cut" || answered === "end") {
      target?.write(ON_ITS_WAY[sending]);
      return answered === "end" ? target?.end() : setImmediate(() => target?.destroy());
    }
    const spaces = sending === "JSON called a stream" ? 2 : 0;
    const text = JSON.stringify({ jsonrpc: "2.0", id, ...answered }, null, spaces);
    const isPlain = sending.startsWith("JSON");
    target?.write(isPlain ? text : `event: message\ndata: ${text}\n\n`);
    if (sending !== "SSE") target?.end();
  });
  const behind: BehindServer = {
    name: "shop",
    make: () => new RawServer(),
    open: () => {
      const Transport = sending === "SSE" ? SSEClientTransport : StreamableHTTPClientTransport;
      return new Transport(new URL(`${loopback.url}/mcp`), { fetch: upstreamFetch });
    },
    address: { url: `${loopback.url}/mcp`, headers: {}, ...(sending === "SSE" && { isSse: true }) },
  };
  return { behind, received, texts, down: () => loopback.down() };
}
