import { afterEach, describe, expect, it } from "vitest";
import { limits } from "../../src/limits.ts";
import { migrate } from "../../src/store/migrations.ts";
import { firstRow, numberIn, type SqlRow, type SqlValue } from "../../src/store/sql.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variable-store.ts";
import { NodeSql } from "../support/node-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS;
/** Of two chunks. */
const large = (letter: string) => letter.repeat(400_000);

/** Fails before the statement after the next `statementsLeft`, once; counts what it hands out. */
class WatchedSql extends NodeSql {
  statementsLeft = Infinity;
  charsRead = 0;
  readonly seen: string[] = [];

  override run(statement: string, ...bindings: readonly SqlValue[]): void {
    this.#watch(statement);
    super.run(statement, ...bindings);
  }

  override all(statement: string, ...bindings: readonly SqlValue[]): readonly SqlRow[] {
    this.#watch(statement);
    const rows = super.all(statement, ...bindings);
    this.charsRead += JSON.stringify(rows).length;
    return rows;
  }

  #watch(statement: string): void {
    this.seen.push(statement);
    if (this.statementsLeft-- > 0) return;
    this.statementsLeft = Infinity;
    throw new Error("The disk is full.");
  }
}

const open: NodeSql[] = [];
afterEach(() => {
  for (const sql of open.splice(0)) sql.close();
});

function emptySql(): WatchedSql {
  const sql = new WatchedSql();
  open.push(sql);
  return sql;
}

function migratedSql(): WatchedSql {
  const sql = emptySql();
  migrate(sql);
  return sql;
}

function one(sql: NodeSql, expression: string): number {
  return numberIn(firstRow(sql, `SELECT ${expression} AS result`) ?? {}, "result");
}

/** Rows that were inserted, updated or deleted by `work`. */
function rowsWritten(sql: NodeSql, work: () => void): number {
  const before = one(sql, "total_changes()");
  work();
  return one(sql, "total_changes()") - before;
}

function statementsOf(sql: NodeSql, work: () => void): number {
  const before = sql.statements;
  work();
  return sql.statements - before;
}

const chunkRows = "(SELECT count(*) FROM chunk)";

describe("what a call costs", () => {
  it("a save of a small value writes one row, new or not, named or not", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const saveOf = (name: string) => rowsWritten(sql, () => store.save({ name, value: [1] }));
    expect([saveOf("a"), saveOf("a"), saveOf("b_7")]).toEqual([1, 1, 1]);
    expect(rowsWritten(sql, () => store.save({ value: 1, ttlMs: 5 }))).toBe(1);
    expect(one(sql, "(SELECT count(*) FROM variable)")).toBe(3);
    expect(one(sql, "(SELECT count(*) FROM sqlite_master WHERE name = 'chunk')")).toBe(0);
  });

  it("a save of a value of 64 KiB writes one row, and a row more for each chunk above", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const saveOf = (value: string) => rowsWritten(sql, () => store.save({ name: "a", value }));
    expect(saveOf("x".repeat(limits.maxRowBytes))).toBe(1);
    expect(saveOf("x".repeat(limits.maxRowBytes + 1))).toBe(2);
    expect(one(sql, chunkRows)).toBe(1);
  });

  it("a save to a store that is awake runs two statements, one more for an automatic name", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    store.save({ value: 1 });
    expect(statementsOf(sql, () => store.save({ name: "a", value: 1 }))).toBeLessThanOrEqual(3);
    expect(statementsOf(sql, () => store.save({ name: "a", value: 1 }))).toBe(2);
    const name = { base: "w", numbered: false, inputDigest: "a" };
    store.save({ name, value: 1, tool: "t" });
    expect(statementsOf(sql, () => store.save({ name, value: 1, tool: "t" }))).toBe(3);
  });

  it("reads a value once, a large one too, and what was just saved not at all", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    store.save({ name: "a", value: { text: large("x") } });
    expect(statementsOf(sql, () => store.read("a"))).toBe(0);
    const woken = new SqlStore(sql, { now });
    expect(statementsOf(sql, () => woken.read("a"))).toBe(2);
    expect(statementsOf(sql, () => woken.read("a"))).toBe(0);
    expect(woken.read("a")).toBe(woken.read("a"));
  });

  it("keeps no more values in memory than fit, the least recently read go first", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    for (const name of names) store.save({ name, value: name.repeat(2_500_000) });
    const isKept = (name: string) => statementsOf(sql, () => store.read(name)) === 0;
    // Six of 2.5 MB fit into 16 MiB.
    expect(isKept("b")).toBe(true);
    expect(isKept("a")).toBe(false);
    expect([isKept("b"), isKept("c")]).toEqual([true, false]);
  });

  it("counts a value that was replaced once against what fits in memory", () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    store.save({ name: "small", value: [1] });
    for (let times = 0; times < 10; times++)
      store.save({ name: "a", value: "x".repeat(2_500_000) });
    expect(statementsOf(sql, () => store.read("small"))).toBe(0);
  });

  it("wakes without a statement, however much is stored", () => {
    const sql = migratedSql();
    new SqlStore(sql, { now }).save({ name: "a", value: large("x") });
    expect(statementsOf(sql, () => new SqlStore(sql, { now }))).toBe(0);
  });

  it("reads no value to tell about variables", () => {
    const sql = migratedSql();
    const writer = new SqlStore(sql, { now });
    for (const name of ["a", "b", "c"]) writer.save({ name, value: large(name), ttlMs: 5 });
    writer.save({ name: "small", value: "x".repeat(limits.maxRowBytes) });
    sql.charsRead = 0;
    sql.seen.length = 0;
    const store = new SqlStore(sql, { now });
    expect([store.list().length, store.list({ last: 2, names: ["a"] }).length]).toEqual([4, 1]);
    expect([store.count(), store.nextDueMs()]).toEqual([4, START_MS + 5]);
    expect([store.info("a")?.bytes, store.info("small")?.count]).toEqual([400_000, 65_536]);
    expect([store.couldBegin("sma"), store.tombstone("a")]).toEqual([true, undefined]);
    expect(store.evictExpired(START_MS + 5, 2)).toHaveLength(2);
    expect(store.reset(1)).toEqual(["c"]);
    expect(sql.charsRead).toBeLessThan(20_000);
    expect(sql.seen.filter((text) => /SELECT[^(]*FROM chunk\b/.test(text))).toEqual([]);
  });
});

