import { expect, it } from "vitest";
import { facts, MINUTE_MS } from "./store-fixture.ts";
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
