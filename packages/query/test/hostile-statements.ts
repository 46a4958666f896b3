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
];

const FUNCTIONS = [
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
  "SELECT count(*) FROM big a JOIN other b ON a.id < b.id",
  "SELECT count(*) FROM big a JOIN other b ON a.id = b.id OR a.k = b.k",
  "SELECT count(*) FROM big a JOIN other b ON abs(a.id) = abs(b.id)",
  "SELECT count(*) FROM big a JOIN other b ON a.t LIKE b.t",
  "SELECT count(*) FROM big a WHERE (SELECT count(*) FROM other b WHERE b.id > a.id) > 1",
  "SELECT count(*) FROM big a WHERE EXISTS (SELECT 1 FROM other b WHERE b.id + a.id < 0)",
  "SELECT (SELECT max(b.id + a.id) FROM other b) FROM big a",
  "SELECT count(*) FROM (SELECT id FROM big) a, (SELECT id FROM other) b",
  "SELECT sum(a.id) OVER () FROM big a, other b",
];

/** Statements that must be refused before SQLite runs any of them. */
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
