/** Words that SQLite accepts as names, and a reader of statements may take for something else. */
const WORDS =
  `window over filter partition rows range groups exclude ties others current following preceding
  unbounded first last nulls do key offset materialized generated always row cast end after before plan query
  replace temp view virtual without abort begin by cascade column conflict database desc each explain fail for if
  ignore immediate initially instead like match no of pragma raise recursive reindex release rename restrict
  rollback savepoint trigger vacuum with`.split(/\s+/);

/** The tables of the engine, of SQLite, and those that the model must not read. */
const HIDDEN = ["chunk", "sqlite_schema", "s1", "k1", "real_1"];

const quoted = (name: string) => [
  `"${name}"`,
  `\`${name}\``,
  `[${name}]`,
  `'${name}'`,
  `main.${name}`,
  `"main"."${name}"`,
  `temp.[${name}]`,
];

/** The sealed value as SQL. The text of a statement may be repeated in an error, so it is in two parts. */
const GUESS = `'[[1,"7sea' || 'led7a",10],[2,"7sea' || 'led7b",20]]'`;

const OTHERS = [
  // Membership, as an oracle.
  `SELECT (1, 0, ${GUESS}) IN 'chunk' AS hit FROM p1`,
  `SELECT (SELECT 1, 0, ${GUESS}) IN chunk AS hit FROM p1 AS window`,
  "SELECT count(*) AS n FROM p1 AS window, chunk WHERE json LIKE '%7sea' || 'led7%'",
  `SELECT count(*) AS n FROM p1 AS window, chunk WHERE instr(json, ${GUESS}) > 0`,
  `SELECT max(length(json)) AS n FROM chunk, p1 AS over`,
  `SELECT (SELECT group_concat(json) FROM chunk) AS j FROM p1`,
  `SELECT CASE WHEN EXISTS (SELECT 1 FROM 's1') THEN json('{') ELSE 1 END AS a FROM p1`,
  // Definitions and compounds.
  "WITH x AS (SELECT * FROM chunk) SELECT * FROM x",
  "WITH window AS (SELECT 1 AS a) SELECT * FROM window, chunk",
  "WITH p1 AS (SELECT * FROM s1) SELECT * FROM p1",
  "WITH chunk AS (SELECT 1 AS a) SELECT * FROM main.chunk",
  "WITH s1 AS (SELECT * FROM main.s1) SELECT * FROM s1",
  "WITH RECURSIVE c(x) AS (SELECT json FROM chunk UNION SELECT x FROM c LIMIT 5) SELECT * FROM c",
  "SELECT id, t FROM p1 UNION SELECT id, json FROM chunk",
  "SELECT t FROM p1 UNION ALL SELECT t FROM s1 UNION ALL SELECT t FROM u1",
  "SELECT t FROM p1 EXCEPT SELECT json FROM chunk",
  "SELECT t FROM p1 INTERSECT SELECT t FROM k1",
  "VALUES ((SELECT json FROM chunk LIMIT 1))",
  "VALUES ((SELECT group_concat(t) FROM s1)), ((SELECT group_concat(t) FROM u1))",
  "SELECT * FROM p1 NATURAL JOIN chunk",
  "SELECT * FROM p1 JOIN (chunk AS c) ON 1",
  "SELECT * FROM (p1 AS over, chunk)",
  "SELECT * FROM ((SELECT * FROM chunk))",
  "SELECT * FROM p1 LEFT JOIN s1 USING (id)",
  "SELECT * FROM p1 AS window RIGHT JOIN u1 USING (id)",
  "SELECT * FROM u1 AS window, p1",
  "SELECT window.* FROM u1 AS window",
  "SELECT a.t, window.t AS u FROM p1 a, u1 window",
  // Table functions and what describes the database.
  "SELECT * FROM p1 AS window, pragma_table_list",
  "SELECT * FROM pragma_table_info('chunk')",
  "SELECT * FROM p1 AS window, pragma_database_list",
  "SELECT * FROM p1 AS over, pragma_function_list",
  "SELECT * FROM p1, dbstat",
  "SELECT * FROM dbstat",
  "SELECT * FROM sqlite_dbpage",
  "SELECT * FROM p1 AS window, sqlite_dbpage",
  "SELECT * FROM sqlite_stmt",
  "SELECT * FROM bytecode('SELECT * FROM chunk')",
  "SELECT * FROM p1 AS window, sqlite_temp_schema",
  "SELECT sql FROM sqlite_master",
  "SELECT * FROM p1 AS window, json_each((SELECT json_group_array(json) FROM chunk))",
  "SELECT j.value FROM chunk, json_each(chunk.json) j",
  "SELECT j.value FROM p1 AS window, json_tree((SELECT json FROM chunk LIMIT 1)) j",
  // More than a query.
  "PRAGMA table_list",
  "EXPLAIN SELECT * FROM chunk",
  "SELECT 1; SELECT * FROM chunk",
  "SELECT 1) ; SELECT * FROM chunk; SELECT (1",
  "ATTACH ':memory:' AS x",
  "UPDATE chunk SET json = '[]'",
  "DELETE FROM chunk RETURNING json",
  "SELECT load_extension('x')",
  "SELECT readfile('/etc/passwd') AS a FROM p1",
  "SELECT fts3_tokenizer('simple') AS a",
  "SELECT * FROM p1 AS window, /* s1 */ chunk -- s1",
  "SELECT * FROM p1 WHERE t = 's1' OR EXISTS (TABLE chunk)",
];

/** 300 and more statements that read, or look as if they read, what a model must not read. */
export const wallStatements: readonly string[] = [
  ...WORDS.flatMap((word, at) => [
    `SELECT c.json FROM p1 AS ${word}, chunk AS c WHERE c.seq >= 0`,
    `SELECT * FROM p1 ${word}, ${HIDDEN[at % HIDDEN.length]} AS c`,
    `SELECT * FROM p1 AS "${word}" JOIN ${HIDDEN[(at + 1) % HIDDEN.length]}`,
  ]),
  ...HIDDEN.flatMap((name) =>
    quoted(name).flatMap((written) => [
      `SELECT * FROM ${written}`,
      `SELECT * FROM p1 AS window, ${written}`,
      `SELECT t IN ${written} AS hit FROM p1`,
    ]),
  ),
  ...OTHERS,
];
