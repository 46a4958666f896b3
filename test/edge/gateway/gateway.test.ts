import {
  Client,
  type ClientCapabilities,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { tool } from "ai";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { mcpGateway, mcpTools, queries } from "../../../src/byref.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { requireTrusted } from "../../../src/tool/policy.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../../src/testing.ts";
import { figure } from "../../support/scorecard.ts";

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

/** A server of the protocol at an address that only this isolate knows. */
function openShop(): Shop {
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

afterEach(() => {
  vi.restoreAllMocks();
});

const clerk: Agent = {
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
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: string;
}

/** A client of the official library, of either era. */
async function connected(own: OwnRuntime, connecting: Connecting = {}): Promise<Client> {
  const { agent, era = "modern", accepts, headers = {}, id = "one" } = connecting;
  const query = agent === undefined ? "" : `?agent=${agent}`;
  const transport = new StreamableHTTPClientTransport(
    new URL(`${ORIGIN}/conversations/${id}/mcp${query}`),
    {
      requestInit: { headers: { ...headers } },
      fetch: (url, init) => own.call(init?.method ?? "GET", String(url), init ?? {}),
    },
  );
  const capabilities: ClientCapabilities =
    accepts === undefined ? {} : { elicitation: { form: {} } };
  const mode = era === "modern" ? { pin: "2026-07-28" as const } : ("legacy" as const);
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities, versionNegotiation: { mode } },
  );
  if (accepts !== undefined) {
    client.setRequestHandler("elicitation/create", () =>
      accepts ? { action: "accept", content: {} } : { action: "decline" },
    );
  }
  await client.connect(transport);
  return client;
}

const call = (client: Client, name: string, input: object = {}) =>
  client.callTool({ name, arguments: { ...input } });

type Result = Awaited<ReturnType<typeof call>>;

const textOf = ({ content }: Result) =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
const variableOf = ({ _meta: meta }: Result) => meta?.["byref/variable"];

const servers = (more: object = {}) =>
  JSON.stringify([{ name: "shop", url: SHOP, headers: { "x-key": "of-the-shop" }, ...more }]);

