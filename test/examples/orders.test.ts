import { expect, it } from "vitest";
import { z } from "zod";
import {
  type Order,
  orders,
  orderSchema,
  orderSummarySchema,
} from "../../examples/agents/orders.ts";

const options = { toolCallId: "call_1", messages: [], context: {} };
const { list_orders, summarize_orders } = orders.tools;

async function listOrders(status?: Order["status"]): Promise<Order[]> {
  const list = await list_orders.execute(status === undefined ? {} : { status }, options);
  return z.array(orderSchema).parse(list);
}

async function summarize(list: Order[], currency = "USD") {
  return orderSummarySchema.parse(
    await summarize_orders.execute({ orders: list, currency }, options),
  );
}

function order(over: Partial<Order>): Order {
  return {
    id: "ord_1",
    customer: "Ada Abara",
    country: "US",
    status: "paid",
    currency: "USD",
    total: 1,
    items: 1,
    placed_at: "2025-01-01T00:00:00Z",
    ...over,
  };
}

it("list_orders gives 5,000 records of 2025, oldest first, with ids in order", async () => {
  const list = await listOrders();
  expect(list).toHaveLength(5_000);
  expect([list[0]?.id, list[4_999]?.id]).toEqual(["ord_00001", "ord_05000"]);
  expect(new Set(list.map(({ id }) => id)).size).toBe(5_000);
  const moments = list.map((one) => one.placed_at);
  expect(moments).toEqual(moments.toSorted());
  expect(moments.every((moment) => /^2025-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u.test(moment))).toBe(true);
});

it("list_orders returns only the orders with the given status", async () => {
  const all = await listOrders();
  const shipped = await listOrders("shipped");
  expect(shipped.length).toBeGreaterThan(0);
  expect(shipped).toEqual(all.filter(({ status }) => status === "shipped"));
});

it("summarize_orders sums to the cent where floating point would not", async () => {
  const summary = await summarize([
    order({ id: "a", total: 0.1 }),
    order({ id: "b", total: 0.2, status: "shipped", country: "DE" }),
    order({ id: "c", total: 0.7, country: "DE" }),
  ]);
  expect(summary).toEqual({
    currency: "USD",
    count: 3,
    total: 1,
    average: 0.33,
    largest: { id: "c", total: 0.7 },
    by_status: { paid: { count: 2, total: 0.8 }, shipped: { count: 1, total: 0.2 } },
    by_country: { DE: { count: 2, total: 0.9 }, US: { count: 1, total: 0.1 } },
  });
});
