import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Write } from "../../src/store/variable-store.ts";
import {
  type Fixture,
  idleFrom,
  iso,
  namesOf,
  NOTHING,
  observe,
  START_MS,
} from "./variable-store-fixture.ts";
import { slow } from "../support/slow.ts";

/** Deletes and resets leave nothing behind except used numbers. */
export function deleting(at: Fixture): void {
  it("leaves no trace of the variable", async () => {
    for (const value of [1, "x".repeat(100_000)]) {
      await at.store.save({ name: "a", value, tool: "t", ttlMs: 5 });
      expect(at.store.delete("a")).toBe(true);
      expect(await observe(at.store)).toEqual(NOTHING);
      for (const left of [await at.store.read("a"), at.store.info("a"), at.store.tombstone("a")])
        expect(left).toBeUndefined();
      expect(at.store.couldBegin("")).toBe(false);
      expect(at.store.delete("a")).toBe(false);
      at.nowMs += 1;
      const info = await at.store.save({ name: "a", value: 1 });
      expect(info).toMatchObject({ version: 1, createdAt: iso(at.nowMs) });
      at.store.delete("a");
    }
  });

  it("does not affect other variables", async () => {
    for (const name of ["a", "aa", "b"]) await at.store.save({ name, value: name.repeat(70_000) });
    at.store.delete("a");
    expect(namesOf(at.store.list())).toEqual(["aa", "b"]);
    expect((await at.store.read("aa")) === "aa".repeat(70_000)).toBe(true);
  });

  it("resets to the newest variables; pinned ones stay and do not count", async () => {
    for (const name of ["e", "d", "c", "b", "a"])
      await at.store.save({ name, value: name, pinned: name === "d" || name === "a" });
    expect(at.store.reset(3)).toEqual([]);
    expect(at.store.reset(1)).toEqual(["e", "c"]);
    expect(namesOf(at.store.list())).toEqual(["d", "b", "a"]);
    expect(at.store.reset(0)).toEqual(["b"]);
    expect(at.store.reset(0)).toEqual([]);
    expect(namesOf(at.store.list())).toEqual(["d", "a"]);
    expect([await at.store.read("c"), at.store.tombstone("c")]).toEqual([undefined, undefined]);
    expect(await at.store.read("d")).toBe("d");
    expect((await at.store.save({ name: "e", value: 1 })).version).toBe(1);
  });
}

/** A variable is gone at its expiry. Eviction only cleans up. */
export function expiry(at: Fixture): void {
  const saveDue = (name: string, ttlMs: number, more: Partial<Write> = {}) =>
    at.store.save({ name, value: name, ttlMs, tool: "t", input: [name], ...more });
  const evict = (limit = 10) => at.store.evictDue(at.nowMs, limit).map(({ name }) => name);

  it.each([1, 0])(
    "makes a variable unreadable on time, before and after %i eviction",
    async (evictions) => {
      await saveDue("a", 10);
      await saveDue("b", 11);
      at.nowMs = START_MS + 9;
      expect(await at.store.read("a")).toBe("a");
      expect(evict()).toEqual([]);
      expect(at.store.count()).toBe(2);
      at.nowMs = START_MS + 10;
      if (evictions > 0) expect(evict()).toEqual(["a"]);
      expect([await at.store.read("a"), at.store.info("a")]).toEqual([undefined, undefined]);
      expect(namesOf(at.store.list())).toEqual(["b"]);
      expect(at.store.list({ names: ["a"] })).toEqual([]);
      expect(at.store.list({ last: 2 })).toHaveLength(1);
      expect(at.store.count()).toBe(1);
      expect(at.store.couldBegin("a")).toBe(true);
      expect(at.store.tombstone("b")).toBeUndefined();
      const left = { name: "a", version: 1, evictedAt: iso(START_MS + 10), reason: "expired" };
      expect(at.store.tombstone("a")).toStrictEqual({ ...left, tool: "t", input: ["a"] });
      expect(at.store.reset(1)).toEqual([]);
    },
  );

  it.each([1, 0])("leaves only a tombstone to delete, after %i eviction", async (evictions) => {
    await saveDue("a", 10);
    at.nowMs += 10;
    if (evictions > 0) evict();
    expect(at.store.delete("a")).toBe(false);
    expect(at.store.tombstone("a")).toBeUndefined();
    expect(at.store.couldBegin("a")).toBe(false);
    expect((await saveDue("a", 10)).version).toBe(1);
  });

  it("knows when the next variable is due", async () => {
    await saveDue("a", 20);
    await saveDue("b", 10);
    await at.store.save({ name: "c", value: 1 });
    expect(at.store.nextDueMs()).toBe(START_MS + 10);
    at.nowMs = START_MS + 15;
    expect(at.store.nextDueMs()).toBe(START_MS + 10);
    evict();
    expect(at.store.nextDueMs()).toBe(START_MS + 20);
    await at.store.save({ name: "a", value: 1 });
    expect(at.store.nextDueMs()).toBe(idleFrom(START_MS));
    at.store.delete("c");
    expect(at.store.nextDueMs()).toBe(idleFrom(at.nowMs));
    at.store.update("a", { pinned: true });
    expect(at.store.nextDueMs()).toBeUndefined();
  });

  it("happens exactly at expiresAt, even for half a millisecond", async () => {
    const { expiresAt = "" } = await saveDue("a", 0.5);
    expect(at.store.nextDueMs()).toBe(Date.parse(expiresAt));
    expect(at.store.info("a")?.expiresAt).toBe(at.store.count() === 0 ? undefined : expiresAt);
    at.nowMs = Date.parse(expiresAt);
    expect([await at.store.read("a"), evict()]).toEqual([undefined, ["a"]]);
  });

  it("evicts at most the given number at once, large values included, and is repeatable", async () => {
    for (const name of ["c", "a", "b"]) await saveDue(name, 10, { value: name.repeat(70_000) });
    await at.store.save({ name: "d", value: 1 });
    at.nowMs += 10;
    expect([evict(0), evict(2), evict(2), evict(2)]).toEqual([[], ["c", "a"], ["b"], []]);
    expect(namesOf(at.store.list())).toEqual(["d"]);
    expect(at.store.tombstone("c")?.evictedAt).toBe(iso(START_MS + 10));
  });

  it("spares a pinned variable, whose time counts again when it is unpinned", async () => {
    await saveDue("a", 10, { pinned: true });
    expect(at.store.nextDueMs()).toBeUndefined();
    at.nowMs = idleFrom(START_MS) * 2;
    expect([at.store.nextDueMs(), evict()]).toEqual([undefined, []]);
    expect([await at.store.read("a"), at.store.count()]).toEqual(["a", 1]);
    expect(at.store.info("a")?.expiresAt).toBe(iso(START_MS + 10));
    at.store.update("a", { pinned: false });
    expect([await at.store.read("a"), at.store.count()]).toEqual([undefined, 0]);
    expect([at.store.nextDueMs(), evict()]).toEqual([START_MS + 10, ["a"]]);
    const left = { evictedAt: iso(START_MS + 10), reason: "expired" };
    expect(at.store.tombstone("a")).toMatchObject(left);
  });
}

