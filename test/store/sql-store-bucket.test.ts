import { afterEach, describe, expect, it } from "vitest";
import type { Blobs } from "../../src/store/bytes/blobs.ts";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { NodeSql } from "../support/node-sql.ts";
import { closeAll, everything, fails, migratedSql, one, type WatchedSql } from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const now = () => START_MS;
const PREFIX = "tenant/conversation/";
const bytes = (first: number) =>
  bytesContent(new Uint8Array(70_000).fill(first), "application/octet-stream");
const seen = (store: VariableStore) => everything(store, ["gone", "due", "file"]);

afterEach(closeAll);

/**
 * Fails once, at the call after the next `callsLeft`: either before the work or, with `failsLate`, after it.
 */
class FailingBlobs extends MemoryBlobs {
  callsLeft = Infinity;
  failsLate = false;

  override put(...given: Parameters<Blobs["put"]>) {
    return this.#run(() => super.put(...given));
  }

  override read(...given: Parameters<Blobs["read"]>) {
    return this.#run(() => super.read(...given));
  }

  override delete(...given: Parameters<Blobs["delete"]>) {
    return this.#run(() => super.delete(...given));
  }

  async #run<Result>(work: () => Promise<Result>): Promise<Result> {
    const isFailing = this.callsLeft-- <= 0;
    if (isFailing) this.callsLeft = Infinity;
    const failure = new Error("The disk is full.");
    if (isFailing && !this.failsLate) throw failure;
    const result = await work();
    if (isFailing) throw failure;
    return result;
  }
}

function storeOver(sql: NodeSql, blobs: Blobs): SqlStore {
  return new SqlStore(sql, { now, bucket: { blobs, prefix: PREFIX } });
}

async function filled(sql: NodeSql, blobs: Blobs): Promise<SqlStore> {
  const store = storeOver(sql, blobs);
  await store.save({ name: "gone", value: bytes(1), ttlMs: 0 });
  store.evictDue(START_MS, 1);
  await store.sweep();
  await store.save({ name: "file", value: bytes(2), tool: "t" });
  await store.save({ name: "kept", value: bytes(3), pinned: true });
  await store.save({ name: "w_4", value: "x".repeat(100_000) });
  await store.save({ name: "due", value: bytes(4), ttlMs: 0 });
  return store;
}

const filesKnown = "(SELECT count(*) FROM variable WHERE location = 'r2')";

/** Expects that the bucket contains the bodies that rows refer to, and no others. */
async function expectTidy(sql: NodeSql, blobs: Blobs, store: VariableStore): Promise<void> {
  expect([await store.sweep(), store.hasGarbage()]).toEqual([true, false]);
  const keys = await blobs.list("");
  expect(keys).toHaveLength(one(sql, filesKnown));
  for (const key of keys) expect(key.startsWith(PREFIX)).toBe(true);
}

const calls: [string, (store: VariableStore) => unknown][] = [
  ["a save of bytes", (store) => store.save({ name: "new", value: bytes(9) })],
  ["a replacement, bytes by bytes", (store) => store.save({ name: "file", value: bytes(9) })],
  ["a replacement, bytes by text", (store) => store.save({ name: "file", value: "x" })],
  ["a replacement, text by bytes", (store) => store.save({ name: "w_4", value: bytes(9) })],
  ["a save over a tombstone", (store) => store.save({ name: "gone", value: bytes(9) })],
  ["a delete", (store) => store.delete("file")],
  ["a reset", (store) => store.reset(0)],
  ["an eviction", (store) => store.evictDue(START_MS, 5)],
  [
    "several saves",
    (store) =>
      store.saveAll([
        { name: "new", value: bytes(8) },
        { name: "file", value: bytes(9) },
        { name: "w_4", value: 1 },
      ]),
  ],
];
type Break = (at: number, sql: WatchedSql, blobs: FailingBlobs) => void;
const failures: [string, Break][] = [
  ["a statement", (at, sql) => void (sql.statementsLeft = at)],
  ["the bucket", (at, _, blobs) => void (blobs.callsLeft = at)],
  [
    "the bucket after its work",
    (at, _, blobs) => {
      blobs.failsLate = true;
      blobs.callsLeft = at;
    },
  ],
];

describe("a failure with values in a bucket", () => {
  const cases = failures.flatMap(([where, fail]) =>
    calls.map(([what, call]) => ({ where, fail, what, call })),
  );

  it.each(cases)(
    "rolls back $what if $where fails, and leaves nothing that cannot be swept",
    async ({ fail, call }) => {
      const wanted = await filled(migratedSql(), new MemoryBlobs());
      const before = await seen(wanted);
      const result = await call(wanted);
      const after = await seen(wanted);
      for (let at = 0; ; at++) {
        const sql = migratedSql();
        const blobs = new FailingBlobs();
        const store = await filled(sql, blobs);
        fail(at, sql, blobs);
        if (!(await fails(() => call(store)))) break;
        expect(await seen(store), `failed after ${at}`).toEqual(before);
        await expectTidy(sql, blobs, store);
        expect(await seen(storeOver(sql, blobs))).toEqual(before);
        expect(await call(store)).toEqual(result);
        expect(await seen(store)).toEqual(after);
        await expectTidy(sql, blobs, store);
        expect(await seen(storeOver(sql, blobs))).toEqual(after);
      }
    },
  );

  it.each(failures)("in %s during a sweep does not prevent another sweep", async (_, fail) => {
    for (let at = 0; ; at++) {
      const sql = migratedSql();
      const blobs = new FailingBlobs();
      const store = await filled(sql, blobs);
      store.delete("file");
      store.evictDue(START_MS, 5);
      fail(at, sql, blobs);
      const hasFailed = await fails(() => store.sweep());
      sql.statementsLeft = Infinity;
      blobs.callsLeft = Infinity;
      for (const later of [store, storeOver(sql, blobs)]) await expectTidy(sql, blobs, later);
      if (!hasFailed) break;
    }
  });
});

describe("a crash", () => {
  it("leaves unnamed content to be swept when the store wakes", async () => {
    const sql = migratedSql();
    const blobs = new MemoryBlobs();
    const store = await filled(sql, blobs);
    const before = await seen(store);
    const prepared = await store.prepare({ name: "new", value: bytes(9) });
    expect(await blobs.list(PREFIX)).toHaveLength(one(sql, filesKnown) + 1);
    // The prepared value may still be committed.
    expect([await store.sweep(), store.hasGarbage()]).toEqual([false, true]);
    const woken = storeOver(sql, blobs);
    expect(woken.hasGarbage()).toBe(true);
    await expectTidy(sql, blobs, woken);
    expect(await seen(woken)).toEqual(before);
    prepared.discard();
  });

  it("keeps content until its readers close it, and then sweeps it", async () => {
    const sql = migratedSql();
    const blobs = new MemoryBlobs();
    const store = await filled(sql, blobs);
    for (const name of ["file", "w_4"]) {
      const open = store.open(name);
      store.delete(name);
      expect(await store.sweep()).toBe(false);
      const [first] = (await open?.read(0, 10)) ?? [];
      expect(first).toBe(name === "file" ? 2 : 120);
      open?.close();
      open?.close();
      await expectTidy(sql, blobs, store);
    }
    expect(one(sql, "(SELECT count(*) FROM chunk)")).toBe(0);
  });
});
