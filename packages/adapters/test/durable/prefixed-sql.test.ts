import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { prefixedSql } from "../../src/durable/conversation-variables.ts";
import { migrate } from "../../../../src/store/rows/migrations.ts";
import { SqlStore } from "../../../../src/store/sql-store.ts";
import { variableStoreContract } from "../../../../test/contract/variable-store.ts";
import { NodeSql } from "../../../../test/support/node-sql.ts";

it("a store with a prefix does not touch tables of the same names", async () => {
  const sql = new NodeSql();
  for (const name of ["meta", "variable", "chunk", "message"]) {
    sql.run(`CREATE TABLE ${name} (own TEXT)`);
    sql.run(`INSERT INTO ${name} VALUES ('mine')`);
  }
  const prefixed = prefixedSql(sql, "byref_");
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

it("every table that a store creates has the prefix", () => {
  const root = join(import.meta.dirname, "../../../../src/store");
  const sources = globSync("**/*.ts", { cwd: root }).map((path) =>
    readFileSync(join(root, path), "utf8"),
  );
  const names = sources.flatMap((source) =>
    Array.from(
      source.matchAll(/(?:CREATE TABLE |(?:new \w+Table|super)\(\s*[\w.]+,\s*")(?!IF )(\w+)/gu),
      ([, name = ""]) => name,
    ),
  );
  expect(names.length).toBeGreaterThan(6);
  for (const name of names) {
    const sql = new NodeSql();
    const prefixed = prefixedSql(sql, "byref_");
    prefixed.run(`CREATE TABLE IF NOT EXISTS ${name} (own TEXT)`);
    prefixed.run(`INSERT INTO ${name} VALUES ('x')`);
    expect(sql.all(`SELECT own FROM byref_${name}`)).toEqual([{ own: "x" }]);
  }
});

variableStoreContract((options) => {
  const prefixed = prefixedSql(new NodeSql(), "byref_");
  migrate(prefixed);
  return new SqlStore(prefixed, options);
});
