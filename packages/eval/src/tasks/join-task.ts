import * as z from "zod";
import { Random } from "../random.ts";
import { nameOf, sentenceOf } from "./documents.ts";
import { lastCall, recordingTools } from "./recording-tool.ts";
import type { Task } from "./task.ts";
import { same } from "./verdict.ts";

const COUNTRIES = ["NO", "IT", "FR", "PT", "AT"];

/** A total over two results that have to be joined. */
export function joinTask({
  orders,
  seed,
}: {
  readonly orders: number;
  readonly seed: number;
}): Task {
  const random = new Random(seed);
  const customers = Array.from({ length: Math.ceil(orders / 10) }, (_, index) => ({
    id: `c-${index + 1}`,
    name: nameOf(random),
    country: random.one(COUNTRIES),
  }));
  const list = Array.from({ length: orders }, (_, index) => ({
    id: `o-${index + 1}`,
    customer: random.one(customers).id,
    amount: random.between(1, 500),
    note: sentenceOf(random, 5),
  }));
  const country = random.one(customers).country;
  const chosen = new Set(customers.filter((one) => one.country === country).map(({ id }) => id));
  const total = list
    .filter(({ customer }) => chosen.has(customer))
    .reduce((sum, { amount }) => sum + amount, 0);
  return {
    id: `join-${orders}-${seed}`,
    family: "join",
    size: JSON.stringify(list).length,
    turns: [
      {
        user: `Call list_orders and list_customers. Add up the "amount" of all orders whose "customer" is the "id" of a customer with the "country" "${country}", and report the sum with report_total. Answer "done" when it is reported.`,
      },
    ],
    open() {
      const { tools, received } = recordingTools({
        list_orders: { description: "Returns all orders.", input: {}, run: () => list },
        list_customers: { description: "Returns all customers.", input: {}, run: () => customers },
        report_total: {
          description: "Reports a sum.",
          input: { total: z.number() },
          run: () => ({ reported: true }),
        },
      });
      return { tools, check: () => same(total, lastCall(received, "report_total")?.total) };
    },
  };
}