describe("chunks", () => {
  it("are at most a mebibyte each, whatever the characters", () => {
    for (const character of ["x", "é", "€", "😀"]) {
      const sql = migratedSql();
      const value = character.repeat(900_000);
      new SqlStore(sql, { now }).save({ name: "a", value });
      const longest = one(sql, "(SELECT max(length(CAST(text AS BLOB))) FROM chunk)");
      expect(longest).toBeLessThanOrEqual(limits.maxChunkBytes);
      expect(longest).toBeGreaterThan(limits.maxRowBytes);
      expect(new SqlStore(sql, { now }).read("a") === value).toBe(true);
    }
  });

  it.each<[string, (store: VariableStore) => unknown]>([
    ["replaced by a small value", (store) => store.save({ name: "a", value: 1 })],
    ["deleted", (store) => store.delete("a")],
    ["reset", (store) => store.reset(0)],
    ["evicted", (store) => store.evictExpired(START_MS + 5, 1)],
  ])("go when the variable is %s", (_, remove) => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    store.save({ name: "a", value: large("x"), ttlMs: 5 });
    store.save({ name: "a", value: large("y"), ttlMs: 5 });
    const chunks = one(sql, chunkRows);
    expect(chunks).toBeGreaterThan(0);
    store.save({ name: "b", value: large("z"), pinned: true });
    remove(new SqlStore(sql, { now }));
    expect(one(sql, chunkRows)).toBe(chunks);
    expect(new SqlStore(sql, { now }).read("b") === large("z")).toBe(true);
  });

  it("of a new variable are not those of one that was deleted before the store woke", () => {
    const sql = migratedSql();
    new SqlStore(sql, { now }).save({ name: "a", value: large("a") });
    new SqlStore(sql, { now }).save({ name: "b", value: large("b") });
    new SqlStore(sql, { now }).delete("b");
    new SqlStore(sql, { now }).save({ name: "c", value: large("c") });
    const store = new SqlStore(sql, { now });
    expect([store.read("a") === large("a"), store.read("c") === large("c")]).toEqual([true, true]);
  });
});

/** A store with something of every kind: chunks, a number that was used, a tombstone, one that is due. */
function filled(sql: NodeSql): SqlStore {
  const store = new SqlStore(sql, { now });
  store.save({ value: 1 });
  store.delete("variable_1");
  store.save({ name: "gone", value: 1, ttlMs: 0 });
  store.evictExpired(START_MS, 1);
  store.save({ name: "large", value: large("x"), tool: "t" });
  store.save({ name: "kept", value: { a: [1] }, pinned: true });
  store.save({ name: "w_4", value: 1 });
  store.save({ name: "due", value: large("d"), ttlMs: 0 });
  return store;
}

