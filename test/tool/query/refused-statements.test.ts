import { beforeAll, describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import { Queries } from "./queries.ts";
import { refusedStatements } from "./refused-statements.ts";

const ROWS = 100_000;
const queries = new Queries();

beforeAll(async () => {
  for (const name of ["big", "other"]) {
    const rows = Array.from({ length: ROWS }, (_, id) => ({ id, k: id % 3 }));
    await queries.store.save({ name, value: rows });
    await queries.records(`SELECT count(*) FROM ${name}`);
  }
});

describe("40 statements that do more than read a little", () => {
  it("are 40", () => expect(refusedStatements).toHaveLength(40));

  it.each(refusedStatements)("%j is refused before it runs", async (sql) => {
    const before = queries.read;
    const refused = await queries.records(sql).catch((error: unknown) => error);
    expect(["bad_query", "query_not_allowed", "query_too_expensive"]).toContain(codeOf(refused));
    expect(queries.read).toBe(before);
  });

  it("change nothing", async () => {
    expect(await queries.records("SELECT count(*) AS n FROM big")).toEqual([{ n: ROWS }]);
  });
});

describe("statements that look like those", () => {
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
  ])("%s runs", async (sql, expected) => {
    expect(await queries.records(sql)).toEqual(expected);
  });
});
