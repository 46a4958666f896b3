import { expect, it } from "vitest";
import { QueryDatabases } from "../../../../src/tool/query/query-databases.ts";
import { runQuery } from "../../../../src/tool/query/run-query.ts";
import { valueAt } from "../../../../src/tool/variables/sequence.ts";
import { readable } from "../../../../src/tool/variables/variable-target.ts";
import { codeOf } from "../../../../src/errors.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import { QueryProcess } from "../../src/agent/process-query-engine.ts";

const file = new URL("../../src/agent/query-process.ts", import.meta.url);

it("ends a query that runs too long, while others go on, and runs the next one", async () => {
  const store = new MemoryStore();
  const rows = Array.from({ length: 100_000 }, (_, id) => ({ id, same: 1 }));
  await store.save({ name: "rows", value: rows });
  const running = new QueryProcess(file, 2_000);
  const databases = new QueryDatabases(() => running.engine());
  const query = (sql: string) =>
    runQuery(sql, {
      store,
      databases,
      most: "visible",
      syntaxes: [],
      read: valueAt,
      table: ({ name }) => readable(store, name),
      parameter: () => Promise.resolve(undefined),
    });
  let turns = 0;
  const others = setInterval(() => turns++, 50);
  // Each search finds all rows: the plan does not show it.
  const join = "SELECT count(*) AS n FROM rows a JOIN rows b ON a.same = b.same";
  const refusal = await query(join).catch((error: unknown) => error);
  clearInterval(others);
  expect(codeOf(refusal)).toBe("query_too_expensive");
  expect(turns).toBeGreaterThan(10);
  expect((await query("SELECT count(*) AS n FROM rows")).records).toBe('[{"n":100000}]');
}, 30_000);
