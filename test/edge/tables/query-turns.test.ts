import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { csvRecords, planSupport, queries, type RuntimeOptions } from "../../../src/byref.ts";
import { codeTool } from "../../../packages/code/src/code-tool.ts";
import type { Json } from "../../../src/value/json.ts";
import { scriptedModel, type Step } from "../../../packages/testing/src/testing.ts";
import { type Call, json } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { scriptedSandbox } from "../../support/scripted-sandbox.ts";

const orders = Array.from({ length: 2_000 }, (_, id) => ({
  id,
  customer: `c${id % 40}`,
  total: (id * 7) % 100,
  at: `2026-0${1 + (id % 9)}-15`,
  lines: [{ sku: `s${id % 5}`, qty: 1 + (id % 3) }],
}));
const customers = Array.from({ length: 40 }, (_, n) => ({
  key: `c${n}`,
  city: n % 4 === 0 ? "Oslo" : "Rome",
}));
const stock = `sku,left\n${Array.from({ length: 5 }, (_, n) => `s${n},${n * 100}`).join("\n")}\n`;

const agent = {
  name: "shop",
  description: "Orders.",
  instructions: "Help.",
  tools: {
    list_orders: tool({ inputSchema: z.object({}), execute: () => orders }),
    list_customers: tool({ inputSchema: z.object({}), execute: () => customers }),
  },
};

/** Questions about two results and a CSV file. The expected answers are computed without SQL. */
const totalOf = (records: readonly { total: number }[]) =>
  records.reduce((sum, { total }) => sum + total, 0);
const inOslo = new Set(customers.flatMap(({ key, city }) => (city === "Oslo" ? key : [])));
const sums = customers.map(({ key }) => totalOf(orders.filter(({ customer }) => customer === key)));
const questions: readonly (readonly [sql: string, answer: Json])[] = [
  ["SELECT count(*) AS n FROM list_orders_1", [{ n: 2_000 }]],
  [
    "SELECT sum(total) AS n FROM list_orders_1 WHERE customer = 'c7'",
    [{ n: totalOf(orders.filter(({ customer }) => customer === "c7")) }],
  ],
  [
    "SELECT c.city, sum(o.total) AS n FROM list_orders_1 o JOIN list_customers_1 c ON c.key = o.customer GROUP BY c.city ORDER BY c.city",
    [
      { city: "Oslo", n: totalOf(orders.filter(({ customer }) => inOslo.has(customer))) },
      { city: "Rome", n: totalOf(orders.filter(({ customer }) => !inOslo.has(customer))) },
    ],
  ],
  [
    "SELECT strftime('%m', at) AS month, count(*) AS n FROM list_orders_1 GROUP BY month ORDER BY n DESC, month LIMIT 1",
    [{ month: "01", n: 223 }],
  ],
  [
    "SELECT sku, sum(qty) AS n FROM $list_orders_1[*].lines GROUP BY sku ORDER BY sku LIMIT 1",
    [
      {
        sku: "s0",
        n: orders.filter(({ id }) => id % 5 === 0).reduce((sum, { id }) => sum + 1 + (id % 3), 0),
      },
    ],
  ],
  ["SELECT max(left) AS n FROM stock", [{ n: 400 }]],
  [
    "SELECT s.sku FROM stock s JOIN (SELECT sku, sum(qty) AS sold FROM $list_orders_1[*].lines GROUP BY sku) l USING (sku) WHERE l.sold > s.left ORDER BY s.sku",
    ["s0", "s1", "s2", "s3", "s4"].slice(0, 5).map((sku) => ({ sku })),
  ],
  [
    "SELECT id FROM list_orders_1 WHERE total = (SELECT max(total) FROM list_orders_1) ORDER BY id LIMIT 1",
    [{ id: 57 }],
  ],
  [
    "SELECT count(*) AS n FROM list_customers_1 WHERE key NOT IN (SELECT customer FROM list_orders_1)",
    [{ n: 0 }],
  ],
  [
    "WITH best AS (SELECT customer, sum(total) AS t FROM list_orders_1 GROUP BY customer) SELECT count(*) AS n FROM best WHERE t > (SELECT avg(t) FROM best)",
    [{ n: sums.filter((sum) => sum > totalOf(orders) / sums.length).length }],
  ],
];

