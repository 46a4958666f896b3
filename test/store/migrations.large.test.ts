import { afterEach, describe, expect, it } from "vitest";
import { hasSchema, migrate } from "../../src/store/rows/migrations.ts";
import type { Sql } from "../../src/store/rows/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import {
  closeAll,
  emptySql,
  fails,
  migratedSql,
  one,
  rowsWritten,
  statementsOf,
} from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS + 3_600_000;
const mixed = `a${"😀€éb".repeat(300_000)}`;

afterEach(closeAll);

/** A database of version 0.1.0, with variables in a row and in chunks. */
async function version4(): Promise<ReturnType<typeof emptySql>> {
  const sql = migratedSql();
  await new SqlStore(sql, { now }).saveAll([
    { name: "orders", value: 1 },
    { name: "old", value: mixed },
  ]);
  for (const column of ["text_key", "made_of"])
    sql.run(`ALTER TABLE variable DROP COLUMN ${column}`);
  sql.run(`CREATE INDEX variable_scan ON variable (seq)`);
  sql.run(`UPDATE meta SET value = '4' WHERE key = 'schema'`);
  return sql;
}

describe("migrations", () => {
  const schemaOf = (sql: Sql) =>
    sql.all(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`);

  it("prepare an empty database for a store, and record the time", async () => {
    const sql = emptySql();
    expect(hasSchema(sql)).toBe(false);
    migrate(sql, START_MS);
    expect(hasSchema(sql)).toBe(true);
    const tables = ["event", "message", "meta", "turn", "variable"];
    expect(schemaOf(sql).map(({ name }) => name)).toEqual(tables);
    expect(sql.all("SELECT key, value FROM meta ORDER BY key")).toEqual([
      { key: "created", value: String(START_MS) },
      { key: "schema", value: "7" },
    ]);
    expect((await new SqlStore(sql, { now }).save({ value: 1 })).name).toBe("variable_1");
  });

  it("change nothing the second time, and cost two reads", async () => {
    for (const sql of [migratedSql(), await version4()]) {
      migrate(sql);
      await new SqlStore(sql, { now }).save({ name: "large", value: mixed });
      const before = { schema: schemaOf(sql), rows: dumpOf(sql) };
      expect(await rowsWritten(sql, () => migrate(sql))).toBe(0);
      expect(await statementsOf(sql, () => migrate(sql))).toBe(2);
      expect(isSame({ schema: schemaOf(sql), rows: dumpOf(sql) }, before)).toBe(true);
    }
  });

  it.each([
    ["an empty database", async () => emptySql(), 2],
    ["version 4", version4, 5],
  ])("leave %s unchanged after a failed step, wherever it failed", async (_, make, least) => {
    for (let statements = 0; ; statements++) {
      const sql = await make();
      const before = dumpOf(sql);
      sql.statementsLeft = statements;
      if (!(await fails(() => migrate(sql)))) {
        expect(statements).toBeGreaterThan(least);
        break;
      }
      expect(isSame(dumpOf(sql), before)).toBe(true);
      migrate(sql);
      expect(tablesOf(sql)).toMatchObject(tablesOf(migratedSql()));
    }
  });

  it("add what values are made of to version 4, whose values are kept and never stale", async () => {
    const sql = await version4();
    migrate(sql);
    expect(isSame(await new SqlStore(sql, { now }).read("old"), mixed)).toBe(true);
    expect(schemaOf(sql).map(({ name }) => name)).not.toContain("variable_scan");
    const madeOf = { orders: 1 };
    await new SqlStore(sql, { now }).save({ name: "new", value: 1, madeOf });
    await new SqlStore(sql, { now }).save({ name: "orders", value: 2 });
    const listed = new SqlStore(sql, { now }).list();
    expect(listed.map(({ name, madeOf: made, stale }) => [name, made, stale])).toEqual([
      ["old", undefined, undefined],
      ["new", madeOf, { madeOf: [{ name: "orders", version: 1, now: 2 }] }],
      ["orders", undefined, undefined],
    ]);
  });

  it("leave a newer database unchanged", () => {
    const sql = migratedSql();
    sql.run(`UPDATE meta SET value = '99' WHERE key = 'schema'`);
    migrate(sql);
    expect(one(sql, `(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema')`)).toBe(99);
  });
});

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns every table with its columns by name and whether it lacks row ids. Migrations add columns at the
 * end.
 */
function tablesOf(sql: Sql) {
  const tables = sql.all(`SELECT name, wr FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'`);
  return Object.fromEntries(
    tables
      .map(({ name, wr }) => [String(name), { wr, columns: columnsOf(sql, String(name)) }])
      .sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
  );
}

function columnsOf(sql: Sql, table: string) {
  return sql.all(
    `SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY name`,
    table,
  );
}

/** Returns every row of every table, with BLOBs as text. */
function dumpOf(sql: Sql) {
  const shown = (_: string, value: unknown) =>
    value instanceof ArrayBuffer ? Buffer.from(value).toString() : value;
  return Object.keys(tablesOf(sql)).map((name) => [
    name,
    JSON.stringify(sql.all(`SELECT * FROM ${name}`), shown),
  ]);
}
