import { beforeAll, describe, expect, it } from "vitest";
import { Queries } from "./queries.ts";

const ROWS = 1_000;
const LINES = 60;
const queries = new Queries();

const line = (row: number, at: number) => ({
  sku: `s${at % 7}`,
  qty: (row + at) % 5,
  at: { city: "Oslo" },
  note: "n".repeat(60),
});

beforeAll(async () => {
  const orders = Array.from({ length: ROWS }, (_, id) => ({
    id,
    note: "x".repeat(500),
    lines: Array.from({ length: LINES }, (_line, at) => line(id, at)),
  }));
  for (const [name, value] of Object.entries({ orders })) {
    await queries.store.save({ name, value });
    await queries.records(`SELECT count(*) AS n FROM ${name}`);
  }
});

describe("a statement that reads each element of long rows", () => {
  it.each([
    "SELECT e.value->>'sku' AS sku, count(*) AS n FROM orders, json_each(orders.lines) AS e GROUP BY 1",
    "SELECT value->>'sku' AS sku, count(*) AS n FROM orders, json_each(lines) WHERE value->'at'->>'city' = 'Oslo' GROUP BY 1",
    "SELECT json_extract(e.value, '$.sku') AS sku, count(*) AS n FROM orders AS o JOIN json_each(o.lines) AS e WHERE upper(e.value->>'sku') <> 'X' GROUP BY 1",
  ])("%s is answered", async (sql) => {
    const counted = (await queries.records(sql)) as readonly { sku: string; n: number }[];
    expect(counted.map(({ sku }) => sku)).toEqual(Array.from({ length: 7 }, (_, at) => `s${at}`));
    expect(counted.reduce((sum, { n }) => sum + n, 0)).toBe(ROWS * LINES);
  });
});
