import { afterEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { slow } from "../support/slow.ts";
import { closeAll, migratedSql, one, rowsWritten, statementsOf } from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS;
/** A value of two chunks. */
const large = (letter: string) => letter.repeat(1_100_000);
const chunkRows = "(SELECT count(*) FROM chunk)";

afterEach(closeAll);

it("a store of many variables is read with a statement for each four hundred, and no values; then its index answers", async () => {
  const sql = migratedSql();
  const value = "x".repeat(300);
  const writes = Array.from({ length: 2_500 }, (_, index) => ({ name: `v_${index}`, value }));
  await new SqlStore(sql, { now }).saveAll(writes);
  expect(await statementsOf(sql, () => new SqlStore(sql, { now }))).toBe(0);
  const store = new SqlStore(sql, { now });
  sql.unitsRead = 0;
  expect(await statementsOf(sql, () => store.count())).toBe(7);
  expect(sql.unitsRead).toBeLessThan(200 * writes.length);
  expect([store.bytes(), store.couldBegin("other")]).toEqual([300 * 2_500, false]);
  const answers = () => [
    store.bytes(),
    store.glance("v_7")?.version,
    store.glance("w"),
    store.couldBegin("v_24"),
    store.couldBegin("v_25000"),
    store.runs(),
    store.nextDueMs(),
    store.lastAccessMs(),
  ];
  const dueMs = START_MS + limits.variableIdleMs;
  const expected = [300 * 2_500, 1, undefined, true, false, [], dueMs, START_MS];
  expect(await statementsOf(sql, () => expect(answers()).toEqual(expected))).toBe(0);
  expect(store.list({ last: 1 })).toMatchObject([{ name: "v_2499" }]);
  expect(await rowsWritten(sql, () => store.save({ name: "v_0", value: 2 }))).toBe(1);
});

describe("the cost of a call", () => {
  it("a save of a small value writes one row, new or existing, named or unnamed", async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const saveOf = (name: string) => rowsWritten(sql, () => store.save({ name, value: [1] }));
    expect([await saveOf("a"), await saveOf("a"), await saveOf("b_7")]).toEqual([1, 1, 1]);
    expect(await rowsWritten(sql, () => store.save({ value: 1, ttlMs: 5 }))).toBe(1);
    expect(one(sql, "(SELECT count(*) FROM variable)")).toBe(3);
    expect(one(sql, "(SELECT count(*) FROM sqlite_master WHERE name = 'chunk')")).toBe(0);
  });

  it("a save of 64 KiB writes one row, and another for each chunk of a larger value", async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const saveOf = (value: string) => rowsWritten(sql, () => store.save({ name: "a", value }));
    expect(await saveOf("x".repeat(limits.maxRowBytes))).toBe(1);
    expect(await saveOf("x".repeat(limits.maxRowBytes + 1))).toBe(2);
    expect(one(sql, chunkRows)).toBe(1);
  });

  it("a save to a woken store runs one statement, and two for an existing name", async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    await store.save({ value: 1 });
    const saveOf = (write: Write) => statementsOf(sql, () => store.save(write));
    expect([await saveOf({ name: "a", value: 1 }), await saveOf({ value: 1 })]).toEqual([1, 1]);
    expect(await saveOf({ name: "a", value: 1 })).toBe(2);
    const name = { base: "w", numbered: false, inputDigest: "a" };
    expect(await saveOf({ name, value: 1, tool: "t" })).toBe(1);
    expect(await saveOf({ name, value: 1, tool: "t" })).toBe(2);
  });

  it("a value is read once, even a large one, and not at all after its save", async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    await store.save({ name: "a", value: { text: large("x") } });
    expect(await statementsOf(sql, () => store.read("a"))).toBe(0);
    const woken = new SqlStore(sql, { now });
    // One statement each for the list of variables, the location of this one, and its chunks.
    expect(await statementsOf(sql, () => woken.read("a"))).toBe(3);
    expect(await statementsOf(sql, () => woken.read("a"))).toBe(0);
    expect(await woken.read("a")).toBe(await woken.read("a"));
  });

  it("access times are written in batches, at most once per 24th of the idle time", async () => {
    const sql = migratedSql();
    let nowMs = START_MS;
    let told = 0;
    const onAccess = () => told++;
    const store = new SqlStore(sql, { now: () => nowMs, idleMs: 24_000, onAccess });
    for (const name of ["a", "b"]) await store.save({ name, value: 1 });
    const reads = () => Promise.all(["a", "a", "b"].map((name) => store.read(name)));
    nowMs += 999;
    expect([await rowsWritten(sql, reads), told]).toEqual([0, 0]);
    expect(await rowsWritten(sql, () => store.flushAccess())).toBe(0);
    nowMs += 1;
    expect([await rowsWritten(sql, reads), told]).toEqual([0, 2]);
    expect(await rowsWritten(sql, () => store.flushAccess())).toBe(2);
    expect(await rowsWritten(sql, () => store.flushAccess())).toBe(0);
    const woken = new SqlStore(sql, { now: () => nowMs, idleMs: 24_000 });
    expect(woken.nextDueMs()).toBe(START_MS + 25_000);
  });

  it("the least recently read values leave the memory first", slow, async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    const names = ["a", "b", "c", "d", "e", "f", "g"];
    for (const name of names) await store.save({ name, value: name.repeat(2_500_000) });
    const isKept = async (name: string) => (await statementsOf(sql, () => store.read(name))) === 0;
    // Six values of 2.5 MB fit into 16 MiB.
    expect(await isKept("b")).toBe(true);
    expect(await isKept("a")).toBe(false);
    expect([await isKept("b"), await isKept("c")]).toEqual([true, false]);
  });

  it("a replaced value counts once toward the memory", slow, async () => {
    const sql = migratedSql();
    const store = new SqlStore(sql, { now });
    await store.save({ name: "small", value: [1] });
    for (let times = 0; times < 10; times++)
      await store.save({ name: "a", value: "x".repeat(2_500_000) });
    expect(await statementsOf(sql, () => store.read("small"))).toBe(0);
  });

  it("metadata is read without values", slow, async () => {
    const sql = migratedSql();
    const writer = new SqlStore(sql, { now });
    for (const name of ["a", "b", "c"]) await writer.save({ name, value: large(name), ttlMs: 5 });
    await writer.save({ name: "small", value: "x".repeat(limits.maxRowBytes) });
    sql.unitsRead = 0;
    sql.seen.length = 0;
    const store = new SqlStore(sql, { now });
    expect([store.list().length, store.list({ last: 2, names: ["a"] }).length]).toEqual([4, 1]);
    expect([store.count(), store.nextDueMs()]).toEqual([4, START_MS + 5]);
    expect([store.info("a")?.bytes, store.info("small")?.count]).toEqual([1_100_000, 65_536]);
    expect([store.couldBegin("sma"), store.tombstone("a")]).toEqual([true, undefined]);
    expect(store.evictDue(START_MS + 5, 2)).toHaveLength(2);
    expect(store.reset(1)).toEqual(["c"]);
    expect(sql.unitsRead).toBeLessThan(20_000);
    expect(sql.seen.filter((text) => /SELECT[^(]*FROM chunk\b/.test(text))).toEqual([]);
  });
});

