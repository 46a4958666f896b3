import { expect, it } from "vitest";
import { nodeQueryEngine } from "../../adapters/src/agent/node-query-engine.ts";
import { describeQueryEngine } from "./contract.ts";
import { describeTextColumns, textRows as rows } from "./text-columns.ts";
import type { Json } from "../../../src/value/json.ts";
import { Editor } from "./editor.ts";
import { Queries } from "./queries.ts";

describeQueryEngine("node:sqlite", nodeQueryEngine);
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
  const queries = new Queries(nodeQueryEngine);
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

const reports: readonly (readonly [
  name: string,
  cells: readonly Json[],
  sql: string,
  said: RegExp | undefined,
])[] = [
  ["sqlitebrowser#3004", ["37,00", "4821,00", "933,00"], "max(v) FROM t", /',', '\.'\)/],
  [
    "bilig#46",
    ["$1,234.56", "($987.65)"],
    "sum(v) FROM t",
    /CAST\(REPLACE\(.*REPLACE\("v", '\$', ''\).*'\(', '-'\)/,
  ],
  ["firefly-iii#1087", ["€(63.12)", "(33.52)"], "sum(v) FROM t", /"v", '€'.*'\(', '-'\)/],
  ["rustledger#1473", ["5.00-", "2,000.00"], "sum(v) FROM t", /REPLACE\(substr\('-', 1, "v" LIKE/],
  ["actual#6206", ["\u2212100,00", "-1"], "sum(v) FROM t", /REPLACE\("v", '\u2212', '-'\)/],
  ["sugar#47", [true, false], "v FROM t WHERE v = 'true'", /is 1 or 0 for SQL/],
  ["ActiveAndroid#57", [true, null], "v FROM t WHERE lower(v) LIKE 'false'", /is 1 or 0 for SQL/],
  ["sequel#928", ["TRUE"], "sum(v) FROM t WHERE v IN ('no', 'true', 'TRUE')", /is 1 or 0 for SQL/],
  ["booleans as words", [true], "CASE WHEN v THEN 'true' ELSE 'false' END FROM t", undefined],
  ["osquery#6577", ["1/2/2026", "10/1/2026"], "v FROM t ORDER BY v", /dates such as "1\/2\/2026"/],
  ["NeverTooManyBooks#109", ["01.01.2020"], "strftime('%Y', v) FROM t", /YYYY-MM-DD/],
  ["letos#3904", ["04/01/2021"], "v FROM t WHERE v >= '2020-12-01'", /YYYY-MM-DD/],
  ["dates of SQL", ["2026-01-05", "2026-01-05T10:00Z"], "date(v) FROM t ORDER BY v", undefined],
  ["versions", ["1.2.10", "1.2.9"], "v FROM t ORDER BY v", undefined],
  ["cordova-sqlite-storage#405", [1e308], "v * 10 AS p FROM t", /"p": null is beyond the largest/],
  ["64 bits", ["-12345678901234567890"], "CAST(v AS INTEGER) FROM t", /ends at 64 bits/],
  ["a name in parentheses", ["(none)", "(1) one"], "v FROM t ORDER BY v", undefined],
  ["dbgate#1531", ["1254071346418286654"], "v FROM t WHERE v = 1254071346418286654", undefined],
];

it.each(reports)("%s: %j in SELECT %s has the note %s", async (...report) => {
  const [, cells, sql, said] = report;
  const queries = new Queries(nodeQueryEngine);
  await queries.store.save({ name: "t", value: cells.map((v) => ({ v })) });
  const { notes } = await queries.result(`SELECT ${sql}`);
  if (said === undefined) expect(notes).toEqual([]);
  else expect(notes).toEqual([expect.stringMatching(said)]);
});

it("numbers that a double does not give back are exact up to 64 bits, and texts beyond", async () => {
  const queries = new Queries(nodeQueryEngine);
  const raw = Reflect.get(JSON, "rawJSON") as (text: string) => Json;
  const digits = [
    "9007199254740993",
    "9007199254740992",
    "12345678901234567890",
    "0.12345678901234567891",
  ];
  queries.readAs = digits.map((text, at) => ({ id: raw(text), at }));
  await queries.store.save({ name: "ids", value: { rows: [{ id: 1 }] } });
  for (const [sql, records] of [
    ["SELECT id FROM $ids.rows WHERE at = 0", '[{"id":9007199254740993}]'],
    ["SELECT at FROM $ids.rows WHERE id = 9007199254740993", '[{"at":0}]'],
    ["SELECT at FROM $ids.rows WHERE id = 12345678901234567890", '[{"at":2}]'],
    ["SELECT count(DISTINCT id) AS n FROM $ids.rows", '[{"n":4}]'],
    [
      "SELECT id, count(*) AS n FROM $ids.rows WHERE at < 2 GROUP BY id ORDER BY id",
      '[{"id":9007199254740992,"n":1},{"id":9007199254740993,"n":1}]',
    ],
    ["SELECT count(*) AS n FROM $ids.rows a JOIN $ids.rows b ON a.id = b.id", '[{"n":4}]'],
    ["SELECT id FROM $ids.rows WHERE at = 3", '[{"id":"0.12345678901234567891"}]'],
  ] as const)
    expect((await queries.result(sql)).records, sql).toBe(records);
});

it("columns beyond the most are named when a statement may use them", async () => {
  const queries = new Queries(nodeQueryEngine);
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
  [
    "SELECT median(total) FROM t",
    /Write for the median SELECT avg\(x\) FROM \(SELECT x, row_number\(\)/,
  ],
  ["SELECT total::text FROM t", /Write CAST\(x AS type\), without ::/],
  ["SELECT extract(year from t.day) FROM t", /Write CAST\(strftime\('%Y', x\) AS INTEGER\)/],
  ["SELECT substring(day from 1 for 4) FROM t", /Write substr\(x, start, length\)/],
  ["SELECT trim(both ' ' from day) FROM t", /Write trim\(x, characters\)/],
  ["SELECT year(day) FROM t", /Write CAST\(strftime\('%Y', x\) AS INTEGER\)/],
  ["SELECT total FROM t WHERE day ILIKE 'a'", /Write LIKE/],
  ["SELECT * FROM t LIMIT 1 :x", /Write a value here/],
])("%s is answered with what works", async (sql, said) => {
  const queries = new Queries(nodeQueryEngine);
  await queries.store.save({ name: "t", value: [{ total: 1, day: "2026-02-01" }] });
  await expect(queries.records(sql)).rejects.toMatchObject({
    code: "bad_query",
    message: expect.stringMatching(said),
  });
});

it("the recipe for a median gives the median", async () => {
  const queries = new Queries(nodeQueryEngine);
  for (const [values, median] of [
    [[3, null, 1, 2], 2],
    [[4, 1, 2, 10], 3],
  ] as const) {
    await queries.store.save({ name: "t", value: values.map((x) => ({ x })) });
    const recipe = await queries.records("SELECT median(x) FROM t").catch(String);
    const [, sql = ""] = /median (SELECT .*)\.\n/.exec(String(recipe)) ?? [];
    expect(await queries.records(sql)).toEqual([{ "avg(x)": median }]);
  }
});
