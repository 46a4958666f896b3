import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { listOrders } from "./orders.ts";

/** Refunds an order after a person has approved it. The payment is SAMPLE DATA: nothing is paid. */
export const refunds = {
  name: "refunds",
  description: "Refunds one of the 5,000 orders, when you approve it.",
  instructions: [
    "You refund orders. Call get_order, then refund_order with its id, total and currency by reference.",
    "A person approves each refund.",
  ].join("\n"),
  tools: {
    get_order: tool({
      description: "One order of 2025, by its id.",
      inputSchema: z.object({ id: z.string().describe("e.g. ord_00009") }),
      execute: ({ id }) => {
        const order = listOrders(undefined).find((one) => one.id === id);
        if (order === undefined) throw new Error(`There is no order ${id}.`);
        return order;
      },
    }),
    refund_order: tool({
      description: "Pays an order back. A person approves it.",
      inputSchema: z.object({
        order: z.string(),
        amount: z.number().positive(),
        currency: z.string().length(3),
      }),
      needsApproval: true,
      execute: ({ order, amount, currency }) => ({ order, amount, currency, status: "refunded" }),
    }),
  } satisfies ToolSet,
  effects: { get_order: "none" },
} as const;
