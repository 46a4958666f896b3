import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { codeOf } from "../../../../src/errors.ts";
import { MemoryStore } from "../../../../src/store/memory-store.ts";
import { QueryDatabases } from "../../../query/src/query-databases.ts";
import { runQuery } from "../../../query/src/run-query.ts";
import { queryProcess } from "../../src/agent/node-query-engine.ts";
import { accessTo } from "../../../query/test/queries.ts";
import { slow } from "../../../../test/support/slow.ts";

const pathOf = (module: string) =>
  fileURLToPath(new URL(`../../src/agent/${module}`, import.meta.url).href);
const file = pathOf("query-process.ts");

/** Each search finds all rows, which the plan does not show: takes hours. */
const HOURS =
  "SELECT count(*) AS n FROM rows a JOIN rows b ON a.same = b.same JOIN rows c ON b.same = c.same";

it(
  "ends a query that would run for hours, while others go on, and runs the next one",
  slow,
  async () => {
    const store = new MemoryStore();
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, same: 1 }));
    await store.save({ name: "rows", value: rows });
    const databases = new QueryDatabases(queryProcess(file, 5_000));
    const query = (sql: string) => runQuery(sql, accessTo(store, databases));
    expect((await query("SELECT count(*) AS n FROM rows")).records).toBe('[{"n":10000}]');
    let turns = 0;
    const others = setInterval(() => turns++, 50);
    const refusal = await query(HOURS).catch((error: unknown) => error);
    clearInterval(others);
    expect(codeOf(refusal)).toBe("query_too_expensive");
    expect(turns).toBeGreaterThan(10);
    expect((await query("SELECT count(*) AS n FROM rows")).records).toBe('[{"n":10000}]');
  },
);

it("ends with a program that is killed while a query runs", slow, async () => {
  const program = `
    import { queryProcess } from ${JSON.stringify(pathOf("node-query-engine.ts"))};
    const engine = queryProcess(${JSON.stringify(file)}, 600_000)();
    await engine.keep([]);
    await engine.add("t 1", {
      first: 0, json: JSON.stringify(Array.from({ length: 20_000 }, () => [1])),
      shape: { columns: ["a"], rows: 20_000, chars: 80_000, showsIndex: false },
    });
    console.log("running");
    await engine.run({
      sql: "SELECT count(*) AS n FROM \`$1\` a JOIN \`$1\` b ON a.a = b.a JOIN \`$1\` c ON b.a = c.a",
      tables: [{ key: "t 1", name: "$1" }], kept: [], parameters: [], names: ["a"], texts: [],
      usesAllColumns: false, aliases: [], recursionSteps: 1, isJoin: true,
    });
    console.log("ended");`;
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  let output = "";
  parent.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await expect.poll(() => output).toBe("running\n");
  const [child = 0] = readFileSync(`/proc/${parent.pid}/task/${parent.pid}/children`, "utf8")
    .split(" ")
    .map(Number);
  expect(existsSync(`/proc/${child}`)).toBe(true);
  // SQLite has begun.
  await new Promise((done) => setTimeout(done, 1_000));
  expect(output).toBe("running\n");
  parent.kill("SIGKILL");
  await once(parent, "exit");
  await expect.poll(() => existsSync(`/proc/${child}`)).toBe(false);
});
