import { expect, it } from "vitest";
import { refunds } from "../../examples/agents/refunds.ts";
import { Session } from "../support/demo-session.ts";

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

it("the demo model refunds the order that the question names, by reference", async () => {
  const { steps, answer } = await new Session(refunds.tools).ask("Please refund order ord_00009.");
  const [got, refunded] = steps;
  expect(got).toEqual([{ toolName: "get_order", input: { id: "ord_00009" } }]);
  const name = /\$\w+/u.exec(JSON.stringify(refunded?.[0]?.input))?.[0] ?? "";
  expect(refunded).toEqual([
    {
      toolName: "refund_order",
      input: { order: `${name}.id`, amount: `${name}.total`, currency: `${name}.currency` },
    },
  ]);
  expect(answer).toContain(".amount");
});
