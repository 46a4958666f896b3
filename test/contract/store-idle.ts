import { expect, it } from "vitest";
import { bytesOf, facts, MINUTE_MS } from "./store-fixture.ts";
import { namesOf, START_MS } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Disuse: what counts as use, when a use is written back, and what that costs. */
export function idleVariables(at: Testing): void {
  const evict = () => at.store.evictDue(at.ground.nowMs, 100);
  const iso = (timeMs: number) => new Date(timeMs).toISOString();
  const after = (ms: number) => {
    at.ground.nowMs = START_MS + ms;
  };

  it("expire a day after their last use by default", async () => {
    await at.store.save({ name: "a", value: 1, tool: "t" });
    expect(at.store.nextDueMs()).toBe(START_MS + DAY_MS);
    after(DAY_MS - 1);
    expect([at.store.count(), evict()]).toEqual([1, []]);
    after(DAY_MS);
    expect([await at.store.read("a"), at.store.glance("a"), at.store.list()]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    const tombstone = {
      name: "a",
      version: 1,
      tool: "t",
      reason: "idle",
      evictedAt: iso(START_MS + DAY_MS),
    };
    expect(at.store.tombstone("a")).toEqual(tombstone);
    after(DAY_MS + 500);
    expect(evict()).toEqual([tombstone]);
    expect(at.store.nextDueMs()).toBeUndefined();
  });

  it("stay while they are used", async () => {
    at.fresh({ idleMs: HOUR_MS });
    const uses: Readonly<Record<string, () => unknown>> = {
      read: () => at.store.read("read"),
      readPath: () => at.store.readPath("readPath", [{ index: 0 }]),
      open: () => bytesOf(at.store, "open"),
      append: () => at.store.save({ name: "append", value: 1, mode: "append" }),
      unused: () => [
        at.store.info("unused"),
        at.store.list(),
        at.store.update("unused", { description: "x" }),
      ],
    };
    for (const name of Object.keys(uses)) await at.store.save({ name, value: [1] });
    for (let half = 1; half <= 3; half++) {
      after((half * HOUR_MS) / 2);
      for (const use of Object.values(uses)) await use();
    }
    expect(namesOf(evict())).toEqual(["unused"]);
    expect(at.store.info("read")?.accessedAt).toBe(iso(at.ground.nowMs));
    expect(at.store.nextDueMs()).toBe(at.ground.nowMs + HOUR_MS);
    expect(at.store.lastAccessMs()).toBe(at.ground.nowMs);
    after(3 * HOUR_MS);
    expect(namesOf(evict())).toEqual(["read", "readPath", "open", "append"]);
  });

  it("expire by their ttl if that is earlier", async () => {
    at.fresh({ idleMs: HOUR_MS });
    await at.store.save({ name: "short", value: 1, ttlMs: MINUTE_MS });
    await at.store.save({ name: "long", value: 1, ttlMs: 2 * HOUR_MS });
    expect(at.store.nextDueMs()).toBe(START_MS + MINUTE_MS);
    after(3 * HOUR_MS);
    const evicted = evict().map(({ name, reason, evictedAt }) => [name, reason, evictedAt]);
    expect(evicted).toEqual([
      ["short", "expired", iso(START_MS + MINUTE_MS)],
      ["long", "idle", iso(START_MS + HOUR_MS)],
    ]);
  });

  it("stay while they are pinned or held, and are due again afterwards", async () => {
    at.fresh({ idleMs: HOUR_MS });
    await at.store.save({ name: "pinned", value: 1, pinned: true, ttlMs: 1 });
    await at.store.save({ name: "held", value: 2, ttlMs: MINUTE_MS });
    at.store.holds.hold("a plan", "held");
    after(5 * HOUR_MS);
    expect([at.store.nextDueMs(), evict()]).toEqual([undefined, []]);
    expect(namesOf(at.store.list())).toEqual(["pinned", "held"]);
    at.store.holds.release("a plan");
    expect(at.store.nextDueMs()).toBe(START_MS + MINUTE_MS);
    expect(namesOf(evict())).toEqual(["held"]);
    at.store.update("pinned", { pinned: false });
    expect(namesOf(evict())).toEqual(["pinned"]);
  });

  it("keep access times in memory, and write them after a 24th of the idle time", async () => {
    let told = 0;
    at.fresh({ idleMs: DAY_MS, onAccess: () => told++ });
    for (const name of ["a", "b", "c"]) await at.store.save({ name, value: 1 });
    const { sql } = at.ground;
    const rowsWritten = async (work: () => unknown) => {
      const before = sql?.writes.length ?? 0;
      await work();
      return (sql?.writes.length ?? 0) - before;
    };
    const readAll = (names: readonly string[]) =>
      rowsWritten(async () => {
        for (const name of names) for (let times = 0; times < 3; times++) await at.store.read(name);
      });
    after(HOUR_MS - 1);
    expect([await readAll(["a", "b"]), told]).toEqual([0, 0]);
    expect(await rowsWritten(() => at.store.flushAccess())).toBe(0);
    expect(at.store.info("a")?.accessedAt).toBe(iso(at.ground.nowMs));
    after(HOUR_MS);
    expect([await readAll(["a", "b"]), told]).toEqual([0, 2]);
    const one = sql === undefined ? 0 : 1;
    expect(await rowsWritten(() => at.store.flushAccess())).toBe(2 * one);
    expect(await rowsWritten(() => at.store.flushAccess())).toBe(0);
    after(HOUR_MS + 5);
    expect([await readAll(["a", "c"]), told]).toEqual([0, 3]);
    after(2 * HOUR_MS);
    expect([await readAll(["a"]), told]).toEqual([0, 4]);
    // Variables that were written or deleted meanwhile cost nothing more.
    await at.store.save({ name: "a", value: 2 });
    at.store.delete("c");
    expect(await rowsWritten(() => at.store.flushAccess())).toBe(0);
    if (sql === undefined) return;
    at.fresh({ idleMs: DAY_MS });
    expect(at.store.list().map(({ name, accessedAt }) => [name, accessedAt])).toEqual([
      ["b", iso(START_MS + HOUR_MS)],
      ["a", iso(START_MS + 2 * HOUR_MS)],
    ]);
  });

  it("keep their access times after a rollback or a forget", async () => {
    at.fresh({ idleMs: DAY_MS, quotaBytes: 100 });
    await at.store.save({ name: "a", value: "x".repeat(60), pinned: true });
    await at.store.save({ name: "b", value: "x".repeat(10) });
    after(20 * HOUR_MS);
    await at.store.read("b");
    const before = facts(at.store);
    await expect(at.store.save({ name: "c", value: "x".repeat(50) })).rejects.toThrow(
      "maxConversationBytes",
    );
    expect(facts(at.store)).toEqual(before);
    at.store.forget();
    expect(facts(at.store)).toEqual(before);
    at.store.flushAccess();
    after(30 * HOUR_MS);
    expect(evict()).toEqual([]);
    if (at.kind.hasSql) at.fresh({ idleMs: DAY_MS });
    expect([evict(), namesOf(at.store.list())]).toEqual([[], ["a", "b"]]);
  });

  it("do not pass their access time to a new variable of the same name", async () => {
    at.fresh({ idleMs: HOUR_MS });
    await at.store.save({ name: "a", value: 1 });
    after(HOUR_MS / 2);
    await at.store.read("a");
    at.store.delete("a");
    after(0);
    await at.store.save({ name: "a", value: 2 });
    at.store.forget();
    expect(at.store.nextDueMs()).toBe(START_MS + HOUR_MS);
  });
}
