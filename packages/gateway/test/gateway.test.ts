import { describe, expect, it, vi } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { nameIn, textIn } from "../../../test/support/gateway-process.ts";
import { toolServer } from "../../../test/support/raw-server.ts";
import { slow } from "../../../test/support/slow.ts";

const ORDERS = Array.from({ length: 500 }, (_, index) => ({ id: `ord_${index}`, total: index }));

const ofTexts = { type: "array", items: { type: "string" } };
const refund = {
  name: "refund",
  description: "Refunds.",
  inputSchema: { type: "object", properties: { ids: ofTexts, note: { type: "string" } } },
};
const readOnly = { annotations: { readOnlyHint: true } };

const said = (value: unknown) => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
});

/** Creates a shop that records its calls of `refund`. */
function shop(calls: unknown[] = []) {
  const tools = ["list_orders", { name: "token", ...readOnly }, refund, "fail"];
  return () =>
    toolServer(tools, ({ name, arguments: given }) => {
      const { ids, why } = given as { ids: readonly string[]; why?: string };
      if (name === "list_orders") return said(ORDERS);
      if (name === "token") return said("tok_123");
      if (name === "fail") return { ...said(`failed because of ${why}`), isError: true };
      if (!Array.isArray(ids)) return { ...said("It takes a list."), isError: true };
      calls.push(given);
      return said(`refunded ${ids.length}`);
    });
}

/** Creates a server that returns a text, and records the texts that it receives. */
function texts(json: string, written: unknown[]) {
  const properties = {
    text: { type: "string" },
    maybe: { type: ["string", "null"] },
    list: ofTexts,
  };
  const write = { name: "write", inputSchema: { type: "object", properties } };
  return () =>
    toolServer(["read", write], ({ name, arguments: given }) => {
      if (name === "read") return said(json);
      written.push(...Object.values(given as object).flat());
      return said("written");
    });
}

