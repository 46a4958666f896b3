import { describe, expect, it, vi } from "vitest";
import {
  mcpGateway,
  queries,
  createRuntime,
  jwtAuthenticator,
  mcpTools,
} from "../../../src/byref.ts";
import { scriptedModel, startRuntime } from "byref/testing";
import { type Agent } from "../../../src/turn/agent.ts";
import {
  Client,
  type ClientCapabilities,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { tool } from "ai";
import * as z from "zod";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { toolOf } from "../../support/tool-of.ts";

const ORDERS = Array.from({ length: 400 }, (_, at) => ({
  id: `ord_${at}`,
  total: at,
  city: "Oslo",
}));
const SHOP = "https://shop.example/mcp";

interface Shop {
  readonly refunded: string[][];
  /** Headers of the requests that reached it. */
  readonly headers: Headers[];
}

/** Opens an MCP server behind a mock of `fetch`. */
function openShop(): Shop {
  const shop: Shop = { refunded: [], headers: [] };
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
    list_numbers: toolOf({ count: z.number() }, ({ count }) =>
      Array.from({ length: count }, (_, at) => at),
    ),
    pay: toolOf({ to: z.string() }, ({ to }) => `paid ${to}`),
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
}

/** A client of the official library, with the current or an older protocol version. */
async function connected(
  own: Pick<OwnRuntime, "call">,
  connecting: Connecting = {},
): Promise<Client> {
  const { agent, accepts, isManual = false, headers = {} } = connecting;
  const { era = "modern" } = connecting;
  const query = String(new URLSearchParams(agent && { agent }));
  const transport = new StreamableHTTPClientTransport(
    new URL(`${ORIGIN}/conversations/one/mcp?${query}`),
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

const call = (client: Client, name: string, input: object = {}) =>
  client.callTool({ name, arguments: { ...input } });

type Result = Awaited<ReturnType<typeof call>>;

const textOf = ({ content }: Result) =>
  content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
const variableOf = ({ _meta: meta }: Result) => meta?.["byref/variable"];

const MCP_SERVERS = JSON.stringify([
  { name: "shop", url: SHOP, headers: { "x-key": "of-the-shop" } },
]);

/** Runs the work against a runtime with a gateway in front of the shop. */
function withGateway<Done>(work: (own: OwnRuntime, shop: Shop) => Promise<Done>): Promise<Done> {
  const shop = openShop();
  const model = scriptedModel([]);
  const options = { agents: [clerk] as const, model, gateway: mcpGateway, queries, mcp: mcpTools };
  return withRuntime(options, (own) => work(own, shop), { bindings: { MCP_SERVERS } });
}

const variables = async (own: OwnRuntime) => {
  const response = await own.call("GET", "/conversations/one/variables");
  const { variables: listed } = await response.json<{ variables: { name: string }[] }>();
  return listed.map(({ name }) => name);
};

describe("gateway", () => {
  describe.each(["modern", "legacy"] as const)("a conversation as an MCP server, %s", (era) => {
    it("passes a server's result to other tools by reference, and saves it as a variable", () =>
      withGateway(async (own, shop) => {
        const client = await connected(own, { era, agent: "clerk" });
        const { tools } = await client.listTools();
        const names = tools.map(({ name }) => name);
        const some = ["sum_totals", "list_orders", "query_variables"];
        expect(names).toEqual(expect.arrayContaining(some));
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
  });

  it("shows the values to a person, and runs what was shown", () =>
    withGateway(async (own) => {
      const yes = await connected(own, { agent: "clerk", accepts: true });
      expect(textOf(await call(yes, "pay", { to: "Ada" }))).toBe("paid Ada");
      const no = await connected(own, { agent: "clerk", accepts: false });
      expect(textOf(await call(no, "pay", { to: "Eve" }))).toContain("tool_denied");
      const mute = await connected(own, { agent: "clerk" });
      expect(textOf(await call(mute, "pay", { to: "Eve" }))).toContain("approval_required");
      // The object loses its memory. State that a client received to send back stays valid.
      own.wakeAgain();
      expect(textOf(await call(yes, "pay", { to: "Bob" }))).toBe("paid Bob");
    }));

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

  it.each(["GET", "DELETE"])("has no sessions: %s answers 405", (method) =>
    withGateway(async (own) => {
      const response = await own.call(method, "/conversations/one/mcp?agent=support&tools=search");
      expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
    }),
  );
});

describe("tenants", () => {
  const ALICE = "a-key-of-alice-0123";
  const BOB = "a-key-of-bob-456789";

  /** Runs two tenants. Each of their conversations is a separate object, named as on the platform. */
  async function withTenants() {
    const shop = openShop();
    const bindings = {
      AUTH: "bearer",
      API_KEYS: JSON.stringify({ [ALICE]: "alice", [BOB]: "bob" }),
      MCP_SERVERS,
    };
    const runtime = await startRuntime(
      { agents: [clerk], model: scriptedModel([]), gateway: mcpGateway, queries },
      { bindings },
    );
    const own = {
      call: (method: string, path: string, init: RequestInit = {}) =>
        runtime.fetch(path, { ...init, method }),
    };
    const clientOf = (key: string, more: object = {}) =>
      connected(own, { ...more, headers: { authorization: `Bearer ${key}` } });
    return { runtime, shop, own, clientOf };
  }

  it("a tenant lists, reads and passes on nothing of another one, under the same names", async () => {
    const { runtime, shop, clientOf } = await withTenants();
    await using _runtime = runtime;
    const alice = await clientOf(ALICE);
    expect(textOf(await call(alice, "get_token"))).toContain("tok_1");
    await call(alice, "list_orders");
    const before = JSON.stringify(await alice.listResources());
    expect(before).toContain("byref://variables/get_token_1");

    const bob = await clientOf(BOB);
    const uri = "byref://variables/get_token_1";
    const guesses = [
      () => call(bob, "list_variables"),
      () => call(bob, "read_variable", { name: "get_token_1" }),
      () => call(bob, "query_variables", { sql: "SELECT * FROM get_token_1" }),
      () =>
        call(bob, "edit_variable", { name: "get_token_1", edits: [{ find: "tok", replace: "x" }] }),
      () => call(bob, "refund", { ids: ["$get_token_1.key"] }),
      () => call(bob, "refund", { ids: "$list_orders_1[*].id" }),
      () => bob.readResource({ uri }),
      () => bob.readResource({ uri: `${uri}?path=key` }),
      () => bob.readResource({ uri: "byref://variables/..%2F..%2Falice%2Fone%2Fget_token_1" }),
      () => bob.readResource({ uri: "byref://variables" }),
      () => bob.readResource({ uri: "byref://stats" }),
      () => bob.listResources(),
    ];
    const seen = await Promise.all(guesses.map((guess) => guess().catch(String)));
    const received = JSON.stringify([seen, shop.refunded]);
    expect(received).not.toContain("tok_1");
    expect(received).not.toContain("ord_1");
    expect(received).not.toContain('"uri":"byref://variables/get_token_1"');
    // Another tenant's conversation with the same name has its own variables.
    expect(textOf(await call(bob, "get_token"))).toContain("tok_1");
    expect(JSON.stringify(await bob.listResources())).not.toContain("list_orders_1");
    expect(JSON.stringify(await alice.listResources())).toBe(before);
  });

  it("a tenant's request state is invalid for another tenant", async () => {
    const { runtime, clientOf } = await withTenants();
    await using _runtime = runtime;
    const alice = await clientOf(ALICE, { agent: "clerk", accepts: true });
    expect(textOf(await call(alice, "pay", { to: "Ada" }))).toBe("paid Ada");
    const asked = await clientOf(ALICE, { agent: "clerk", isManual: true });
    const question = await asked.callTool(
      { name: "pay", arguments: { to: "Eve" } },
      { allowInputRequired: true },
    );
    if (!("requestState" in question)) throw new Error("It was not asked.");
    const requestState = String(question.requestState);
    const answered = {
      name: "pay",
      arguments: { to: "Eve" },
      inputResponses: { approve: { action: "accept" as const, content: {} } },
      requestState,
    };
    const bob = await clientOf(BOB, { agent: "clerk", isManual: true });
    await call(bob, "sum_totals", { totals: [1] });
    const stolen = await bob.callTool(answered, { allowInputRequired: true }).catch(String);
    expect(JSON.stringify(stolen)).not.toContain("paid");
    const own = await asked.callTool(answered, { allowInputRequired: true });
    expect(JSON.stringify(own)).toContain("paid Eve");
  });
});

it("gateway metadata names the issuer of tokens if AUTH=jwt has one", async () => {
  const { worker } = createRuntime({
    agents: [clerk],
    model: scriptedModel([]),
    gateway: mcpGateway,
    jwt: jwtAuthenticator,
  });
  const settings = {
    AUTH: "jwt",
    JWT_SECRET: "0123456789abcdef0123456789abcdef",
    JWT_TENANT_CLAIM: "sub",
    JWT_ISSUER: "https://login.example",
    CORS_ORIGINS: "https://inspector.example",
  };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
  const at = (path: string, env: object = settings, method = "GET") =>
    worker.fetch(
      new Request(`https://byref.example${path}`, {
        method,
        headers: { origin: "https://inspector.example" },
      }),
      env as unknown as Cloudflare.Env,
      context as unknown as ExecutionContext,
    );
  const metadata = "https://byref.example/.well-known/oauth-protected-resource";
  const refused = await at("/conversations/one/mcp", settings, "POST");
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toBe(
    `Bearer resource_metadata="${metadata}/conversations/one/mcp"`,
  );
  const described = await at("/.well-known/oauth-protected-resource/conversations/one/mcp");
  // A client in a browser reads it before it has a token (routecraftjs/routecraft#320).
  expect(described.headers.get("access-control-allow-origin")).toBe("https://inspector.example");
  expect(await described.json()).toEqual({
    resource: "https://byref.example/conversations/one/mcp",
    authorization_servers: ["https://login.example"],
    bearer_methods_supported: ["header"],
  });
  expect((await at("/.well-known/oauth-protected-resource")).status).toBe(200);
  expect((await at("/agents", settings)).headers.get("www-authenticate")).toBe("Bearer");
  const open = { AUTH: "none" };
  expect((await at("/.well-known/oauth-protected-resource", open)).status).toBe(404);
});
