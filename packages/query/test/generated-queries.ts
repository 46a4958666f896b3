import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { Queries } from "./queries.ts";

type Records = readonly Readonly<Record<string, Json>>[];

const KEYS = ["id", "name", "total", "Kind", "tags", "first name", "group", 'a"b', "0"];

const value = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -3, max: 9 }) },
  { weight: 2, arbitrary: fc.constantFrom("ann", "Bob", "", "10", "é😀", "it's", "2025-01-05") },
  { weight: 2, arbitrary: fc.constantFrom(0.5, 1e21, 2.25, -0.1, 9_007_199_254_740_991) },
  { weight: 1, arbitrary: fc.constantFrom<Json>(null, true, false, [1, "x"], { a: [2] }, []) },
);
const record = fc.record(Object.fromEntries(KEYS.map((key) => [key, value])), { requiredKeys: [] });
const table = fc.array(record, { minLength: 1, maxLength: 12 });

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const column = fc.constantFrom(...KEYS).map(quoted);
const literal = fc.constantFrom("0", "3", "-1.5", "'ann'", "'it''s'", "NULL", "x'00' IS NULL");

const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    column,
    literal,
    fc
      .tuple(
        tie("expression"),
        fc.constantFrom("+", "-", "*", "/", "||", "=", "<", ">=", "IS", "AND"),
        tie("expression"),
      )
      .map((parts) => `(${parts.join(" ")})`),
    fc
      .tuple(
        fc.constantFrom("length", "typeof", "upper", "abs", "quote", "json_valid"),
        tie("expression"),
      )
      .map(([name, inner]) => `${name}(${inner})`),
    fc
      .tuple(tie("expression"), tie("expression"), tie("expression"))
      .map(([a, b, c]) => `CASE WHEN ${a} THEN ${b} ELSE ${c} END`),
    tie("expression").map((inner) => `coalesce(${inner}, 'none')`),
    fc
      .tuple(column, fc.constantFrom("'%n%'", "'a_n'"))
      .map(([one, like]) => `(${one} LIKE ${like})`),
    column.map((one) => `(${one} IN (SELECT "id" FROM other))`),
    column.map((one) => `(${one} IN (1, 'ann', NULL))`),
    column.map((one) => `(SELECT count(*) FROM other AS o WHERE o."id" = ${one})`),
  ),
}));
const aggregate = fc
  .tuple(
    fc.constantFrom("count", "sum", "min", "max", "total", "group_concat", "json_group_array"),
    column,
  )
  .map(([name, one]) => `${name}(${one})`);

const plain = fc
  .tuple(expression, expression, expression)
  .map(([a, b, where]) => `SELECT ${a} AS a, ${b} AS b FROM t WHERE ${where}`);
const grouped = fc
  .tuple(column, aggregate, aggregate, expression)
  .map(
    ([key, a, b, where]) =>
      `SELECT ${key} AS k, ${a} AS a, ${b} AS b FROM t WHERE ${where} GROUP BY ${key}`,
  );
const joined = fc
  .tuple(fc.constantFrom("JOIN", "LEFT JOIN", "CROSS JOIN"), column, column)
  .map(
    ([join, a, b]) =>
      `SELECT l.${a} AS a, r.${b} AS b FROM t AS l ${join} other r ON l."id" = r."id"`,
  );
const defined = fc
  .tuple(column, expression)
  .map(
    ([one, where]) =>
      `WITH c AS (SELECT ${one} AS a FROM t WHERE ${where}), d(x) AS (SELECT count(*) FROM c) SELECT * FROM c, d`,
  );
const nested = expression.map(
  (where) => `SELECT a, count(*) AS n FROM (SELECT "Kind" AS a FROM t WHERE ${where}) GROUP BY a`,
);
const listed = fc
  .tuple(column, fc.integer({ min: 0, max: 4 }))
  .map(
    ([one, limit]) => `SELECT ${one} AS a, "index" FROM t ORDER BY ${one}, "index" LIMIT ${limit}`,
  );
const statement = fc.oneof(plain, grouped, joined, defined, nested, listed);

/** Creates a table with the same records in plain SQL. */
function createTable(database: DatabaseSync, name: string, records: Records): void {
  const keys = [...new Set(records.flatMap((one) => Object.keys(one)))];
  const types = keys.map((key) => typeOf(records.map((one) => one[key] ?? null)));
  const columns = [...keys.map((key, at) => `${quoted(key)} ${types[at]}`), '"index"'];
  database.exec(`CREATE TABLE ${name} (${columns.join(", ")})`);
  for (const [index, one] of records.entries()) {
    const values = [...keys.map((key) => sqlOf(one[key])), index];
    database.exec(`INSERT INTO ${name} VALUES (${values.join(", ")})`);
  }
}

/** The type that a column is declared with: only texts, only numbers, or anything. */
function typeOf(values: readonly Json[]): string {
  const types = new Set(values.filter((one) => one !== null).map((one) => typeof one));
  if (types.has("object") || types.size === 0) return "";
  if (types.has("string")) return types.size === 1 ? "TEXT" : "";
  return "NUMERIC";
}

function sqlOf(value: Json | undefined): string {
  if (value === undefined || value === null) return "NULL";
  if (typeof value === "boolean") return value ? "1" : "0";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `'${text.replaceAll("'", "''")}'`;
}

/** Returns the rows as JSON, sorted unless the statement has an order. */
function comparable(rows: readonly object[], sql: string): readonly string[] {
  const written = rows.map((row) => JSON.stringify(row));
  return /ORDER BY [^)]*$/.test(sql) ? written : written.toSorted();
}

function answerOf(database: DatabaseSync, sql: string): readonly string[] | "error" {
  try {
    const prepared = database.prepare(sql);
    prepared.setReadBigInts(true);
    const rows = prepared.all().map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => {
          const number = typeof value === "bigint" ? Number(value) : value;
          return [name, typeof number === "number" && !Number.isFinite(number) ? null : number];
        }),
      ),
    );
    return comparable(rows, sql);
  } catch {
    return "error";
  }
}

/** Compares queries over variables with the same statements over plain tables of `node:sqlite`. */
export async function compareQueries(numRuns: number): Promise<void> {
  let answered = 0;
  const queries = new Queries(nodeQueryEngine);
  const compare = async (t: Records, other: Records, sql: string) => {
    const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: false });
    for (const [name, records] of Object.entries({ t, other })) {
      await queries.store.save({ name, value: records as Json });
      createTable(database, name, records);
    }
    const expected = answerOf(database, sql);
    database.close();
    // The second query reads small variables from real SQLite tables.
    for (const _ of [1, 2]) {
      const found = await queries.records(sql).then(
        (rows) => comparable(rows as readonly object[], sql),
        () => "error" as const,
      );
      expect(found).toEqual(expected);
    }
    if (expected !== "error") answered++;
  };
  await fc.assert(
    fc.asyncProperty(table, table, statement, async (t, other, sql) => {
      // An unknown column is an error over plain tables, too.
      await compare(t as Records, other as Records, sql);
    }),
    { numRuns, seed: 24 },
  );
  // Enough statements succeed, so the comparison is not only of errors.
  expect(answered).toBeGreaterThan(numRuns / 3);
}
