import { expect, it } from "vitest";
import { PrefixedSql } from "../../src/durable/prefixed-sql.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import { contractOnSql } from "../contract/variable-store-on-sql.ts";
import { NodeSql } from "../support/node-sql.ts";

it("a store with a prefix stays apart from tables of the same names", async () => {
  const sql = new NodeSql();
  for (const name of ["meta", "variable", "chunk", "message"]) {
    sql.run(`CREATE TABLE ${name} (own TEXT)`);
    sql.run(`INSERT INTO ${name} VALUES ('mine')`);
  }
  const prefixed = new PrefixedSql(sql, "byref_");
  expect(migrate(prefixed)).toBe(true);
  const store = new SqlStore(prefixed);
  await store.save({ name: "page", value: "x".repeat(3_000_000) });
  await store.save({ name: "variable", value: "FROM variable" });
  store.delete("page");
  await store.sweep();
  expect(migrate(prefixed)).toBe(false);
  const woken = new SqlStore(prefixed);
  expect(woken.list().map(({ name }) => name)).toEqual(["variable"]);
  expect(await woken.read("variable")).toBe("FROM variable");
  for (const name of ["meta", "variable", "chunk", "message"]) {
    expect(sql.all(`SELECT * FROM ${name}`)).toEqual([{ own: "mine" }]);
  }
  const tables = sql.all(`SELECT name FROM sqlite_master WHERE type = 'table'`);
  const others = tables.filter(({ name }) => !String(name).startsWith("byref_"));
  expect(others).toHaveLength(4);
});

contractOnSql((sql, options) => {
  const prefixed = new PrefixedSql(sql, "byref_");
  migrate(prefixed);
  return new SqlStore(prefixed, options);
});
