import { tool, type ToolSet } from "ai";
import * as z from "zod";

export const orderStatuses = [
  "pending",
  "paid",
  "shipped",
  "delivered",
  "cancelled",
  "refunded",
] as const;

export const orderSchema = z.object({
  id: z.string(),
  customer: z.string(),
  country: z.string().describe("ISO 3166 code of two letters"),
  status: z.enum(orderStatuses),
  currency: z.string(),
  total: z.number().describe("amount in the order's currency, exact to the cent"),
  items: z.number().int(),
  placed_at: z.string().describe("ISO 8601 in UTC"),
});

const groupSchema = z.object({ count: z.number().int(), total: z.number() });

export const orderSummarySchema = z.object({
  currency: z.string(),
  count: z.number().int(),
  total: z.number(),
  average: z.number(),
  largest: z.object({ id: z.string(), total: z.number() }).nullable(),
  by_status: z.record(z.string(), groupSchema),
  by_country: z.record(z.string(), groupSchema),
});

const monthlyTotalSchema = z.object({
  month: z.string().describe("e.g. 2025-01"),
  orders: z.number().int(),
  total: z.number(),
});

export type Order = Readonly<z.infer<typeof orderSchema>>;
export type OrderSummary = Readonly<z.infer<typeof orderSummarySchema>>;
export type MonthlyTotal = Readonly<z.infer<typeof monthlyTotalSchema>>;

type Group = Readonly<z.infer<typeof groupSchema>>;
type Report = {
  readonly title: string;
  readonly totals: readonly MonthlyTotal[];
  readonly summary: OrderSummary;
};

const orderCount = 5_000;
const year = 2025;
const firstNames = "Ada Bruno Chloe Dmitri Elif Farid Greta Hugo Ines Jonas Kaia Liam".split(" ");
const lastNames = "Abara Bianchi Costa Duarte Eriksen Fischer Garcia Haddad Ito Jansen".split(" ");
const countries = "US DE GB FR JP BR CA IN NL AU".split(" ");
// Each status is repeated by its weight: most orders of a year have arrived.
const statusDraw = [
  ...orderStatuses,
  ...Array.from({ length: 10 }, () => "delivered" as const),
  ...(["shipped", "shipped", "paid"] as const),
];

export const orders = {
  name: "orders",
  description: "Lists, totals and reports on a shop's 5,000 orders of 2025.",
  instructions: [
    "You answer questions about a shop's orders of 2025. Call list_orders once, then pass the kept",
    "list by reference to summarize_orders or monthly_totals; never copy orders.",
    "A report needs both of those results: call them in parallel, then write_report.",
  ].join("\n"),
  programs: true,
  tools: {
    list_orders: tool({
      description: "All orders of 2025, oldest first, or only those of one status.",
      inputSchema: z.object({ status: z.enum(orderStatuses).optional() }),
      execute: ({ status }) => listOrders(status),
    }),
    summarize_orders: tool({
      description:
        "Count, total, average, largest and groups of the orders that are in the given currency.",
      inputSchema: z.object({ orders: z.array(orderSchema), currency: z.string() }),
      execute: ({ orders: list, currency }) => summarize(list, currency),
    }),
    monthly_totals: tool({
      description: "Orders and their total for each of the 12 months of 2025.",
      inputSchema: z.object({ orders: z.array(orderSchema) }),
      execute: ({ orders: list }) => totalByMonth(list),
    }),
    write_report: tool({
      description: "A Markdown report from monthly totals and a summary.",
      inputSchema: z.object({
        title: z.string().min(1).max(200),
        totals: z.array(monthlyTotalSchema).min(1),
        summary: orderSummarySchema,
      }),
      execute: writeReport,
    }),
  } satisfies ToolSet,
  effects: {
    list_orders: "none",
    summarize_orders: "none",
    monthly_totals: "none",
    write_report: "none",
  },
} as const;

let allOrders: readonly Order[] | undefined;

/** Generated at the first call, not at import, because a Worker's start-up time is limited. */
export function listOrders(status: Order["status"] | undefined): readonly Order[] {
  allOrders ??= Object.freeze(makeOrders());
  return status === undefined ? allOrders : allOrders.filter((order) => order.status === status);
}

