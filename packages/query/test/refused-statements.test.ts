import { beforeAll, describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { Queries } from "./queries.ts";
import { slow } from "../../../test/support/slow.ts";

/** Statements over two tables of 100,000 records each. */
const refused: readonly string[] = [
  // Writes.
  "INSERT INTO big VALUES (1)",
  "CREATE TEMP VIEW x AS SELECT 1",
  "WITH a AS (SELECT 1) INSERT INTO big SELECT * FROM a",
  "WITH a AS (DELETE FROM big RETURNING *) SELECT * FROM a",
  "SELECT * FROM (DELETE FROM big RETURNING *)",
  // The database itself.
  "PRAGMA table_info('big')",
  "SELECT * FROM pragma_table_info('big')",
  "SELECT name FROM sqlite_master",
  "SELECT * FROM 'sqlite_master'",
  "SELECT load_extension('x')",
  "ATTACH ':memory:' AS x",
  "BEGIN",
  "EXPLAIN SELECT * FROM big",
  // Second statements, and comments and quotes that hide them.
  "SELECT 1; DELETE FROM big",
  "SELECT 1 /* ; */ ; /* */ DELETE FROM big -- ;",
  "SELECT 1 --\n; DELETE FROM big",
  "SELECT 1) ; DELETE FROM big; SELECT (1",
  "SELECT 1\0; DELETE FROM big",
  "/* SELECT */ DELETE FROM big",
  // Too much work.
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
  "WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100001) SELECT count(*) FROM c",
  "SELECT count(*) FROM big a, (SELECT id FROM other LIMIT 1 + 100000) b",
  'SELECT count(*) FROM big AS "CONSTANT ROW", other AS "rows of $1"',
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5, 10) SELECT count(*) FROM c",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT c.x FROM c, big LIMIT 100000) SELECT count(*) FROM c",
  `SELECT 1 FROM ${Array.from({ length: 100 }, (_, at) => `big b${at}`).join(", ")}`,
  `SELECT ${"(".repeat(1_000)}1${")".repeat(1_000)} AS a`,
  // Functions that make large values, or read the database.
  "SELECT length(zeroblob(1000000))",
  'SELECT length("randomblob"(1000000))',
  "SELECT id FROM big ORDER BY random() LIMIT 1",
  "SELECT last_insert_rowid()",
];

const ROWS = 100_000;
const CODES = ["bad_query", "limit_exceeded", "query_not_allowed", "query_too_expensive"];
const queries = new Queries(nodeQueryEngine);

const rows = Array.from({ length: ROWS }, (_, id) => ({ id, k: id % 3 }));

async function saveTables({ store }: Queries): Promise<void> {
  for (const name of ["big", "other"]) await store.save({ name, value: rows });
}

beforeAll(async () => {
  await saveTables(queries);
  await queries.records("SELECT (SELECT count(*) FROM big), (SELECT count(*) FROM other)");
  const texts = Array.from({ length: 1_000 }, (_, id) => ({
    id,
    t: "a".repeat(id === 0 ? 400_000 : 9),
  }));
  await queries.store.save({ name: "texts", value: texts });
  await queries.store.save({ name: "one", value: [{ t: "a".repeat(100_000) }] });
});

async function codeFor(sql: string): Promise<string> {
  return codeOf(await queries.records(sql).catch((error: unknown) => error));
}

describe("a statement that does more than read a little", () => {
  it.each(refused)("%j is refused before it runs", async (sql) => {
    const before = queries.read;
    expect(CODES).toContain(await codeFor(sql));
    expect(queries.read).toBe(before);
  });
});

describe("a cross join", () => {
  it.each([
    "SELECT count(*) FROM big, other",
    "SELECT * FROM big AS a CROSS JOIN other AS b",
    "SELECT a.id FROM big a, other b WHERE a.id + b.id > 5",
    "WITH t AS (SELECT id FROM big) SELECT count(*) FROM t AS a, t AS b",
    "SELECT (SELECT count(*) FROM other AS o WHERE o.id > b.id) AS n FROM big AS b",
    "SELECT count(*) FROM big a, json_each($big) AS b",
  ])("%s is refused before it runs", async (sql) => {
    const before = queries.read;
    expect(await codeFor(sql)).toBe("query_too_expensive");
    expect(queries.read).toBe(before);
  });

  it.each([
    "SELECT count(*) AS n FROM big AS a JOIN other AS b ON a.id = b.id",
    "SELECT count(*) AS n FROM big WHERE id IN (SELECT id FROM other)",
    "SELECT count(*) AS n FROM big NATURAL JOIN other",
    "SELECT count(*) AS n FROM big JOIN (SELECT id AS other_id FROM other LIMIT 1)",
    "SELECT count(*) AS n FROM $big[*].id AS a JOIN $other[*].id AS b ON a.value = b.value",
  ])("%s is not one, and runs on tables that have to be loaded", slow, async (sql) => {
    const fresh = new Queries(nodeQueryEngine);
    await saveTables(fresh);
    expect(await fresh.records(sql)).toEqual([{ n: ROWS }]);
    expect(fresh.loads).toBe(2);
  });
});