it("only numbers of names that were removed are written", async () => {
  const sql = migratedSql();
  const store = new SqlStore(sql, { now });
  await store.saveAll(["a_1", "b_2", "c_3"].map((name) => ({ name, value: 1 })));
  store.delete("b_2");
  const written = sql.all("SELECT value FROM meta WHERE key = 'numbers'");
  expect(written).toEqual([{ value: '{"b":2}' }]);
});

it("as many numbers of removed names are kept as fit into one row", async () => {
  const sql = migratedSql();
  const store = new SqlStore(sql, { now });
  const names = Array.from({ length: limits.maxEntries + 2 }, (_, n) => `${"x".repeat(50)}${n}_7`);
  await store.saveAll(names.map((name) => ({ name, value: 1 })));
  expect(store.reset(0)).toHaveLength(names.length);
  const kept = "(SELECT count(*) FROM meta, json_each(meta.value) WHERE meta.key = 'numbers')";
  expect(one(sql, kept)).toBe(limits.maxEntries);
  const woken = new SqlStore(sql, { now });
  const next = (name = "") => woken.save({ name: name.slice(0, -2), mode: "new", value: 1 });
  expect((await next(names.at(-1))).name).toBe(`${names.at(-1)?.slice(0, -2)}_008`);
});

it("chunks are at most a mebibyte each, whatever the characters", slow, async () => {
  for (const character of ["x", "é", "€", "😀"]) {
    const sql = migratedSql();
    const value = character.repeat(900_000);
    await new SqlStore(sql, { now }).save({ name: "a", value });
    const longest = one(sql, "(SELECT max(length(bytes)) FROM chunk)");
    expect(longest).toBeLessThanOrEqual(limits.maxRecordBytes);
    expect(longest).toBeGreaterThan(limits.maxRowBytes);
    expect((await new SqlStore(sql, { now }).read("a")) === value).toBe(true);
  }
});
