import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { QueryDatabase } from "../src/query-database.ts";
import type { EngineQuery } from "../src/query-engine.ts";
import { SqlQueryEngine } from "../src/sql-query-engine.ts";

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
    aliases: [["t", [{ table: "$1" }]]],
    recursionSteps: 1,
    parameterChars: 0,
    isJoin: false,
  },
});

it("plans a statement each time that it runs", async () => {
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
  expect([await explained(), await explained()]).toEqual([1, 1]);
  await engine.keep([]);
  expect(await engine.run(sum)).toMatchObject({ kind: "missing" });
});

it("checks a refused statement again", async () => {
  const { engine } = recorded();
  const number = await engine.begin(table.key);
  await engine.add(number, { first: 0, json: "[[1],[2],[3]]" });
  await engine.complete(number, { ...shape, rows: 100_000 });
  const facts = {
    aliases: [
      ["a", [{ table: "$1" }]],
      ["b", [{ table: "$1" }]],
    ] as const,
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
