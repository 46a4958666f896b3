import { describe, expect, it } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { RawServer } from "../../../test/support/raw-server.ts";

const ORDER = '{"id":1234567890123456789,"total":1.5,"code":"42","open":true}';

/** A gateway before a server that gives an order, and records what it is sent. */
async function shop() {
  const sent: string[] = [];
  const properties = {
    text: { type: "string" },
    count: { type: "integer" },
    flag: { type: "boolean" },
    ids: { type: "array", items: { type: "string" } },
    any: {},
  };
  const raw = new RawServer({
    "tools/list": () => ({
      tools: [
        { name: "order", inputSchema: { type: "object" } },
        { name: "take", inputSchema: { type: "object", properties } },
      ],
    }),
    "tools/call": ({ name, arguments: given }) => {
      if (name === "take") sent.push(JSON.stringify(given));
      return { content: [{ type: "text", text: name === "order" ? ORDER : "taken" }] };
    },
  });
  const { call } = await startGateway([{ name: "shop", make: () => raw }]);
  await call("order");
  return async (input: object) => {
    await call("take", input as Parameters<typeof call>[1]);
    return sent.at(-1);
  };
}

describe("a reference whose value has another type than the parameter", () => {
  it.each([
    [{ text: "$order_1.id" }, '{"text":"1234567890123456789"}'],
    [{ text: "$order_1.total" }, '{"text":"1.5"}'],
    [{ text: "$order_1.open" }, '{"text":"true"}'],
    [{ count: "$order_1.code" }, '{"count":42}'],
    [{ count: "$order_1.id" }, '{"count":1234567890123456789}'],
    [{ flag: "true" }, '{"flag":true}'],
    [{ ids: ["$order_1.id", "7"] }, '{"ids":["1234567890123456789","7"]}'],
    [{ any: "$order_1.id" }, '{"any":1234567890123456789}'],
    [{ any: "$order_1.code" }, '{"any":"42"}'],
    [{ text: "$order_1" }, JSON.stringify({ text: ORDER })],
  ])("%j goes on as %s", async (input, expected) => {
    expect(await (await shop())(input)).toBe(expected);
  });
});