function makeOrders(): Order[] {
  const random = seededRandom(20_250_101);
  const pick = <Item>(list: readonly Item[], fallback: Item) =>
    list[Math.floor(random() * list.length)] ?? fallback;
  return Array.from({ length: orderCount }, (_, index) => {
    const items = 1 + Math.floor(random() * 9);
    return Object.freeze({
      id: `ord_${String(index + 1).padStart(5, "0")}`,
      customer: `${pick(firstNames, "Ada")} ${pick(lastNames, "Abara")}`,
      country: pick(countries, "US"),
      status: pick(statusDraw, "delivered"),
      currency: "USD",
      total: fromCents(items * (499 + Math.floor(random() * 7_500))),
      items,
      placed_at: placedAt((index + random()) / orderCount),
    });
  });
}

/** `fraction` is the part of the year that has passed: 0 or more, and below 1. */
function placedAt(fraction: number): string {
  const start = Date.UTC(year, 0);
  const moment = new Date(start + fraction * (Date.UTC(year + 1, 0) - start));
  return `${moment.toISOString().slice(0, 19)}Z`;
}

// mulberry32: 32 bits of state suffice for sample data, and all engines produce the same numbers.
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function summarize(list: readonly Order[], currency: string): OrderSummary {
  const counted = list.filter((order) => order.currency === currency);
  const all = groupOf(counted);
  const largest = counted.reduce<Order | null>(
    (best, order) => (best === null || order.total > best.total ? order : best),
    null,
  );
  return {
    currency,
    ...all,
    average: fromCents(all.count === 0 ? 0 : Math.round(toCents(all.total) / all.count)),
    largest: largest && { id: largest.id, total: largest.total },
    by_status: groupsBy(counted, (order) => order.status),
    by_country: groupsBy(counted, (order) => order.country),
  };
}

function totalByMonth(list: readonly Order[]): readonly MonthlyTotal[] {
  const byMonth = Map.groupBy(list, (order) => order.placed_at.slice(0, 7));
  return Array.from({ length: 12 }, (_, index) => {
    const month = `${year}-${String(index + 1).padStart(2, "0")}`;
    const { count, total } = groupOf(byMonth.get(month) ?? []);
    return { month, orders: count, total };
  });
}

function groupsBy(
  list: readonly Order[],
  keyOf: (order: Order) => string,
): Readonly<Record<string, Group>> {
  const groups = Array.from(Map.groupBy(list, keyOf), ([key, group]) => [key, groupOf(group)]);
  return Object.fromEntries(groups.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}

// Sums whole cents, because 0.1 + 0.2 is not 0.3 in floating point.
function groupOf(list: readonly Order[]): Group {
  const cents = list.reduce((sum, order) => sum + toCents(order.total), 0);
  return { count: list.length, total: fromCents(cents) };
}

function writeReport({ title, totals, summary }: Report): string {
  const byTotal = totals.toSorted((a, b) => b.total - a.total);
  const [best, worst] = [byTotal[0], byTotal.at(-1)];
  const { currency } = summary;
  const paragraphs = [
    `# ${title.split("\n").join(" ")}`,
    `The period has ${summary.count} orders worth ${money(summary.total)} ${currency} in total, ` +
      `${money(summary.average)} ${currency} each on average.${largestSentence(summary)}`,
    best && worst
      ? `The strongest month is ${best.month} with ${money(best.total)} ${currency}; the weakest ` +
        `is ${worst.month} with ${money(worst.total)} ${currency}.`
      : "",
    "## Month by month",
    monthTable(totals, currency),
    "## Where the orders stand",
    `By status: ${groupList(summary.by_status, currency)}.`,
    `By country: ${groupList(summary.by_country, currency)}.`,
  ];
  return `${paragraphs.filter((paragraph) => paragraph !== "").join("\n\n")}\n`;
}

function largestSentence({ largest, currency }: OrderSummary): string {
  if (largest === null) return "";
  return ` The largest order is ${largest.id} with ${money(largest.total)} ${currency}.`;
}

function monthTable(totals: readonly MonthlyTotal[], currency: string): string {
  const rows = totals.map((row) => `| ${row.month} | ${row.orders} | ${money(row.total)} |`);
  return [`| Month | Orders | Total (${currency}) |`, "| --- | ---: | ---: |", ...rows].join("\n");
}

function groupList(groups: Readonly<Record<string, Group>>, currency: string): string {
  const parts = Object.entries(groups).map(
    ([key, { count, total }]) => `${key} ${count} (${money(total)} ${currency})`,
  );
  return parts.length === 0 ? "none" : parts.join(", ");
}

function money(amount: number): string {
  return amount.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

function toCents(amount: number): number {
  return Math.round(amount * 100);
}

function fromCents(cents: number): number {
  return cents / 100;
}
