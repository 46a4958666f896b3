import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import { createTable, type Records } from "./generated-queries.ts";
import { Queries } from "./queries.ts";
import { slow } from "../../../test/support/slow.ts";

const ROWS = 10_000;
const big: Records = Array.from({ length: ROWS }, (_, id) => ({
  id,
  k: `K${id % 1_000}`,
  u: `u${id}`,
  tags: Array.from({ length: id % 4 }, (_tag, at) => `tag ${at}`),
}));

/** Joins, groups and ranks that read so much that only the data shows whether they may run. */
const STATEMENTS = [
  "SELECT count(*) AS n FROM big a JOIN (SELECT DISTINCT k FROM big) b ON a.k = b.k",
  "SELECT count(*) AS n FROM big a LEFT JOIN (SELECT DISTINCT k FROM big WHERE id < 10) b ON a.k = b.k WHERE b.k IS NULL",
  "WITH b AS (SELECT id, row_number() OVER (ORDER BY id) r FROM big) SELECT count(*) AS n FROM big a JOIN b ON a.id = b.id",
  "WITH b AS (SELECT *, row_number() OVER (ORDER BY id) AS r FROM big) SELECT count(*) AS n FROM b x JOIN b y ON y.r = x.r + 1",
  "WITH b(i, r) AS (SELECT id, row_number() OVER (ORDER BY u) FROM big) SELECT count(*) AS n FROM b x JOIN b y ON y.r = x.r + 1",
  "WITH r AS (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM big) SELECT count(*) AS n FROM r a JOIN r b ON a.k = b.k AND b.rn = a.rn + 1",
  "WITH r AS (SELECT *, row_number() OVER (PARTITION BY k ORDER BY id DESC) AS rn FROM big), last AS (SELECT * FROM r WHERE rn = 1) SELECT count(*) AS n FROM big JOIN last USING (k)",
  "WITH r AS (SELECT id, k, lag(id) OVER (ORDER BY id) AS p FROM big) SELECT count(*) AS n FROM r JOIN big b ON b.id = r.p",
  "SELECT count(*) AS n FROM big a JOIN (SELECT lower(k) AS l, count(*) AS c FROM big GROUP BY lower(k)) b ON lower(a.k) = b.l",
  "SELECT count(*) AS n FROM big a JOIN (SELECT lower(k) AS k, count(*) AS c FROM big GROUP BY lower(k)) b ON lower(a.k) = b.k",
  "SELECT count(*) AS n FROM big a JOIN (SELECT lower(k) AS l, count(*) AS c FROM big GROUP BY l) b ON lower(a.k) = b.l",
  "SELECT count(*) AS n FROM big a JOIN (SELECT lower(k) AS l, count(*) AS c FROM big GROUP BY 1) b ON lower(a.k) = b.l",
  "SELECT count(*) AS n FROM big a JOIN (SELECT k AS kk, max(id) AS m FROM big GROUP BY k) b ON a.k = b.kk AND a.id = b.m",
  "SELECT count(*) AS n FROM big a JOIN (SELECT x.k, count(*) AS c FROM big x JOIN big y ON x.id = y.id GROUP BY x.k) b ON a.k = b.k",
  "WITH x AS (SELECT k FROM big UNION SELECT u FROM big) SELECT count(*) AS n FROM big a JOIN x ON x.k = a.u",
  "SELECT count(*) AS n FROM big a WHERE EXISTS (SELECT 1 FROM big b WHERE b.k = a.k AND b.id > a.id)",
  "SELECT count(*) AS n FROM big a WHERE k IN (SELECT k FROM big GROUP BY k HAVING count(*) > 5)",
  "SELECT count(*) AS n FROM big, json_each(big.tags) AS tag",
  "SELECT tag.value AS tag, count(*) AS n FROM big, json_each(tags) AS tag GROUP BY 1 ORDER BY 1",
  "SELECT k, group_concat(u, ', ') AS us FROM big GROUP BY k ORDER BY k LIMIT 3",
  "WITH g AS (SELECT k, group_concat(u, ', ') AS us FROM big GROUP BY k) SELECT upper(k) AS k, length(us) AS n FROM g ORDER BY k LIMIT 3",
  "SELECT upper(substr(k, 1, 1)) || lower(substr(k, 2)) || ': ' || u AS name FROM big WHERE u LIKE '%99%' ORDER BY id LIMIT 3",
  "SELECT count(*) AS n FROM big WHERE instr(u, '99') > 0 AND replace(k, 'K', '') = '999'",
];

describe("statements over 10,000 records", slow, () => {
  const database = new DatabaseSync(":memory:");
  createTable(database, "big", big);
  database.exec(
    "CREATE INDEX by_k ON big (k); CREATE INDEX by_id ON big (id); CREATE INDEX by_u ON big (u)",
  );
  const queries = new Queries();

  it.each(STATEMENTS)("%s has the same result as on a plain table", async (sql) => {
    await queries.store.save({ name: "big", value: big as Json });
    const expected = database.prepare(sql).all();
    // First from chunks, then from a table.
    for (const _ of [1, 2]) expect(await queries.records(sql)).toEqual(expected);
  });
});