/** Runs the work against a runtime with a gateway in front of the shop. */
function withGateway<Done>(
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

const variables = async (own: OwnRuntime) => {
  const response = await own.call("GET", "/conversations/one/variables");
  const { variables: listed } = await response.json<{ variables: { name: string }[] }>();
  return listed.map(({ name }) => name);
};

describe.each(["modern", "legacy"] as const)("a conversation as an MCP server, %s", (era) => {
  it("passes a server's result to another tool by reference, and to the page", () =>
    withGateway(async (own, shop) => {
      const client = await connected(own, { era, agent: "clerk" });
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([
        "sum_totals",
        "list_numbers",
        "pay",
        "list_orders",
        "get_token",
        "refund",
        "list_variables",
        "read_variable",
        "edit_variable",
        "query_variables",
      ]);
      const listed = await call(client, "list_orders");
      expect(variableOf(listed)).toEqual({ name: "list_orders_1", version: 1 });
      expect(textOf(listed)).not.toContain("ord_399");
      const sum = await call(client, "sum_totals", { totals: "$list_orders_1[*].total" });
      expect(textOf(sum)).toBe('{"sum":79800}');
      await call(client, "refund", { ids: "$list_orders_1[0:2][*].id" });
      expect(shop.refunded).toEqual([["ord_0", "ord_1"]]);
      expect(await variables(own)).toEqual(["list_orders_1", "sum_totals_1", "refund_1"]);
      const numbers = await call(client, "list_numbers", { count: 2_000 });
      expect(textOf(numbers)).toContain('"$var":"list_numbers_1"');
      expect(textOf(numbers)).not.toContain("1999");
      await client.close();
    }));

  it("uses what a turn and a person have saved", () =>
    withGateway(async (own, shop) => {
      await own.call("POST", "/conversations/one/messages", {
        body: JSON.stringify({ message: "Numbers." }),
        headers: { "content-type": "application/json", accept: "application/json" },
      });
      await own.call("PUT", "/conversations/one/variables/chosen", {
        body: JSON.stringify(["ord_7"]),
        headers: { "content-type": "application/json" },
      });
      const client = await connected(own, { era, agent: "clerk" });
      const sum = await call(client, "sum_totals", { totals: "$list_numbers_1" });
      expect(textOf(sum)).toBe('{"sum":404550}');
      await call(client, "refund", { ids: "$chosen" });
      expect(shop.refunded).toEqual([["ord_7"]]);
      await client.close();
    }));

  it("creates no conversation by listing, and asks only tools that are there", () =>
    withGateway(async (own) => {
      const client = await connected(own, { era });
      await client.listTools();
      await client.listResources();
      expect((await own.call("GET", "/conversations/one")).status).toBe(404);
      await expect(call(client, "nothing")).rejects.toThrow("There is no tool nothing");
      await client.close();
    }));
});

it("asks a person with the values, and runs what was shown", () =>
  withGateway(async (own) => {
    const yes = await connected(own, { agent: "clerk", accepts: true });
    expect(textOf(await call(yes, "pay", { to: "Ada" }))).toBe("paid Ada");
    const no = await connected(own, { agent: "clerk", accepts: false });
    expect(textOf(await call(no, "pay", { to: "Eve" }))).toContain("tool_denied");
    const mute = await connected(own, { agent: "clerk" });
    expect(textOf(await call(mute, "pay", { to: "Eve" }))).toContain("approval_required");
    // The object forgets what is in memory; what a client was given to send back is still valid.
    own.wakeAgain();
    expect(textOf(await call(yes, "pay", { to: "Bob" }))).toBe("paid Bob");
  }));

it("shows no more of a sealed result than its name, and hands it to tools", () =>
  withGateway(
    async (own, shop) => {
      const client = await connected(own);
      const sealed = await call(client, "get_token");
      expect(JSON.stringify(sealed)).not.toContain("tok_1");
      const read = await call(client, "read_variable", { name: "get_token_1" });
      expect(JSON.stringify(read)).not.toContain("tok_1");
      await call(client, "refund", { ids: ["$get_token_1.key"] });
      expect(shop.refunded).toEqual([["tok_1"]]);
      const { resources } = await client.listResources();
      expect(JSON.stringify(resources)).not.toContain("tok_1");
      await client.close();
    },
    { MCP_SERVERS: servers({ tools: { "get_*": { sealed: true } } }) },
  ));

it("asks the variables with SQL", () =>
  withGateway(async (own) => {
    const client = await connected(own);
    await call(client, "list_orders");
    const sql = "SELECT city, sum(total) AS total FROM list_orders_1 GROUP BY city";
    expect(textOf(await call(client, "query_variables", { sql }))).toContain("79800");
    await client.close();
  }));

it("reads and passes on no variable of another conversation", async () => {
  await withGateway(async (own) => {
    await call(await connected(own), "get_token");
  });
  await withGateway(async (own, shop) => {
    const other = await connected(own);
    const uri = "byref://variables/get_token_1";
    const tries = [
      () => call(other, "read_variable", { name: "get_token_1" }),
      () => call(other, "query_variables", { sql: "SELECT * FROM get_token_1" }),
      () => call(other, "refund", { ids: ["$get_token_1.key"] }),
      () => call(other, "list_variables"),
      () => other.readResource({ uri }),
      () => other.readResource({ uri: "byref://variables" }),
      () => other.listResources(),
    ];
    const seen = await Promise.all(tries.map((work) => work().catch(String)));
    const reached = [...seen, shop.refunded].filter((one) => JSON.stringify(one).includes("tok_1"));
    figure("S22", {
      shapes: tries.length,
      "values, tokens and headers that reached another": reached.length,
    });
    expect(reached).toEqual([]);
    await other.close();
  });
});

it("never passes a client's headers on", () =>
  withGateway(async (own, shop) => {
    const headers = { authorization: "Bearer of-the-client", "x-key": "of-the-client" };
    const client = await connected(own, { headers });
    await call(client, "list_orders");
    expect(shop.headers.length).toBeGreaterThan(0);
    for (const received of shop.headers) {
      expect(received.get("authorization")).toBeNull();
      expect(received.get("x-key")).toBe("of-the-shop");
    }
    await client.close();
  }));

it("offers an agent's servers only with the agent", () =>
  withGateway(
    async (own) => {
      const namesFor = async (agent?: string) => {
        const client = await connected(own, agent === undefined ? {} : { agent });
        const { tools } = await client.listTools();
        await client.close();
        return tools.map(({ name }) => name);
      };
      expect(await namesFor()).not.toContain("refund");
      expect(await namesFor("clerk")).toContain("refund");
      const nobody = await own.call("POST", "/conversations/one/mcp?agent=nobody", {
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
        headers: { "content-type": "application/json" },
      });
      expect(await nobody.json()).toMatchObject({ code: "unknown_agent" });
    },
    { MCP_SERVERS: servers({ agents: ["clerk"] }) },
  ));

it("stops a call when its conversation is deleted, and leaves nothing behind", () =>
  withGateway(async (own, shop) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.hold = promise;
    const client = await connected(own);
    await call(client, "list_orders");
    const running = call(client, "refund", { ids: ["a"] });
    await vi.waitFor(() => expect(shop.asked).toBe(1));
    await own.call("DELETE", "/conversations/one");
    expect((await running).isError).toBe(true);
    resolve();
    expect((await own.call("GET", "/conversations/one")).status).toBe(404);
    // A new conversation under the same name starts empty.
    await call(client, "list_orders");
    expect(await variables(own)).toEqual(["list_orders_1"]);
    await client.close();
  }));

it("says once that a call, which the end of the object cut off, may have run", () =>
  withGateway(async (own, shop) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    shop.hold = promise;
    const client = await connected(own);
    const cutOff = call(client, "refund", { ids: ["a"] });
    await vi.waitFor(() => expect(shop.asked).toBe(1));
    own.wakeAgain();
    const again = await call(client, "refund", { ids: ["a"] });
    expect(textOf(again)).toContain("outcome_unknown");
    expect(shop.asked).toBe(1);
    shop.hold = undefined;
    expect((await call(client, "refund", { ids: ["a"] })).isError).not.toBe(true);
    expect(shop.asked).toBe(2);
    resolve();
    // The platform would have ended it.
    await cutOff.catch(() => undefined);
    await client.close();
  }));

it("remembers that a client has read what is not trusted", () => {
  const careful: Agent = { ...clerk, policy: requireTrusted(["sum_totals"]) };
  return withGateway(async (own) => {
    own.wakeAgain({ agents: [careful] });
    const client = await connected(own, { agent: "clerk" });
    const sum = () => call(client, "sum_totals", { totals: [1, 2] });
    expect(textOf(await sum())).toBe('{"sum":3}');
    await call(client, "list_orders");
    own.wakeAgain({ agents: [careful] });
    expect(textOf(await sum())).toContain("approval_required");
    await client.close();
  });
});

it.each(["GET", "DELETE"])("has no sessions: %s answers 405", (method) =>
  withGateway(async (own) => {
    const response = await own.call(method, "/conversations/one/mcp");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  }),
);
