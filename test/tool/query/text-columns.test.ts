import { expect, it } from "vitest";
import { nodeQueryEngine } from "../../../src/agent/node-query-engine.ts";
import { describeTextColumns, textRows as rows } from "../../contract/text-columns.ts";
import { Editor } from "./editor.ts";
import { Queries } from "./queries.ts";

describeTextColumns("node:sqlite", nodeQueryEngine);

it.each(["zip > 5000", "score > 50", "mixed > 50", "stage IS NULL"])(
  "an edit where %s changes no record",
  async (where) => {
    const editor = new Editor();
    await editor.store.save({ name: "orders", value: rows });
    const said = await editor.refusal({ edits: [{ where, set: { size: "L" } }] });
    expect(said).toMatch(/^bad_query: ".* Nothing was changed/);
    expect(await editor.store.read("orders")).toEqual(rows);
  },
);

it("whole numbers are exact in statements, columns and results", async () => {
  const queries = new Queries();
  await queries.store.save({ name: "ids", value: [{ id: "12345678901234567890" }] });
  const { records } = await queries.result(
    "SELECT 9007199254740993 AS n, -9223372036854775808 AS m",
  );
  expect(records).toBe('[{"n":9007199254740993,"m":-9223372036854775808}]');
  const found = await queries.records(
    "SELECT count(*) AS n FROM ids WHERE id = 12345678901234567890",
  );
  expect(found).toEqual([{ n: 1 }]);
});

it("columns beyond the most are named when a statement may use them", async () => {
  const queries = new Queries();
  const wide = Object.fromEntries(Array.from({ length: 600 }, (_, at) => [`c${at + 1}`, at]));
  await queries.store.save({ name: "wide", value: [wide] });
  expect(await queries.records("SELECT c7, count(*) AS n FROM wide")).toEqual([{ c7: 6, n: 1 }]);
  for (const sql of ["SELECT * FROM wide", "SELECT c600 FROM wide"]) {
    await expect(queries.records(sql)).rejects.toMatchObject({
      code: "limit_exceeded",
      message: expect.stringMatching(
        /this is 600\..*c501, c502.*and 90 more.*FROM \$wide\[\*\]\.c501/,
      ),
    });
  }
});

it.each<[string, RegExp]>([
  ["SELECT median(total) FROM t", /write SELECT avg\(x\) FROM \(SELECT x, row_number\(\)/],
  ["SELECT total::text FROM t", /SQLite has no ::\. Write CAST\(total AS text\)/],
  ["SELECT sum(t.total)::int FROM t", /Write CAST\(x AS int\)/],
  ["SELECT extract(year from t.day) FROM t", /Write CAST\(strftime\('%Y', t\.day\) AS INTEGER\)/],
  [
    "SELECT count(*) FROM t WHERE EXTRACT(MONTH FROM date(day)) = 2",
    /strftime\('%m', date\(day\)\)/,
  ],
  ["SELECT substring(day from 1 for 4) FROM t", /Write substr\(x, start, length\)/],
  ["SELECT trim(both ' ' from day) FROM t", /Write trim\(x, characters\)/],
  ["SELECT year(day) FROM t", /Write CAST\(strftime\('%Y', x\) AS INTEGER\)/],
  ["SELECT * FROM t LIMIT 1 :x", /Write a value here/],
])("%s is answered with what works", async (sql, said) => {
  const queries = new Queries();
  await queries.store.save({ name: "t", value: [{ total: 1, day: "2026-02-01" }] });
  await expect(queries.records(sql)).rejects.toMatchObject({
    code: "bad_query",
    message: expect.stringMatching(said),
  });
});

it("the recipe for a median gives the median", async () => {
  const queries = new Queries();
  for (const [values, median] of [
    [[3, null, 1, 2], 2],
    [[4, 1, 2, 10], 3],
  ] as const) {
    await queries.store.save({ name: "t", value: values.map((x) => ({ x })) });
    const recipe = await queries.records("SELECT median(x) FROM t").catch(String);
    const [, sql = ""] = /write (SELECT .*)\.\n/.exec(String(recipe)) ?? [];
    expect(await queries.records(sql)).toEqual([{ "avg(x)": median }]);
  }
});