const POST = (path: string, body: unknown) =>
  ["POST", `/conversations/x${path}`, json(body, { accept: "application/json" })] as const;

async function putStock(call: Call): Promise<void> {
  const headers = { "content-type": "text/csv" };
  const saved = await call("PUT", "/conversations/x/variables/stock", { body: stock, headers });
  expect(saved.status).toBe(201);
}

const listing: Step = [
  { tool: "list_orders", input: {} },
  { tool: "list_customers", input: {} },
];

function withShop(
  steps: readonly Step[],
  work: (own: OwnRuntime) => Promise<void>,
  more: Partial<RuntimeOptions> = {},
) {
  const model = scriptedModel(steps);
  const options = { agents: [agent] as const, model, queries, csv: csvRecords, ...more };
  return withRuntime(options, work);
}

describe("a model that only sees handles", () => {
  it("answers ten questions over two results and a CSV with one query each", () => {
    const asked = questions.map(([sql]): Step => [{ tool: "query_variables", input: { sql } }]);
    return withShop([listing, ...asked, "Done."], async (own) => {
      await putStock(own.call);
      const response = await own.call(...POST("/messages", { message: "Tell me." }));
      const { message } = await response.json<{
        message: { parts: readonly Readonly<Record<string, Json>>[] };
      }>();
      const outputs = message.parts.filter(({ type }) => type === "tool-query_variables");
      expect(outputs).toHaveLength(10);
      for (const [at, [sql, answer]] of questions.entries()) {
        const { output, errorText } = outputs[at] as {
          output?: { value: Json };
          errorText?: string;
        };
        expect(errorText, sql).toBeUndefined();
        expect(output?.value, sql).toEqual(answer);
      }
    });
  });

  it("is offered the tool with the first handle, and not before", () => {
    const model = scriptedModel([listing, "Done."]);
    return withShop(
      [],
      async (own) => {
        await own.call(...POST("/messages", { message: "Hi" }));
        const offered = model.calls.map(({ tools = [] }) =>
          tools.some(({ name }) => name === "query_variables"),
        );
        expect(offered).toEqual([false, true]);
      },
      { model },
    );
  });

  it("queries from code, and gets the records", () => {
    const sandbox = scriptedSandbox(async ({ call }) => {
      const answer = await call(
        "query_variables",
        JSON.stringify({ sql: "SELECT count(*) AS n FROM list_orders_1" }),
      );
      return { returned: JSON.stringify(answer) };
    });
    const code = () => (options: Parameters<typeof codeTool>[0]) =>
      codeTool({ ...options, sandbox });
    const steps: readonly Step[] = [listing, [{ tool: "run_code", input: { code: "x" } }], "Done."];
    return withShop(
      steps,
      async (own) => {
        const response = await own.call(...POST("/messages", { message: "Count." }));
        expect(await response.text()).toContain('[{\\\\\\"n\\\\\\":2000}]');
      },
      { code: code as never },
    );
  });
});

describe("a plan", () => {
  it("queries the result of a call before it", () =>
    withShop(
      [],
      async (own) => {
        const sql = "SELECT sum(total) AS n FROM †all_orders";
        const plan = {
          calls: [
            { _id: "sum", _tool: "query_variables", sql },
            { _id: "all", _tool: "list_orders", _outputPath: "†all_orders" },
          ],
        };
        const response = await own.call(...POST("/plans?run=true", plan));
        const text = await response.text();
        expect(text).toContain(`"n":${totalOf(orders)}`);
      },
      { plans: planSupport() },
    ));
});
