import type { Json } from "../../../src/value/json.ts";
import { refusedStatements } from "./refused-statements.ts";

/** The tables of these statements. */
export const hostileTables: Readonly<Record<string, Json>> = {
  ...Object.fromEntries(
    ["big", "other"].map((name) => [
      name,
      Array.from({ length: 100_000 }, (_, id) => ({ id, k: id % 3, n: null, t: `t${id}` })),
    ]),
  ),
  // One row is much longer than the others.
  texts: Array.from({ length: 1_000 }, (_, id) => ({ id, t: "a".repeat(id === 0 ? 400_000 : 9) })),
  arrays: Array.from({ length: 1_000 }, (_, id) => ({
    id,
    a: Array.from({ length: id === 0 ? 100_000 : 1 }, () => 1),
  })),
};

/** The codes of refusals. */
export const REFUSALS: readonly string[] = [
  "bad_query",
  "limit_exceeded",
  "query_not_allowed",
  "query_too_expensive",
];

const repeated = (count: number, text: (at: number) => string, separator = ", ") =>
  Array.from({ length: count }, (_, at) => text(at)).join(separator);

/** Definitions that each use the one before. */
const chain = (
  count: number,
  select: (before: string, at: number) => string,
  first = "SELECT 1 AS a",
) =>
  `WITH c0 AS (${first}), ${repeated(count, (at) => `c${at + 1} AS (${select(`c${at}`, at)})`)} SELECT count(*) FROM c${count}`;

const nested = (count: number, open = "(") =>
  `SELECT ${open.repeat(count)}1${")".repeat(count)} AS a`;

/** Clauses that look like one row, a small limit or one group, but are not. */
const MISREAD_COUNTS = [
  "LIMIT 1 + 100000",
  "LIMIT 1, 1 + 100000",
  "LIMIT 1 * 100000",
  "LIMIT 1 | 131072",
  "LIMIT (100000)",
  "LIMIT -1",
  "LIMIT 1 << 20",
  "LIMIT 0, 100000",
  "LIMIT 1 - -100000",
  "LIMIT CASE WHEN 1 THEN 100000 END",
  "LIMIT 1 || '00000'",
].map((limit) => `SELECT count(*) FROM big a, (SELECT id FROM other ${limit}) b`);

/** Names that look like parts of a plan. */
const NAMES = [
  "CONSTANT ROW",
  "chunks of x",
  "rows of $1",
  "x USING (id=?)",
  "x VIRTUAL TABLE",
  "a EXISTS",
].flatMap((name) => [
  `SELECT count(*) FROM big AS "${name}", other AS "${name} 2"`,
  `WITH "${name}" AS MATERIALIZED (SELECT id FROM big) SELECT count(*) FROM "${name}", other`,
]);

const COMPILED = [
  ...[40].flatMap((depth) => [
    chain(
      depth,
      (before) =>
        `SELECT 1 AS a WHERE 1 IN (SELECT a FROM ${before}) OR 1 IN (SELECT a FROM ${before})`,
    ),
    chain(depth, (before) => `SELECT x.a FROM ${before} x, ${before} y`),
    chain(depth, (before) => `SELECT (SELECT a FROM ${before}) + (SELECT a FROM ${before}) AS a`),
    chain(depth, (before) => `SELECT a FROM ${before} UNION ALL SELECT a FROM ${before}`),
  ]),
  `SELECT 1 FROM ${"(".repeat(3_000)}${repeated(1_000, () => "big")}${")".repeat(3_000)}`,
  `SELECT 1 FROM ${"(".repeat(3_000)}${repeated(600, (at) => `t${at}`)}, ${repeated(200, () => "(SELECT 1)")}${")".repeat(3_000)}`,
  `SELECT 1 FROM ${repeated(100, (at) => `big b${at}`)}`,
  `SELECT 1 FROM ${repeated(1_000, () => "json_each(1)")}`,
  `SELECT ${repeated(1_200, () => "(SELECT 1)", "+")}`,
  `SELECT 1 WHERE 1 IN (${repeated(1_200, () => "(SELECT 1)")})`,
  nested(1_000),
  nested(1_000, "abs("),
  nested(1_000, "(SELECT "),
  nested(65),
];

const ARRAYS = [
  "SELECT count(*) FROM arrays x, json_each(x.a) y, json_each(x.a) z",
  "SELECT count(*) FROM arrays x, json_tree(x.a) y, json_tree(x.a) z",
  "SELECT count(*) FROM arrays x JOIN other b, json_each(x.a) y",
  "SELECT count(*) FROM arrays x, json_each((SELECT a FROM arrays LIMIT 1)) y, json_each(x.a) z",
  "SELECT count(*) FROM big, json_each((SELECT json_group_array(1) FROM other)) y",
  `SELECT count(*) FROM json_each('[' || replace(printf('%099d', 0), '0', '1,1,1,1,1,1,1,1,1,1,1,1,1,1,') || '1]') a, json_each('[' || replace(printf('%099d', 0), '0', '1,1,1,1,1,1,1,1,1,1,1,') || '1]') b, big`,
  `WITH a AS (SELECT '[' || replace(hex(printf('%099d', 0)), '3', '1,1,1,1,1,1,1,1,1,1,') || '1]' AS j) SELECT count(*) FROM a, json_each(a.j) b, json_each(a.j) c, json_each(a.j) d`,
];

