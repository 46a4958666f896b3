import { expect, it } from "vitest";
import { refunds } from "../../examples/agents/refunds.ts";

const { get_order, refund_order } = refunds.tools;
const options = { toolCallId: "call_1", messages: [], context: {} };

it("an order is found by its id, and an unknown one is an error", async () => {
  const order = await get_order.execute({ id: "ord_00009" }, options);
  expect(order).toMatchObject({ id: "ord_00009", currency: "USD" });
  expect(() => get_order.execute({ id: "ord_99999" }, options)).toThrow("no order ord_99999");
});

it("a refund needs a person's approval", () => {
  expect(refund_order.needsApproval).toBe(true);
  expect(Object.keys(refunds.effects)).not.toContain("refund_order");
});
