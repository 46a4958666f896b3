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
      // A time to live ends with its millisecond.
      await saveDue("a", 9.5);
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

  it("evicts at most the given number at once, large values included, and is repeatable", async () => {
    for (const name of ["c", "a", "b"]) await saveDue(name, 10, { value: name.repeat(70_000) });
    await at.store.save({ name: "d", value: 1 });
    at.nowMs += 10;
    expect([evict(0), evict(2), evict(2), evict(2)]).toEqual([[], ["c", "a"], ["b"], []]);
    expect(namesOf(at.store.list())).toEqual(["d"]);
    expect(at.store.tombstone("c")?.evictedAt).toBe(iso(START_MS + 10));
  });
}

/** A variable that is neither read nor written is gone after a while, too. */
export function idleness(at: Fixture): void {
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
