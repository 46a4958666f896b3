import {
  Client,
  type ClientCapabilities,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { tool } from "ai";
import { vi } from "vitest";
import * as z from "zod";
import { mcpGateway, mcpTools, queries } from "../../src/byref.ts";
import { finish, scriptedModel, text, toolCall } from "byref/testing";
import type { Agent } from "../../src/turn/agent.ts";
import { ORIGIN } from "./edge.ts";
import { type OwnRuntime, withRuntime } from "./own-runtime.ts";

const ORDERS = Array.from({ length: 400 }, (_, at) => ({
  id: `ord_${at}`,
  total: at,
  city: "Oslo",
}));
const SHOP = "https://shop.example/mcp";

interface Shop {
  readonly refunded: string[][];
  /** Number of refunds that were begun. */
  asked: number;
  /** Headers of the requests that reached it. */
  readonly headers: Headers[];
  hold: Promise<void> | undefined;
}

/** Opens an MCP server behind a mock of `fetch`. */
export function openShop(): Shop {
  const shop: Shop = { refunded: [], asked: 0, headers: [], hold: undefined };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "shop", version: "1" });
    const said = (value: unknown) => ({
      content: [{ type: "text" as const, text: JSON.stringify(value) }],
    });
    server.registerTool("list_orders", { inputSchema: z.object({}) }, () => said(ORDERS));
    server.registerTool("get_token", { inputSchema: z.object({}) }, () => said({ key: "tok_1" }));
    server.registerTool(
      "refund",
      { inputSchema: z.object({ ids: z.array(z.string()) }) },
      async ({ ids }) => {
        shop.asked++;
        await shop.hold;
        shop.refunded.push(ids);
        return said({ refunded: ids.length });
      },
    );
    return server;
  });
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input as string, init as RequestInit);
    if (request.url !== SHOP) throw new Error(`Nobody is at ${request.url}.`);
    shop.headers.push(request.headers);
    return handler.fetch(request);
  });
  return shop;
}

export const clerk: Agent = {
  name: "clerk",
  description: "Counts.",
  instructions: "Help.",
  tools: {
    sum_totals: tool({
      description: "Sums up.",
      inputSchema: z.object({ totals: z.array(z.number()) }),
      execute: ({ totals }) => ({ sum: totals.reduce((a, b) => a + b, 0) }),
    }),
    list_numbers: tool({
      inputSchema: z.object({ count: z.number() }),
      execute: ({ count }) => Array.from({ length: count }, (_, at) => at),
    }),
    pay: tool({ inputSchema: z.object({ to: z.string() }), execute: ({ to }) => `paid ${to}` }),
  },
  policies: { pay: { approval: true } },
};

interface Connecting {
  readonly agent?: string;
  readonly era?: "modern" | "legacy";
  readonly accepts?: boolean;
  /** True if the test answers elicitations itself. */
  readonly isManual?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: string;
}

/** A client of the official library, with the current or an older protocol version. */
export async function connected(
  own: Pick<OwnRuntime, "call">,
  connecting: Connecting = {},
): Promise<Client> {
  const { agent, accepts, isManual = false, headers = {}, id = "one" } = connecting;
  const { era = "modern" } = connecting;
  const query = String(new URLSearchParams(agent && { agent }));
  const transport = new StreamableHTTPClientTransport(
    new URL(`${ORIGIN}/conversations/${id}/mcp?${query}`),
    {
      requestInit: { headers: { ...headers } },
      fetch: (url, init) => own.call(init?.method ?? "GET", String(url), init ?? {}),
    },
  );
  const capabilities: ClientCapabilities =
    accepts === undefined && !isManual ? {} : { elicitation: { form: {} } };
  const mode = era === "modern" ? { pin: "2026-07-28" as const } : ("legacy" as const);
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities, versionNegotiation: { mode }, inputRequired: { autoFulfill: !isManual } },
  );
  if (accepts !== undefined) {
    client.setRequestHandler("elicitation/create", () =>
      accepts ? { action: "accept", content: {} } : { action: "decline" },
    );
  }
  await client.connect(transport);
  return client;
}

export const call = (client: Client, name: string, input: object = {}) =>
  client.callTool({ name, arguments: { ...input } });

type Result = Awaited<ReturnType<typeof call>>;

export const textOf = ({ content }: Result) =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
export const variableOf = ({ _meta: meta }: Result) => meta?.["byref/variable"];

export const servers = (more: object = {}) =>
  JSON.stringify([{ name: "shop", url: SHOP, headers: { "x-key": "of-the-shop" }, ...more }]);

/** Runs the work against a runtime with a gateway in front of the shop. */
export function withGateway<Done>(
  work: (own: OwnRuntime, shop: Shop) => Promise<Done>,
  bindings: Readonly<Record<string, unknown>> = {},
): Promise<Done> {
  const shop = openShop();
  const model = scriptedModel([
    [toolCall("list_numbers", { count: 900 }), finish("tool-calls")],
    [text("Done."), finish()],
  ]);
  return withRuntime(
    { agents: [clerk], model, gateway: mcpGateway, queries, mcp: mcpTools },
    (own) => work(own, shop),
    { bindings: { MCP_SERVERS: servers(), ...bindings } },
  );
}

export const variables = async (own: OwnRuntime) => {
  const response = await own.call("GET", "/conversations/one/variables");
  const { variables: listed } = await response.json<{ variables: { name: string }[] }>();
  return listed.map(({ name }) => name);
};