function everything(store: VariableStore) {
  const list = store.list();
  const texts = list.map(({ name }) => JSON.stringify(store.read(name)));
  const tombstones = ["gone", "due", "large"].map((name) => store.tombstone(name));
  // Enough to tell large values from one another, and short enough to print.
  const values = texts.map((text) => `${text.slice(0, 20)} of ${text.length}`);
  return { list, tombstones, values, count: store.count() };
}

describe("a statement that fails", { timeout: 30_000 }, () => {
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
    ["an eviction", (store) => store.evictExpired(START_MS, 5)],
  ];
  const isAwake: [string, boolean][] = [
    ["awake", true],
    ["just woken", false],
  ];
  const cases = calls.flatMap(([what, call]) =>
    isAwake.map(([state, awake]) => ({ what, call, state, awake })),
  );

  it.each(cases)("undoes $what as a whole, $state, and the store goes on", ({ call, awake }) => {
    const expectedSql = migratedSql();
    const expectedStore = filled(expectedSql);
    const before = everything(expectedStore);
    const result = call(expectedStore);
    const after = everything(expectedStore);
    const nextName = expectedStore.save({ value: 0 }).name;
    const chunks = one(expectedSql, chunkRows);
    for (let statements = 0; ; statements++) {
      const sql = migratedSql();
      const writer = filled(sql);
      const store = awake ? writer : new SqlStore(sql, { now });
      sql.statementsLeft = statements;
      if (!throws(() => call(store))) {
        expect(statements).toBeGreaterThan(0);
        break;
      }
      expect(everything(store), `failed after ${statements} statements`).toEqual(before);
      expect(everything(new SqlStore(sql, { now }))).toEqual(before);
      expect(call(store)).toEqual(result);
      expect(everything(store)).toEqual(after);
      expect(everything(new SqlStore(sql, { now }))).toEqual(after);
      expect(store.save({ value: 0 }).name).toBe(nextName);
      expect(one(sql, chunkRows)).toBe(chunks);
    }
  });
});

describe("a first large save that fails", () => {
  it("takes the table that it made with it, and the next one makes it again", () => {
    for (let statements = 0; ; statements++) {
      const sql = migratedSql();
      const store = new SqlStore(sql, { now });
      store.save({ name: "a", value: 1 });
      sql.statementsLeft = statements;
      if (!throws(() => store.save({ name: "a", value: large("x") }))) break;
      expect(one(sql, "(SELECT count(*) FROM sqlite_master WHERE name = 'chunk')")).toBe(0);
      expect(store.save({ name: "a", value: large("y") }).version).toBe(2);
      expect(new SqlStore(sql, { now }).read("a") === large("y")).toBe(true);
    }
  });
});

function throws(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    expect(error).toMatchObject({ message: "The disk is full." });
    return true;
  }
}

describe("migrations", () => {
  const schemaOf = (sql: NodeSql) =>
    sql.all(`SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`);

  it("make an empty database ready for a store", () => {
    const sql = emptySql();
    migrate(sql);
    expect(schemaOf(sql).map(({ name }) => name)).toEqual(["message", "meta", "variable"]);
    expect(new SqlStore(sql, { now }).save({ value: 1 }).name).toBe("variable_1");
  });

  it("change nothing the second time, and cost two reads", () => {
    const sql = migratedSql();
    filled(sql);
    const before = { schema: schemaOf(sql), everything: everything(new SqlStore(sql, { now })) };
    expect(rowsWritten(sql, () => migrate(sql))).toBe(0);
    expect(statementsOf(sql, () => migrate(sql))).toBe(2);
    const after = { schema: schemaOf(sql), everything: everything(new SqlStore(sql, { now })) };
    expect(after).toEqual(before);
  });

  it("happen as a whole: what failed halfway starts from the beginning", () => {
    for (let statements = 0; ; statements++) {
      const sql = emptySql();
      sql.statementsLeft = statements;
      if (!throws(() => migrate(sql))) break;
      expect(schemaOf(sql)).toEqual([]);
      migrate(sql);
      expect(schemaOf(sql)).toEqual(schemaOf(migratedSql()));
    }
  });

  it("leave a newer database alone, so that the newer code finds it as it left it", () => {
    const sql = migratedSql();
    sql.run(`UPDATE meta SET value = '99' WHERE key = 'schema'`);
    migrate(sql);
    expect(one(sql, `(SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema')`)).toBe(99);
  });
});