/** A variable that is neither read nor written is gone after a while, too. */
export function idleness(at: Fixture): void {
  const hour = limits.variableIdleMs / 24;
  const evict = () => at.store.evictDue(at.nowMs, 10).map(({ name }) => name);

  it.each([1, 0])("ends a variable, before and after %i eviction", async (evictions) => {
    await at.store.save({ name: "a", value: 1, tool: "t", input: 1 });
    at.nowMs = idleFrom(START_MS) - 1;
    expect([at.store.info("a")?.name, evict()]).toEqual(["a", []]);
    at.nowMs += 1;
    if (evictions > 0) expect(evict()).toEqual(["a"]);
    expect([await at.store.read("a"), at.store.info("a")]).toEqual([undefined, undefined]);
    expect([at.store.count(), at.store.list(), at.store.glance("a")]).toEqual([0, [], undefined]);
    const left = { name: "a", version: 1, tool: "t", input: 1, reason: "idle" };
    expect(at.store.tombstone("a")).toEqual({ ...left, evictedAt: iso(idleFrom(START_MS)) });
  });

  it("is counted from the last read or write of the value", async () => {
    const uses: readonly ((name: string) => unknown)[] = [
      (name) => at.store.read(name),
      (name) => at.store.readPath(name, [{ index: 0 }]),
      (name) => at.store.open(name)?.close(),
      (name) => at.store.save({ name, value: [2] }),
      (name) => at.store.save({ name, value: [3], mode: "append" }),
    ];
    for (const [index] of uses.entries()) await at.store.save({ name: `v${index}`, value: [1] });
    at.nowMs += 5 * hour;
    for (const [index, use] of uses.entries()) await use(`v${index}`);
    for (const { accessedAt } of at.store.list()) expect(accessedAt).toBe(iso(at.nowMs));
    at.nowMs = idleFrom(START_MS);
    expect([evict(), at.store.count()]).toEqual([[], uses.length]);
    expect(at.store.nextDueMs()).toBe(idleFrom(START_MS + 5 * hour));
    at.nowMs += 5 * hour;
    expect(evict()).toHaveLength(uses.length);
  });

  it("is not reset by reads of metadata", async () => {
    await at.store.save({ name: "a", value: 1 });
    at.nowMs += 5 * hour;
    at.store.list();
    at.store.page({ limit: 1 });
    for (const look of ["info", "glance", "tombstone", "couldBegin"] as const) at.store[look]("a");
    at.store.update("a", { description: "new" });
    expect(at.store.info("a")?.accessedAt).toBe(iso(START_MS));
    expect(at.store.nextDueMs()).toBe(idleFrom(START_MS));
  });

  it("does not end a pinned variable until it is unpinned", async () => {
    await at.store.save({ name: "a", value: 1, pinned: true });
    at.nowMs = idleFrom(START_MS) + 5;
    expect([await at.store.read("a"), evict()]).toEqual([1, []]);
    at.store.update("a", { pinned: false });
    expect([at.store.nextDueMs(), evict()]).toEqual([idleFrom(at.nowMs), []]);
    at.nowMs = idleFrom(at.nowMs);
    expect(evict()).toEqual(["a"]);
  });

  it("does not end a held variable until it is released", async () => {
    for (const name of ["a", "b"]) await at.store.save({ name, value: name });
    await at.store.save({ name: "c", value: 1, ttlMs: 5 });
    for (const name of ["a", "c"]) at.store.holds.hold("turn", name);
    at.store.holds.hold("plan", "a");
    at.nowMs = idleFrom(START_MS);
    expect(evict()).toEqual(["b"]);
    expect([namesOf(at.store.list()), at.store.nextDueMs()]).toEqual([["a", "c"], undefined]);
    at.store.holds.release("turn");
    expect(evict()).toEqual(["c"]);
    at.store.holds.release("plan");
    expect(evict()).toEqual(["a"]);
  });

  it("is the reason only if it comes before the ttl", async () => {
    await at.store.save({ name: "a", value: 1, ttlMs: limits.variableIdleMs + 1 });
    await at.store.save({ name: "b", value: 1, ttlMs: limits.variableIdleMs - 1 });
    at.nowMs = idleFrom(START_MS) + 9;
    const [a, b] = at.store.evictDue(at.nowMs, 2);
    expect(a).toMatchObject({ reason: "idle", evictedAt: iso(idleFrom(START_MS)) });
    expect(b).toMatchObject({ reason: "expired", evictedAt: iso(idleFrom(START_MS) - 1) });
  });
}

