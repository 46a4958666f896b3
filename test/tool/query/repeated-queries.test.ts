import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { QueryDatabase } from "../../../src/tool/query/query-database.ts";
import type { EngineQuery } from "../../../src/tool/query/query-engine.ts";
import { SqlQueryEngine } from "../../../src/tool/query/sql-query-engine.ts";

/** Creates an engine that records its statements. */
function recorded() {
  const database = new DatabaseSync(":memory:");
  const statements: string[] = [];
  const own: QueryDatabase = {
    query(statement, ...bindings) {
      statements.push(statement);
      const prepared = database.prepare(statement);
      prepared.setReturnArrays(true);
      const columns = prepared.columns().map(({ name }) => name);
      return { columns, rows: prepared.all(...bindings) as unknown as readonly unknown[][] };
    },
    undone: (work) => work(),
  };
  return { engine: new SqlQueryEngine(own), statements };
}

const table = { key: "t 1", name: "$1" };
const shape = { columns: ["n"], rows: 3, chars: 12, showsIndex: false };
const query = (sql: string, names: readonly string[]): EngineQuery => ({
  sql,
  tables: [table],
  kept: [],
  parameters: [],
  names,
  texts: [],
  usesAllColumns: false,
  facts: {
    aliases: new Map([["t", [{ table: "$1" }]]]),
    recursionSteps: 1,
    parameterChars: 0,
    isJoin: false,
    comparesLoosely: false,
    knowsFunctions: true,
    readsOnce: true,
    text: { calls: 0, elementCalls: 0, searches: 0, growth: 1, chars: 0, joinsRows: false },
  },
});

it("plans and checks a statement once per form of its tables", async () => {
  const { engine, statements } = recorded();
  const number = await engine.begin(table.key);
  await engine.add(number, { first: 0, json: "[[1],[2],[3]]" });
  await engine.complete(number, shape);
  const sum = query("SELECT sum(n) AS n FROM `$1` AS t", ["n"]);
  const explained = async () => {
    const before = statements.length;
    expect(await engine.run(sum)).toMatchObject({ kind: "done", records: '[{"n":6}]' });
    return statements.slice(before).filter((one) => one.startsWith("EXPLAIN")).length;
  };
  // The second use turns the chunks into a real table.
  expect([await explained(), await explained()]).toEqual([1, 1]);
  expect([await explained(), await explained()]).toEqual([0, 0]);
  await engine.keep([]);
  expect(await engine.run(sum)).toMatchObject({ kind: "missing" });
});

it("checks a refused statement again", async () => {
  const { engine } = recorded();
  const number = await engine.begin(table.key);
  await engine.add(number, { first: 0, json: "[[1],[2],[3]]" });
  await engine.complete(number, { ...shape, rows: 100_000 });
  const facts = {
    aliases: new Map([
      ["a", [{ table: "$1" }]],
      ["b", [{ table: "$1" }]],
    ] as const),
  };
  const cross = query("SELECT count(*) AS n FROM `$1` AS a, `$1` AS b", ["n"]);
  for (const _ of [1, 2, 3]) {
    const answer = await engine.run({
      ...cross,
      facts: { ...cross.facts, ...facts, isJoin: true },
    });
    expect(answer).toMatchObject({ kind: "expensive" });
  }
});

it("refuses a join after its first rows, and again without reading any", async () => {
  const { engine, statements } = recorded();
  const number = await engine.begin(table.key);
  const rows = Array.from({ length: 100_000 }, (_, at) => [at % 3]);
  await engine.add(number, { first: 0, json: JSON.stringify(rows) });
  await engine.complete(number, { ...shape, rows: rows.length, chars: 400_000 });
  const join = query("SELECT count(*) AS n FROM `$1` AS a JOIN `$1` AS b ON a.n = b.n", ["n"]);
  const aliases = new Map([
    ["a", [{ table: "$1" }]],
    ["b", [{ table: "$1" }]],
  ] as const);
  const refused = async () => {
    const before = statements.length;
    const answer = await engine.run({ ...join, facts: { ...join.facts, aliases, isJoin: true } });
    expect(answer).toMatchObject({ kind: "expensive" });
    return statements.slice(before).filter((one) => one.includes("GROUP BY"));
  };
  expect(await refused()).toEqual([expect.stringContaining("LIMIT 10000")]);
  expect(await refused()).toEqual([]);
});
