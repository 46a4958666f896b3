import { describe, expect, it } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import type { Json } from "../../../src/value/json.ts";
import type { QueryEngine } from "../src/query-engine.ts";
import { engineQuery, Queries } from "./queries.ts";

const VALUES: Readonly<Record<string, Json>> = {
  orders: [
    { id: 1, who: "ann", total: 10, paid: true, at: "2026-01-05", lines: [{ sku: "a", qty: 2 }] },
    { id: 2, who: "Bob", total: 5.5, paid: false, at: "2026-02-05T10:00:00Z", lines: [] },
    {
      id: 3,
      who: "é😀",
      total: null,
      at: "x",
      lines: [{ sku: "b", qty: 1e21 }],
      extra: { a: [1] },
    },
  ],
  words: ["b", "a", 3, null],
  settings: { limit: 7, name: "it's", big: 9_007_199_254_740_991, low: -0.1 },
  page: "one\r\ntwo\n\nthree",
  number: 42,
  empty: [],
  big: Array.from({ length: 60 }, (_, id) => ({ id, k: id % 3 })),
};

const many = (count: number, text: string) => Array.from({ length: count }, () => text);

/** Records, or their JSON. */
const ANSWERS: readonly (readonly [sql: string, records: Json])[] = [
  ["SELECT 1 AS n, 2 AS n, 'a' AS `b c`", [{ n: 1, n_2: 2, "b c": "a" }]],
  ["SELECT who, total, paid FROM orders WHERE total > 6", [{ who: "ann", total: 10, paid: 1 }]],
  ["SELECT 9223372036854775807 AS n, 1e999 AS i", [{ n: 2 ** 63, i: null }]],
  ["SELECT sum(total) AS n, count(extra) AS e FROM orders", [{ n: 15.5, e: 1 }]],
  [
    'SELECT "index" AS i, who FROM orders ORDER BY who COLLATE NOCASE LIMIT 2',
    '[{"i":0,"who":"ann"},{"i":1,"who":"Bob"}]',
  ],
  [
    "SELECT upper(who) AS u, length(who) AS n, hex(who) AS h FROM orders WHERE id = 3",
    [{ u: "é😀", n: 2, h: "C3A9F09F9880" }],
  ],
  [
    "SELECT extra ->> '$.a[0]' AS a, lines AS l FROM orders WHERE id = 3",
    [{ a: 1, l: '[{"sku":"b","qty":1e+21}]' }],
  ],
  ["SELECT sku, qty FROM $orders[*].lines", '[{"sku":"a","qty":2},{"sku":"b","qty":1e21}]'],
  [
    'SELECT value, "index" FROM words WHERE value IS NOT NULL',
    '[{"value":"b","index":0},{"value":"a","index":1},{"value":3,"index":2}]',
  ],
  [
    "SELECT key, value, typeof(value) AS t FROM settings",
    [
      { key: "limit", value: 7, t: "integer" },
      { key: "name", value: "it's", t: "text" },
      { key: "big", value: 9_007_199_254_740_991, t: "integer" },
      { key: "low", value: -0.1, t: "real" },
    ],
  ],
  [
    "SELECT line, text FROM page WHERE text <> ''",
    '[{"line":1,"text":"one"},{"line":2,"text":"two"},{"line":4,"text":"three"}]',
  ],
  ["SELECT value FROM number", [{ value: 42 }]],
  [
    "SELECT id FROM orders WHERE who = $orders[0].who OR id IN ($words) OR total < $settings.limit",
    [{ id: 1 }, { id: 2 }, { id: 3 }],
  ],
  [
    "SELECT k, group_concat(id, '-') AS g FROM big WHERE id < 6 GROUP BY k HAVING k > 0",
    '[{"k":1,"g":"1-4"},{"k":2,"g":"2-5"}]',
  ],
  [
    "SELECT id, sum(id) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM big LIMIT 2 OFFSET 2",
    '[{"id":2,"s":3},{"id":3,"s":5}]',
  ],
  [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 4) SELECT sum(x) AS n FROM c",
    [{ n: 10 }],
  ],
  [
    "SELECT count(*) AS n FROM big a JOIN big b USING (k) LEFT JOIN orders o ON o.id = a.id",
    [{ n: 1_200 }],
  ],
  [`SELECT coalesce(${many(126, "NULL").join(", ")}, 1) AS a`, [{ a: 1 }]],
  [many(5, "SELECT 1 AS a").join(" UNION "), [{ a: 1 }]],
];

