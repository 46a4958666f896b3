import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { codeOf } from "../../../src/errors.ts";
import type { Json } from "../../../src/value/json.ts";
import { createTable, type Records } from "./generated-queries.ts";
import { Queries } from "./queries.ts";

const ROWS = 10_000;

/** Records with columns of few and of many different values, and with nulls. */
const records = (step: number): Records =>
  Array.from({ length: ROWS }, (_, at) => ({
    id: (at * step) % ROWS,
    k: at % 2_000,
    few: at % 9 === 0 ? null : `G${at % 400}`,
    name: `Name ${at % 5_000}`,
  }));

const column = fc.constantFrom("id", "k", "few", "name");
const grouped = column.map(
  (one) => `SELECT ${one} AS key, count(*) AS v FROM other GROUP BY ${one}`,
);
const lowered = fc.tuple(column, fc.constantFrom("1", "key", "lower")).map(([one, by]) => {
  const key = `lower(${one})`;
  return `SELECT ${key} AS key, max(id) AS v FROM other GROUP BY ${by === "lower" ? key : by}`;
});
const distinct = column.map((one) => `SELECT DISTINCT ${one} AS key, 1 AS v FROM other`);
const plain = fc
  .tuple(column, column)
  .map(([one, v]) => `SELECT ${one} AS key, ${v} AS v FROM other WHERE id % 3 = 0`);
const ranked = fc
  .tuple(column, column)
  .map(
    ([by, v]) =>
      `SELECT row_number() OVER (PARTITION BY ${by} ORDER BY id) AS key, ${v} AS v FROM other`,
  );
const numbered = column.map(
  (v) => `SELECT ${v} AS v, row_number() OVER (ORDER BY id DESC) AS key FROM other`,
);
const starred = column.map(
  (one) =>
    `SELECT key, v FROM (SELECT *, ${one} AS key, row_number() OVER (PARTITION BY ${one} ORDER BY id) AS v FROM other) WHERE v = 1`,
);
const united = fc
  .tuple(column, column, fc.constantFrom("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
  .map(([one, two, by]) => `SELECT ${one} AS key, 1 AS v FROM t ${by} SELECT ${two}, 1 FROM other`);
const inner = fc.oneof(grouped, lowered, distinct, plain, ranked, numbered, starred, united);

const statement = fc
  .tuple(
    inner,
    column,
    fc.constantFrom("JOIN", "LEFT JOIN"),
    fc.constantFrom("in", "with", "twice"),
  )
  .map(([select, one, join, form]) => {
    const from = form === "in" ? `(${select})` : "w";
    const on =
      form === "twice"
        ? `w AS a ${join} w AS b ON a.key = b.key`
        : `t AS a ${join} ${from} AS b ON a.${one} = b.key`;
    const own = form === "twice" ? "a.v" : "a.id";
    const answer = `SELECT count(*) AS n, count(b.v) AS found, min(${own}) AS least, max(b.v) AS most FROM ${on}`;
    return form === "in" ? answer : `WITH w AS (${select}) ${answer}`;
  });

/**
 * Compares joins over 10,000 records with the same statements over plain tables. Such joins run only if the
 * statement or the data shows that they read little, so some are refused.
 */
export async function compareJoins(numRuns: number): Promise<void> {
  const database = new DatabaseSync(":memory:", { enableDoubleQuotedStringLiterals: false });
  const queries = new Queries();
  for (const [name, rows] of Object.entries({ t: records(7), other: records(3) })) {
    await queries.store.save({ name, value: rows as Json });
    createTable(database, name, rows);
  }
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(statement, async (sql) => {
      const found = await queries.records(sql).catch((error: unknown) => codeOf(error));
      if (found === "query_too_expensive") return;
      const [expected] = database.prepare(sql).all();
      expect(found).toEqual([{ ...expected }]);
      answered++;
    }),
    { numRuns, seed: 24 },
  );
  expect(answered).toBeGreaterThan(numRuns / 2);
}
