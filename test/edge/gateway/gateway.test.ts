import { afterEach, describe, expect, it, vi } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { requireTrusted } from "../../../src/tool/policy.ts";
import {
  call,
  clerk,
  connected,
  servers,
  textOf,
  variableOf,
  variables,
  withGateway,
} from "../../support/gateway-shop.ts";
import type { Counts } from "../../../packages/gateway/src/statistics.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe.each(["modern", "legacy"] as const)("a conversation as an MCP server, %s", (era) => {
  it("passes a server's result to other tools by reference, and saves it as a variable", () =>
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

  it("uses variables that a turn or a person has saved", () =>
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

  it("creates no conversation by listing, and refuses an unknown tool", () =>
    withGateway(async (own) => {
      const client = await connected(own, { era });
      await client.listTools();
      await client.listResources();
      expect((await own.call("GET", "/conversations/one")).status).toBe(404);
      await expect(call(client, "nothing")).rejects.toThrow("There is no tool nothing");
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

it("shows only the name of a sealed result, and passes it to tools", () =>
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

it("queries variables with SQL", () =>
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
      expect(await nobody.json()).toMatchObject({ code: "not_found" });
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
    // A new conversation with the same name starts empty.
    await call(client, "list_orders");
    expect(await variables(own)).toEqual(["list_orders_1"]);
    await client.close();
  }));

it("says once that an interrupted call may have run", () =>
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
    // The platform would have ended this call.
    await cutOff.catch(() => undefined);
    await client.close();
  }));

it("remembers that a client has read untrusted data", () => {
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

it("continues its counts after hibernation, and starts at zero in a new conversation", () =>
  withGateway(async (own) => {
    const client = await connected(own);
    const counted = async () => {
      const { contents } = await client.readResource({ uri: "byref://stats" });
      const [stats] = contents;
      return JSON.parse(stats !== undefined && "text" in stats ? stats.text : "{}") as Counts;
    };
    expect(await counted()).toMatchObject({ calls: 0, kept: 0 });
    await call(client, "list_orders");
    const before = await counted();
    expect(before).toMatchObject({ calls: 1, kept: 1, bytesByReference: 0 });
    expect(before.charactersReceived).toBeGreaterThan(10 * before.charactersSent);
    own.wakeAgain();
    expect(await counted()).toEqual(before);
    await call(client, "refund", { ids: "$list_orders_1[*].id" });
    await call(client, "refund", { ids: "$list_orders_1.id" });
    own.wakeAgain();
    const after = await counted();
    expect(after).toMatchObject({ calls: 3, kept: 2, wrongReferences: 1 });
    expect(after.bytesByReference).toBeGreaterThan(2_000);
    await own.call("DELETE", "/conversations/one");
    expect(await counted()).toMatchObject({ calls: 0, kept: 0, wrongReferences: 0 });
    await client.close();
  }));

it("requires approval after untrusted results and shortens results as MCP_SERVERS says", () =>
  withGateway(
    async (own, shop) => {
      const client = await connected(own);
      await call(client, "refund", { ids: ["a"] });
      const token = textOf(await call(client, "get_token"));
      expect(token).toContain('"$var":"get_token_1"');
      const given = await call(client, "refund", { ids: ["$get_token_1.key"] });
      expect(textOf(given)).toContain("approval_required");
      expect(textOf(given)).toContain("$get_token_1 (mcp:shop)");
      // Input that the model writes after it has read the result is tainted too.
      expect(textOf(await call(client, "refund", { ids: ["b"] }))).toContain("approval_required");
      expect(shop.refunded).toEqual([["a"]]);
      await client.close();
    },
    {
      MCP_SERVERS: servers({
        tools: {
          "*": { inlineChars: 10 },
          refund: { approval: "untrusted", trusted: true },
        },
      }),
    },
  ));

it.each(["GET", "DELETE"])("has no sessions: %s answers 405", (method) =>
  withGateway(async (own) => {
    const response = await own.call(method, "/conversations/one/mcp");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
  }),
);
