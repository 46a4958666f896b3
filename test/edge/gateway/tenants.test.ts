import { afterEach, expect, it, vi } from "vitest";
import { mcpGateway, queries } from "../../../src/byref.ts";
import { scriptedModel, startRuntime } from "../../../packages/testing/src/testing.ts";
import { call, clerk, connected, openShop, servers, textOf } from "../../support/gateway-shop.ts";

const ALICE = "a-key-of-alice-0123";
const BOB = "a-key-of-bob-456789";

afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs two tenants. Each of their conversations is a separate object, named as on the platform. */
async function withTenants() {
  const shop = openShop();
  const bindings = {
    AUTH: "bearer",
    API_KEYS: JSON.stringify({ [ALICE]: "alice", [BOB]: "bob" }),
    MCP_SERVERS: servers(),
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

it("no id reaches another tenant's conversation, and nothing works without a key", async () => {
  const { runtime, own } = await withTenants();
  await using _runtime = runtime;
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "read_variable", arguments: { name: "get_token_1" } },
  });
  const sent = (path: string, key?: string) =>
    own.call("POST", path, {
      body,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    });
  await own.call("PUT", "/conversations/one/variables/get_token_1", {
    body: '{"key":"tok_of_alice"}',
    headers: { "content-type": "application/json", authorization: `Bearer ${ALICE}` },
  });
  expect(await (await sent("/conversations/one/mcp", ALICE)).text()).toContain("tok_of_alice");
  const paths = [
    "/conversations/one/mcp",
    "/conversations/one/mcp?tenant=alice",
    "/conversations/alice%2Fone/mcp",
    `/conversations/${encodeURIComponent('["alice","one"]')}/mcp`,
    "/conversations/x/../one/mcp",
    "/conversations/one%00/mcp",
  ];
  for (const path of paths) {
    expect(await (await sent(path, BOB)).text()).not.toContain("tok_of_alice");
    const { status, ...response } = await sent(path);
    expect([401, 404], `${path} ${JSON.stringify(response)}`).toContain(status);
  }
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
