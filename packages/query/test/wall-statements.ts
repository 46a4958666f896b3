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

/** Questions about the sealed value. Random statements (`sql-fuzz.ts`) have other kinds. */
const ORACLES = [
  `SELECT (1, 0, ${GUESS}) IN 'chunk' AS hit FROM p1`,
  `SELECT (SELECT 1, 0, ${GUESS}) IN chunk AS hit FROM p1 AS window`,
  "SELECT count(*) AS n FROM p1 AS window, chunk WHERE json LIKE '%7sea' || 'led7%'",
  `SELECT count(*) AS n FROM p1 AS window, chunk WHERE instr(json, ${GUESS}) > 0`,
  `SELECT max(length(json)) AS n FROM chunk, p1 AS over`,
  `SELECT (SELECT group_concat(json) FROM chunk) AS j FROM p1`,
  `SELECT CASE WHEN EXISTS (SELECT 1 FROM 's1') THEN json('{') ELSE 1 END AS a FROM p1`,
];

/** 260 and more statements that read, or look as if they read, what a model must not read. */
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
  ...ORACLES,
];