const FUNCTIONS = [
  "SELECT instr(printf('%.800000c', 'a'), printf('%.400000c', 'a') || 'b')",
  "SELECT length(printf('%1000000d', 1))",
  "SELECT length(format('%*d', 1000000, 1))",
  "SELECT printf(t, 1) FROM texts",
  "SELECT printf((SELECT '%1000000d'), 1)",
  "SELECT length(zeroblob(1000000))",
  "SELECT length(hex(randomblob(1000000)))",
  'SELECT length("zeroblob"(1000000))',
  "SELECT [randomblob](9)",
  "SELECT random()",
  "SELECT id FROM big ORDER BY random() LIMIT 1",
  "SELECT total_changes()",
  "SELECT changes()",
  "SELECT last_insert_rowid()",
  "SELECT sqlite_compileoption_get(0)",
  "SELECT sqlite_compileoption_used('THREADSAFE')",
  "SELECT count(*) FROM texts x, texts y WHERE instr(x.t, y.t || 'b')",
  "SELECT count(*) FROM texts WHERE instr(t, substr(t, 200000) || 'b')",
  "SELECT count(*) FROM texts x JOIN texts y ON trim(x.t, y.t) = ''",
  "SELECT length(replace(replace(t, 'a', t), 'a', t)) FROM texts",
  "SELECT count(*) FROM texts x JOIN big b ON length(upper(x.t)) > 0",
  "SELECT count(*) FROM big WHERE length(replace((SELECT max(t) FROM texts), 'a', 'b')) > 0",
  `WITH RECURSIVE c(t, n) AS (SELECT 'a', 1 UNION ALL SELECT t || t, n + 1 FROM c LIMIT 60) SELECT max(length(t)) FROM c`,
  `WITH RECURSIVE c(t) AS (SELECT t FROM texts UNION ALL SELECT replace(t, 'a', 'bb') FROM c LIMIT 100000) SELECT max(length(t)) FROM c`,
  "SELECT count(*) FROM texts x JOIN other b ON json_patch(x.t, b.t) IS NULL",
];

const RECURSIONS = [
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10 + 1) SELECT count(*) FROM c",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 5, 10) SELECT count(*) FROM c",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c LIMIT 1",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT c.x FROM c, big LIMIT 100000) SELECT count(*) FROM c",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT count(*) FROM c a, c b",
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION SELECT (SELECT count(*) FROM big) + x FROM c LIMIT 100000) SELECT count(*) FROM c",
];

const JOINS = [
  "SELECT count(*) FROM big CROSS JOIN other",
  "SELECT count(*) FROM big a JOIN other b ON a.k = b.k",
  "SELECT count(*) FROM big a JOIN other b USING (k)",
  "SELECT count(*) FROM big a LEFT JOIN other b ON a.k = b.k",
  "SELECT count(*) FROM big a FULL JOIN other b ON a.k = b.k",
  "SELECT count(*) FROM big a JOIN other b ON a.id < b.id",
  "SELECT count(*) FROM big a JOIN other b ON a.id = b.id OR a.k = b.k",
  "SELECT count(*) FROM big a JOIN other b ON abs(a.id) = abs(b.id)",
  "SELECT count(*) FROM big a JOIN other b ON a.t LIKE b.t",
  "SELECT count(*) FROM big a WHERE (SELECT count(*) FROM other b WHERE b.id > a.id) > 1",
  "SELECT count(*) FROM big a WHERE EXISTS (SELECT 1 FROM other b WHERE b.id + a.id < 0)",
  "SELECT (SELECT max(b.id + a.id) FROM other b) FROM big a",
  "SELECT count(*) FROM (SELECT id FROM big) a, (SELECT id FROM other) b",
  "SELECT count(*) FROM (SELECT DISTINCT id FROM big) a, (SELECT DISTINCT id FROM other) b",
  "SELECT count(*) FROM (big a JOIN other b ON a.k = b.k)",
  "SELECT max(d) FROM (SELECT a.id + b.id AS d FROM big a, (SELECT id FROM other LIMIT 100) b ORDER BY d LIMIT 10000000)",
  "SELECT count(*) FROM (SELECT DISTINCT a.id + b.id AS d FROM big a, (SELECT id FROM other LIMIT 100) b)",
  "SELECT a.id FROM big a, other b UNION SELECT 1",
  "SELECT sum(a.id) OVER () FROM big a, other b",
  "WITH x AS (SELECT id, k FROM big UNION ALL SELECT id, k FROM other) SELECT count(*) FROM x a JOIN x b USING (k)",
];

/** 200 statements that must be refused before SQLite runs any of them. */
export const hostileStatements: readonly string[] = [
  ...refusedStatements,
  ...MISREAD_COUNTS,
  ...NAMES,
  ...COMPILED,
  ...ARRAYS,
  ...FUNCTIONS,
  ...RECURSIONS,
  ...JOINS,
];