/** By default, `bad_query`. */
const REFUSALS: readonly (readonly [sql: string, message: string, code?: string])[] = [
  ["SELECT totl FROM orders", "no such column: totl. Did you mean total?"],
  ["SELECT 'é', * FORM orders", 'near "FORM": syntax error.'],
  ["SELECT nope(1)", "no such function: nope."],
  ["SELECT sum(total) FROM orders WHERE sum(total) > 1", "misuse of aggregate: sum()."],
  ["SELECT x'00' AS b", "b is bytes; write hex(…) or json(…) around it."],
  [`SELECT ${many(101, "1").join(" + ")}`, "Expression tree is too large (maximum depth 100)."],
  [`SELECT ${many(101, "1").join(", ")}`, "too many columns in result set."],
  [`SELECT 'a' LIKE '${"%a".repeat(26)}'`, "LIKE or GLOB pattern too complex."],
  [`SELECT coalesce(${many(128, "1").join(", ")})`, "too many arguments on function coalesce."],
  [many(6, "SELECT 1").join(" UNION ALL "), "too many terms in compound SELECT."],
  [`SELECT 1 IN (${many(101, "$page").join(", ")})`, "too many SQL variables"],
  ["selct 1", "This begins with selct. Did you mean SELECT?"],
  ["DELETE FROM orders", "This begins with DELETE.", "query_not_allowed"],
  ["WITH a AS (SELECT 1) DELETE FROM orders", "DELETE is not allowed.", "query_not_allowed"],
  ["SELECT 1; SELECT 2", "There is more than one statement.", "query_not_allowed"],
  [
    "SELECT count(*) FROM big a, big b, big c, big d, big e",
    "The statement would visit about",
    "query_too_expensive",
  ],
  [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT a.x FROM c a, (SELECT 1 UNION SELECT 2)",
    "maxQueryRecords is at most 100000",
    "limit_exceeded",
  ],
];

/** Tests what every query engine must do, with the same results and errors. `make` returns a new engine. */
export function describeQueryEngine(name: string, make: () => QueryEngine): void {
  describe(`${name}, as an engine of queries`, () => {
    const made = async () => {
      const engine = make();
      const queries = new Queries(() => engine);
      for (const [name, value] of Object.entries(VALUES)) await queries.store.save({ name, value });
      return { store: queries.store, engine, records: (sql: string) => queries.records(sql) };
    };

    it("answers like SQLite, from chunks and from real tables", async () => {
      const { records } = await made();
      for (const _ of [1, 2, 3]) {
        for (const [sql, expected] of ANSWERS) {
          const wanted = typeof expected === "string" ? JSON.parse(expected) : expected;
          expect.soft(await records(sql), sql).toEqual(wanted);
        }
      }
    });

    it("refuses with the same codes and messages", async () => {
      const { records } = await made();
      for (const [sql, message, code = "bad_query"] of REFUSALS) {
        const said = await records(sql).then(
          () => "answered",
          (error: Error) => `${codeOf(error)}: ${error.message}`,
        );
        expect
          .soft(said.slice(0, code.length + 2 + message.length), sql)
          .toBe(`${code}: ${message}`);
      }
    });

    it("requests missing tables, and forgets dropped ones", async () => {
      const { store, engine, records } = await made();
      const sql = "SELECT count(*) AS n FROM words, big";
      const expected = [{ n: 240 }];
      expect(await records(sql)).toEqual(expected);
      await engine.keep([]);
      expect(await records(sql)).toEqual(expected);
      await store.save({ name: "words", value: ["a"] });
      expect(await records(sql)).toEqual([{ n: 60 }]);
    });

    it("has only complete tables, under their own keys", async () => {
      const engine = make();
      const table = { key: "t 1", name: "$1", shown: "t" };
      const query = engineQuery("SELECT a FROM `$1`", {
        tables: [table],
        kept: ["tt 1"],
        names: ["a"],
        usesAllColumns: false,
      });
      const missing = { kind: "missing", keys: ["t 1"] };
      expect(await engine.run(query)).toEqual(missing);
      const shape = { columns: ["a"], rows: 3, chars: 16, showsIndex: false };
      await engine.add("t 1", { first: 0, json: "[[7]]" });
      // A new beginning: what was loaded before is gone.
      await engine.add("t 1", { first: 0, json: "[[1],[2]]" });
      await engine.add("tt 1", { first: 0, json: "[[9]]", shape: { ...shape, rows: 1 } });
      expect(await engine.run(query)).toEqual(missing);
      await engine.add("t 1", { first: 2, json: "[[3]]", shape });
      expect(await engine.run(query)).toMatchObject({ records: '[{"a":1},{"a":2},{"a":3}]' });
      await engine.keep(["tt 1"]);
      expect(await engine.run(query)).toEqual(missing);
      const kept = { ...query, tables: [{ ...table, key: "tt 1" }] };
      expect(await engine.run(kept)).toMatchObject({ records: '[{"a":9}]', count: 1 });
    });
  });
}
