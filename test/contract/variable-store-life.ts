import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Fixture } from "./variable-store-fixture.ts";
import { slow } from "../support/slow.ts";

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
