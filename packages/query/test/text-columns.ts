import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/value/json.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { Queries } from "./queries.ts";

const KEYS = "zip score amount price paid active stage mixed day max owed".split(" ");

export const textRows = [
  ["00150", "7", "1,234.50", "1.234,50", "$5", "TRUE", "won", 5, "2026-01-05", 10, "5.50-"],
  ["10001", "N/A", "20", "12,5", " 12 ", "FALSE", "", "N/A", "2025-03-01", 70, "1,000.00"],
  ["20002", "60", "3,000", "7", "$1,000", "TRUE", "lost", 61, "2026-02-07", 61, "\u22122"],
].map((cells) => Object.fromEntries(cells.map((cell, at) => [KEYS[at] ?? "", cell])));

/** Describes what an engine makes of columns of text: which uses have a note, and which have none. */
export function describeTextColumns(name: string, make: () => QueryEngine): void {
  const result = async (sql: string) => {
    const queries = new Queries(make);
    await queries.store.save({ name: "crm", value: textRows });
    const first = await queries.result(sql);
    // The second query reads a table of SQLite, the first one chunks of JSON.
    const { records, notes } = await queries.result(sql);
    expect({ records, notes }).toEqual({ records: first.records, notes: first.notes });
    const [record = {}] = JSON.parse(first.records) as object[];
    return { value: Object.values(record)[0] as Json, note: first.notes.join(" ") };
  };

  describe(`${name}, with a column of text`, () => {
    it.each<[string, number]>([
      ["zip = 10001", 1],
      ["zip IN (10001, 20002)", 2],
      ["zip = '00150'", 1],
      ["substr(zip, 1, 2) = '00'", 1],
      ["length(zip) = 5", 3],
      ["CAST(zip AS INTEGER) > 5000", 2],
      ["active", 2],
      ["active = TRUE", 2],
      ["active = 'TRUE'", 2],
      ["CASE WHEN active THEN 'true' ELSE 'false' END = 'true'", 2],
      ["lower(active) = 'false'", 1],
      ["day > '2026-01-01'", 2],
      ["stage = ''", 1],
      ["stage IN ('', 'won')", 2],
      ["coalesce(stage, '') = ''", 1],
      ["score = 'N/A'", 1],
      ["score LIKE '%/A'", 1],
      ["amount LIKE '%,%'", 2],
      ["max = '70'", 1],
      ["mixed = 'N/A'", 1],
      ["score = 'N/A' OR CAST(score AS REAL) < 10", 2],
      ["CAST(nullif(score, 'N/A') AS NUMERIC) > 50", 1],
      ["typeof(mixed) <> 'text' AND mixed > 50", 1],
      ["score GLOB '[0-9]*' AND CAST(score AS REAL) > 5", 2],
      ["CAST(REPLACE(amount, ',', '') AS REAL) > 1000", 2],
      ["CAST(REPLACE(REPLACE(price, '.', ''), ',', '.') AS REAL) > 10", 2],
    ])("finds by %s what sqlite3 finds, and says nothing", async (where, count) => {
      const found = await result(`SELECT count(*) AS n FROM crm WHERE ${where}`);
      expect(found).toEqual({ value: count, note: "" });
    });

    it.each<[string, RegExp, Json]>([
      [
        "count(*) FROM crm WHERE score > 50",
        /^"score" is text: 1 of 3 cells is no number.*"N\/A" in row 2 \(index 1\)/,
        1,
      ],
      ["count(*) FROM crm WHERE score <> 'N/A' AND score > 50", /"score" is text/, 1],
      ["count(*) FROM crm WHERE score GLOB '[0-9]*' AND score > 50", /"score" is text/, 1],
      ["count(*) FROM crm c WHERE 50 < c.score", /"score" is text/, 1],
      ["count(*) FROM crm WHERE score BETWEEN 1 AND 9", /"score" is text/, 1],
      [
        "count(*) FROM crm WHERE zip > 5000",
        /"zip" is numbers as texts, such as "00150" in row 1/,
        2,
      ],
      ["count(*) FROM crm WHERE zip = 150", /"zip" is numbers as texts/, 1],
      ["count(*) FROM crm WHERE zip IN (150, 7)", /"zip" is numbers as texts/, 1],
      ["sum(amount) FROM crm", /write CAST\(REPLACE\("amount", ',', ''\) AS REAL\)/, 4254.5],
      ["sum(amount * 2) FROM crm", /"amount" is text: 2 of 3 cells are no numbers/, 8509],
      ["sum(price) FROM crm", /REPLACE\(REPLACE\("price", '\.', ''\), ',', '\.'\)/, 1254],
      [
        "sum(paid) FROM crm",
        /write CAST\(REPLACE\(REPLACE\("paid", '\$', ''\), ',', ''\) AS REAL\)/,
        1017,
      ],
      [
        "sum(n) FROM (SELECT amount AS n FROM crm ORDER BY zip LIMIT 2)",
        /"amount" is text/,
        1254.5,
      ],
      ["sum(owed) FROM crm", /"owed" LIKE '%-'\) \|\| rtrim\("owed", '-'\)/, 992.5],
      ["avg(score) FROM crm", /write CAST\(NULLIF\("score", 'N\/A'\) AS REAL\)/, 33.5],
      ["avg(CAST(score AS REAL)) FROM crm", /"score" is text/, 33.5],
      ["avg(s) FROM (SELECT score AS s, 1 FROM crm)", /"score" is text/, 33.5],
      [
        "avg(s) FROM (WITH c AS MATERIALIZED (SELECT score AS s FROM crm) SELECT s FROM c)",
        /"score" is text/,
        33.5,
      ],
      [
        "sum(s) OVER (ORDER BY n) FROM (SELECT amount AS s, 0 AS n FROM crm)",
        /"amount" is text/,
        4254.5,
      ],
      [
        "sum(amount) FROM crm GROUP BY day > '2026' ORDER BY 1 DESC LIMIT 1",
        /"amount" is text/,
        4234.5,
      ],
      ["max(score) FROM crm", /"score" is text/, 60],
      [
        "max(mixed) FROM crm",
        /"mixed" is mixed: 1 of 3 cells is no number for SQL, such as "N\/A" in row 2/,
        61,
      ],
      ["count(*) FROM crm WHERE mixed > 50", /"mixed" is mixed/, 1],
      ["amount FROM crm ORDER BY amount LIMIT 1", /"amount" is text/, 20],
      ["avg(round(score)) FROM crm", /"score" is text/, 33.5],
      ["count(*) FROM crm WHERE score > max", /"score" is text/, 0],
      [
        "count(*) FROM crm WHERE stage IS NULL",
        /"stage" has 1 empty text, the first in row 2 \(index 1\), which are not NULL: write NULLIF\("stage", ''\)/,
        1,
      ],
      ["count(stage) FROM crm", /"stage" has 1 empty text/, 2],
      ["count(*) FROM crm WHERE stage > 50", /It has no numbers: compare it with a text/, 0],
    ])("SELECT %s depends on how texts are read, and says so", async (sql, said, right) => {
      const { note } = await result(`SELECT ${sql}`);
      expect(note).toMatch(said);
      const [, cleaning, name = ""] = / write ([^]*"([a-z]+)"[^]*)\.$/.exec(note) ?? [];
      if (cleaning === undefined) return;
      const cleaned = sql.replaceAll(new RegExp(`(c\\.)?\\b${name}\\b`, "g"), () => cleaning);
      expect(await result(`SELECT ${cleaned}`)).toEqual({ value: right, note: "" });
    });

    it("sorts, groups and is shown as text where that is meant", async () => {
      for (const sql of [
        "stage, min(day) AS d FROM crm GROUP BY stage ORDER BY stage",
        "score, count(*) AS n FROM crm GROUP BY score ORDER BY n",
        "zip, count(DISTINCT score) AS n FROM crm GROUP BY zip ORDER BY zip",
        "sum(active) AS n, max(zip) AS zip FROM crm",
        "* FROM crm ORDER BY day",
        "a.zip FROM crm a JOIN crm b ON a.zip = b.zip WHERE upper(a.stage) = 'WON'",
      ])
        expect((await result(`SELECT ${sql}`)).note).toBe("");
    });
  });
}
