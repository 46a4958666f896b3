import { beforeAll, describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
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
  // One row is much longer than the others, and has its text in a separate column.
  const skewed = Array.from({ length: ROWS }, (_, id) => ({
    id,
    k: id % 3,
    value: "v".repeat(id === 0 ? 400_000 : 9),
    lines: Array.from({ length: id === 0 ? 100_000 : 1 }, () => [1, 2]),
  }));
  const big = Array.from({ length: 100_000 }, (_, id) => ({ id }));
  for (const [name, value] of Object.entries({ orders, skewed, big })) {
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

describe("a statement that costs more than reading its elements", () => {
  it.each([
    // The row's own text is read for each element.
    "SELECT count(x.value->>'a') FROM skewed x, json_each(x.lines) e",
    "SELECT count(e.value->>x.value) FROM skewed x, json_each(x.lines) e",
    "SELECT count(x.value || e.value->>'a') FROM skewed x, json_each(x.lines) e",
    "SELECT count(e.json->>'$[0]') FROM skewed x, json_each(x.lines) e",
    "SELECT count(e.value->>'a'->>x.value->>'b') FROM skewed x, json_each(x.lines) e",
    "SELECT count(length(e.value || x.value)) FROM skewed x, json_each(x.lines) e",
    // An element is read for each of its own elements.
    "SELECT count(e.value->>0) FROM (SELECT json_array(lines) AS a FROM skewed) x, json_each(x.a) e, json_each(e.value) f",
    "SELECT count(e.value->>0) FROM skewed x, json_each(json_array(x.lines)) e, json_each(e.value) f",
    "SELECT count(e.value->>0) FROM skewed x, json_tree(x.lines) e",
    // The column belongs to another part of the statement, or to another table.
    "SELECT value->>'a' FROM (SELECT x.value, e.id FROM skewed x, json_each(x.lines) e)",
    "SELECT x.value->>'a' FROM skewed x, json_each(x.lines) e UNION ALL SELECT value->>'a' FROM skewed",
    // A search finds the longest row each time.
    "SELECT (SELECT count(*) FROM skewed x, json_each(x.lines) y WHERE x.id = b.id * 0) AS n FROM big b",
    "SELECT count(*) FROM big b JOIN (SELECT x.id AS id FROM skewed x, json_each(x.lines) y) z ON z.id = b.id * 0",
  ])("%s is refused", async (sql) => {
    const before = queries.read;
    const refusal = await queries.records(sql).catch((error: unknown) => error);
    expect(codeOf(refusal)).toBe("query_too_expensive");
    expect(queries.read).toBe(before);
  });
});