it.each<[string, unknown]>([
  ["SELECT 'DELETE FROM big; --' AS t;", [{ t: "DELETE FROM big; --" }]],
  ["SELECT 1 AS n -- ; DELETE", [{ n: 1 }]],
  ["SELECT 1 AS n /* ; DELETE */ ;;", [{ n: 1 }]],
  ["VALUES (1)", [{ column1: 1 }]],
  [
    "WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3) SELECT sum(x) AS n FROM c",
    [{ n: 6 }],
  ],
  ["SELECT count(*) AS n FROM big a JOIN other b USING (id)", [{ n: ROWS }]],
  [
    "SELECT count(*) AS n FROM big a JOIN (SELECT k, count(*) AS c FROM other GROUP BY k) b USING (k)",
    [{ n: ROWS }],
  ],
  [
    "SELECT count(*) AS n FROM big, (SELECT avg(id) AS a FROM other) WHERE id > a",
    [{ n: ROWS / 2 }],
  ],
  ["SELECT max(replace('abc', 'b', 'x')) AS n FROM big", [{ n: "axc" }]],
  ["SELECT [order].id AS n FROM big AS [order] WHERE id IS NOT DISTINCT FROM 3", [{ n: 3 }]],
])("a statement that looks similar runs: %s", async (sql, expected) => {
  expect(await queries.records(sql)).toEqual(expected);
});

const nested = (count: number, open: string, inner: string) =>
  `${open.repeat(count)}${inner}${")".repeat(count)}`;
const doubled = (count: number, join: (text: string) => string, inner: string): string =>
  count === 0 ? inner : doubled(count - 1, join, join(inner));

const list = `'[${Array.from({ length: 300 }, (_, at) => at).join(",")}]'`;
const joined = (call: (at: number) => string) =>
  Array.from({ length: 4 }, (_, at) => call(at)).join(", ");

describe("a short statement that makes much of little", () => {
  it.each([
    `FROM one AS window, ${joined((at) => `json_each(${list}) j${at}`)}`,
    `FROM one window, ${joined((at) => `json_each(${list}) AS j${at}`)}`,
    `FROM one AS filter JOIN ${joined((at) => `"json_each"(${list}) j${at}`)}`,
    `FROM one AS "order", ${joined((at) => `[json_each](${list}) AS [group${at}]`)}`,
    `FROM one window, ${joined((at) => `json_each j${at}`)} WHERE ${["j0", "j1", "j2", "j3"].map((alias) => `${alias}.json = ${list}`).join(" AND ")}`,
    // The names of the engine's own parts of a table, of which the first is one row.
    ...["chunks of $1", "elements of $1", "rows of $1"].map(
      (name) => `FROM one window, ${joined((at) => `json_each(${list}) "${name}${at || ""}"`)}`,
    ),
    // The reader sees small functions under the same names.
    `, (SELECT count(*) FROM json_each('[1]') j0, json_each('[1]') j1, json_each('[1]') j2, json_each('[1]') j3) FROM one window, ${joined((at) => `json_each(${list}) j${at}`)}`,
  ])("SELECT count(*) %s is refused", async (from) => {
    const before = queries.read;
    expect(CODES).toContain(await codeFor(`SELECT count(*) ${from}`));
    expect(queries.read).toBe(before);
  });

  it.each([
    `SELECT length(${nested(30, "hex(", "'a'")})`,
    `SELECT length(${doubled(5, (text) => `replace(${text}, 'a', '${"a".repeat(1_000)}')`, "'a'")})`,
    "SELECT length(group_concat(x.t, y.t)) FROM texts x, texts y",
    "SELECT length(replace(hex(zeroblob(1000000)), '0', 'aa'))",
    `SELECT count(*) FROM texts x, texts y WHERE x.t LIKE '%' || y.t || '%'`,
  ])("%s is refused", async (sql) => {
    const before = queries.read;
    expect(CODES).toContain(await codeFor(sql));
    expect(queries.read).toBe(before);
  });
});