/** What evicted variables leave behind. */
export function tombstones(at: Fixture): void {
  /** Saves each with a longer TTL than the one before, and evicts them all. */
  const evictAll = async (names: readonly string[], stepMs = 1) => {
    const write = (name: string, index: number) => ({ name, value: 1, ttlMs: 1 + index * stepMs });
    await at.store.saveAll(names.map(write));
    at.nowMs += names.length;
    expect(at.store.evictDue(at.nowMs, names.length)).toHaveLength(names.length);
  };
  const left = (names: readonly string[]) =>
    names.filter((name) => at.store.tombstone(name) !== undefined);
  /** Returns names whose order is not alphabetical. */
  const nameOf = (index: number) => `v_${9_999 - index}`;

  it.each([true, false])(
    "are removed when the name is saved again, with the next version",
    async (evicted) => {
      await at.store.save({ name: "a", value: 1 });
      await at.store.save({ name: "a", value: 2, ttlMs: 5 });
      at.nowMs += 5;
      if (evicted) at.store.evictDue(at.nowMs, 1);
      expect(at.store.tombstone("a")?.version).toBe(2);
      expect((await at.store.save({ name: "a", value: 3 })).version).toBe(3);
      expect(at.store.tombstone("a")).toBeUndefined();
      expect(await at.store.read("a")).toBe(3);
      at.store.delete("a");
      expect(at.store.tombstone("a")).toBeUndefined();
      expect((await at.store.save({ name: "a", value: 4 })).version).toBe(1);
    },
  );

  it("are removed by a delete of the name, but not by a reset", async () => {
    await evictAll(["a", "b"]);
    expect(at.store.reset(0)).toEqual([]);
    expect(left(["a", "b"])).toEqual(["a", "b"]);
    expect(at.store.delete("a")).toBe(false);
    expect(left(["a", "b"])).toEqual(["b"]);
    expect([at.store.couldBegin("a"), at.store.couldBegin("b")]).toEqual([false, true]);
    expect((await at.store.save({ name: "a", value: 1 })).version).toBe(1);
  });

  const many = Array.from({ length: limits.maxItems + 2 }, (_, index) => nameOf(index));
  const ends = [...many.slice(0, 5), ...many.slice(-5)];

  it.each([limits.maxItems, 1, 0])(
    "have a maximum number, and the oldest are removed first: %i before",
    slow,
    async (n) => {
      await evictAll(many.slice(0, n));
      expect(left(ends)).toEqual(ends.filter((name) => many.indexOf(name) < n));
      await evictAll(many.slice(n));
      expect(left(ends)).toEqual(ends.slice(2));
      expect(at.store.couldBegin(nameOf(0))).toBe(false);
      expect((await at.store.save({ name: nameOf(0), value: 1 })).version).toBe(1);
      expect((await at.store.save({ name: nameOf(2), value: 1 })).version).toBe(2);
    },
  );

  it("are removed in the order of their creation, even those of the same moment", async () => {
    await evictAll(many.slice(0, limits.maxItems), 0);
    await evictAll(many.slice(limits.maxItems));
    expect(left(ends)).toEqual(ends.slice(2));
  });
}