describe("a gateway", () => {
  it("shows parameters that take references, and resolves them before the server sees them", async () => {
    const calls: unknown[] = [];
    const { client, call } = await startGateway([{ name: "shop", make: shop(calls) }]);
    const { tools } = await client.listTools();
    const shown = tools.find(({ name }) => name === "refund");
    expect(shown).toMatchObject({ description: "Refunds." });
    expect(JSON.stringify(shown?.inputSchema)).toContain('"string"');
    const orders = nameIn(await call("list_orders"));
    expect(textIn(await call("refund", { ids: `$${orders}[0:3][*].id` }))).toBe("refunded 3");
    expect(calls).toEqual([{ ids: ["ord_0", "ord_1", "ord_2"] }]);
  });

  it.each([
    ["spaces and line breaks", '{\n  "a": [1, 2],\n  "b": {}\n}\n'],
    ["numbers as they were written", "[1.0, 1e3, 12345678901234567890, -0]"],
    ["escapes and repeated keys", '{"a":"\\u00e9\\/","a":1}'],
    ["a single value", " 42 "],
    ["a long list", `[\n${'  {"id": 1.50},\n'.repeat(20_000)}  {}\n]`],
    ["a list without spaces", JSON.stringify(ORDERS)],
  ])("passes JSON to a text parameter as it was received: %s", async (_what, json) => {
    const written: unknown[] = [];
    const { call } = await startGateway([{ name: "files", make: texts(json, written) }]);
    const name = nameIn(await call("read"));
    for (const input of [{ text: `$${name}` }, { maybe: `$${name}` }, { list: [`$${name}`] }]) {
      expect(textIn(await call("write", input))).toBe("written");
    }
    expect(new Set(written)).toEqual(new Set([json]));
  });

  it("answers a large result with a handle and a link, without its schema and content", async () => {
    const { client, call } = await startGateway([{ name: "shop", make: shop() }]);
    const result = await call("list_orders");
    const name = nameIn(result);
    expect(result.structuredContent).toBeUndefined();
    expect(result.content).toMatchObject([
      { type: "text" },
      { type: "resource_link", uri: `byref://variables/${name}`, mimeType: "application/json" },
    ]);
    expect(JSON.stringify(result).length).toBeLessThan(1_200);
    const { tools } = await client.listTools();
    const ofServers = tools.filter(({ name }) => !name.endsWith("_variable"));
    expect(ofServers.every(({ outputSchema }) => outputSchema === undefined)).toBe(true);
  });

  it("never shows a sealed result, whatever the client calls, but passes it on", async () => {
    const calls: unknown[] = [];
    const rules = { tools: { token: { sealed: true } } };
    const { client, call } = await startGateway([{ name: "shop", make: shop(calls), rules }]);
    const sealed = await call("token");
    const name = nameIn(sealed);
    const seen = [
      sealed,
      await call("read_variable", { name }),
      await call("query_variables", { sql: `SELECT * FROM ${name}` }),
      await call("query_variables", { sql: `SELECT $${name}` }),
      await call("edit_variable", { name, edits: [{ find: "tok", replace: "x" }] }),
      await call("fail", { why: `$${name}` }),
      await call("list_variables"),
      await client.listResources(),
      await client.readResource({ uri: `byref://variables/${name}` }).catch(String),
    ];
    for (const one of seen) expect(JSON.stringify(one)).not.toContain("tok_123");
    await call("refund", { ids: [`$${name}`] });
    expect(calls).toEqual([{ ids: ["tok_123"] }]);
  });

  it("refuses a call that needs approval if the client cannot ask, and says what to do", async () => {
    const calls: unknown[] = [];
    const rules = { approval: true };
    const { call } = await startGateway([{ name: "shop", make: shop(calls), rules }]);
    const refused = await call("refund", { ids: [] });
    expect(refused.isError).toBe(true);
    expect(textIn(refused)).toMatch(/^approval_required: .*configuration/su);
    expect(calls).toEqual([]);
  });

  it(
    "keeps the other servers' tools when one is down, and calls it again when it is back",
    slow,
    async () => {
      let isDown = true;
      const make = () => {
        if (isDown) throw new Error("It does not start.");
        return shop()();
      };
      const behind = [
        { name: "bad", make },
        { name: "good", make: shop() },
      ];
      const { client, call, gateway, log } = await startGateway(behind);
      const names = async () => (await client.listTools()).tools.map(({ name }) => name);
      expect(await names()).toContain("list_orders");
      expect(gateway.status).toMatchObject([{ state: "unavailable" }, { state: "connected" }]);
      expect(log.join("\n")).toContain("It does not start.");
      isDown = false;
      expect((await call("list_orders")).isError).not.toBe(true);
      await vi.waitFor(async () => expect(await names()).toContain("bad__list_orders"));
      // The name that the client knows still belongs to the same server.
      expect(await names()).toContain("list_orders");
    },
  );

  it.each([
    ["outcome_unknown", {}],
    ["server_unavailable", { idempotentHint: true }],
  ])("answers %s when a server dies in a call, and does not send it again", async (code, hints) => {
    let count = 0;
    const make = () =>
      toolServer([{ name: "die", annotations: hints }], (_input, wire) => {
        count++;
        return wire.close();
      });
    const { call } = await startGateway([{ name: "fragile", make }]);
    const result = await call("die");
    expect(result.isError).toBe(true);
    expect(textIn(result)).toContain(code);
    expect(count).toBe(1);
  });

  it("counts characters not sent, and wrong references that were corrected", async () => {
    const { call, state } = await startGateway([{ name: "shop", make: shop() }]);
    const orders = nameIn(await call("list_orders"));
    await call("refund", { ids: [`$${orders}[9999].id`] });
    await call("refund", { ids: "not a list" });
    await call("list_variables");
    expect(state.read()).toMatchObject({ calls: 4, wrongReferences: 1, recovered: 0 });
    await call("refund", { ids: [`$${orders}[0].id`] });
    await call("refund", { ids: [`$${orders}[1].id`] });
    const counts = state.read();
    expect(counts).toMatchObject({ calls: 6, kept: 3, wrongReferences: 1, recovered: 1 });
    expect(counts.charactersReceived).toBeGreaterThan(10 * counts.charactersSent);
  });
});
