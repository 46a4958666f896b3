import { afterEach, describe, expect, it } from "vitest";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { NodeSql } from "../support/node-sql.ts";
import { closeAll, everything as everythingOf, fails, migratedSql, one } from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS;
/** A value of two chunks. */
const large = (letter: string) => letter.repeat(1_100_000);
const chunkRows = "(SELECT count(*) FROM chunk)";
const everything = (store: VariableStore) => everythingOf(store, ["gone", "due", "large"]);

afterEach(closeAll);

/** Returns a store with something of every kind: chunks, a used number, a tombstone and a due variable. */
async function filled(sql: NodeSql): Promise<SqlStore> {
  const store = new SqlStore(sql, { now });
  await store.save({ value: 1 });
  store.delete("variable_1");
  await store.save({ name: "gone", value: 1, ttlMs: 0 });
  store.evictDue(START_MS, 1);
  await store.save({ name: "large", value: large("x"), tool: "t" });
  await store.save({ name: "kept", value: { a: [1] }, pinned: true });
  await store.save({ name: "w_4", value: 1 });
  await store.save({ name: "due", value: large("d"), ttlMs: 0 });
  return store;
}

describe("a failed statement", () => {
  const calls: [string, (store: VariableStore) => unknown][] = [
    ["a save of a small value", (store) => store.save({ name: "new", value: [1] })],
    ["a save without a name", (store) => store.save({ value: [1] })],
    ["a replacement, large by small", (store) => store.save({ name: "large", value: 1 })],
    ["a replacement, small by large", (store) => store.save({ name: "w_4", value: large("y") })],
    ["a replacement, large by large", (store) => store.save({ name: "large", value: large("y") })],
    ["a save over a tombstone", (store) => store.save({ name: "gone", value: 2 })],
    ["a delete", (store) => store.delete("large")],
    ["a delete of a tombstone", (store) => store.delete("gone")],
    ["a delete of a number", (store) => store.delete("w_4")],
    ["a reset", (store) => store.reset(0)],
    ["an eviction", (store) => store.evictDue(START_MS, 5)],
  ];
  const isAwake: [string, boolean][] = [
    ["awake", true],
    ["just woken", false],
  ];
  const cases = calls.flatMap(([what, call]) =>
    isAwake.map(([state, awake]) => ({ what, call, state, awake })),
  );

  it.each(cases)(
    "rolls back $what, $state, and the store stays usable",
    async ({ call, awake }) => {
      const expectedSql = migratedSql();
      const expectedStore = await filled(expectedSql);
      const before = await everything(expectedStore);
      const result = await call(expectedStore);
      const after = await everything(expectedStore);
      const nextName = (await expectedStore.save({ value: 0 })).name;
      const chunks = one(expectedSql, chunkRows);
      for (let statements = 0; ; statements++) {
        const sql = migratedSql();
        const writer = await filled(sql);
        const store = awake ? writer : new SqlStore(sql, { now });
        sql.statementsLeft = statements;
        if (!(await fails(() => call(store)))) {
          expect(statements).toBeGreaterThan(0);
          break;
        }
        expect(await everything(store), `failed after ${statements} statements`).toEqual(before);
        expect(await everything(new SqlStore(sql, { now }))).toEqual(before);
        expect(await call(store)).toEqual(result);
        expect(await everything(store)).toEqual(after);
        expect(await everything(new SqlStore(sql, { now }))).toEqual(after);
        expect((await store.save({ value: 0 })).name).toBe(nextName);
        expect(one(sql, chunkRows)).toBe(chunks);
      }
    },
  );
});

it("a failed first save of a large value rolls back its new table, and the next save creates it again", async () => {
  for (let statements = 0; ; statements++) {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    await store.save({ name: "a", value: 1 });
    sql.statementsLeft = statements;
    if (!(await fails(() => store.save({ name: "a", value: large("x") })))) break;
    expect(one(sql, "(SELECT count(*) FROM sqlite_master WHERE name = 'chunk')")).toBe(0);
    expect((await store.save({ name: "a", value: large("y") })).version).toBe(2);
    expect((await new SqlStore(sql, { now }).read("a")) === large("y")).toBe(true);
  }
});
