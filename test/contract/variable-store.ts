import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { expectCode, type Fixture, namesOf, START_MS } from "./variable-store-fixture.ts";
import { slow } from "../support/slow.ts";

export type StoreOptions = { readonly now: () => number };

/** Tests the empty stores that `make` returns. */
type StoreContract = (
  make: (options: StoreOptions) => VariableStore | Promise<VariableStore>,
) => void;

/** What every implementation keeps beyond the model of `variable-store-model.test.ts`, which has the rules. */
export const variableStoreContract: StoreContract = (make) => {
  // The store is set before each test.
  const at = { nowMs: START_MS } as Fixture;
  beforeEach(async () => {
    at.nowMs = START_MS;
    at.store = await make({ now: () => at.nowMs });
  });
  // The stores of a gateway and of a file are open databases.
  afterEach(() => "close" in at.store && (at.store.close as () => void)());
  describe("automatic names", () => automaticNames(at));
  describe("values", () => values(at));
  describe("large values", slow, () => largeValues(at));
  describe("tombstones", () => tombstones(at));
};

/** The rules of automatic names are in the model. */
function automaticNames(at: Fixture): void {
  it.each(Array.from({ length: 11 }, (_, index) => "9".repeat(index + 1)))(
    "overwrite nothing and stay valid after a caller took number %s",
    async (number) => {
      for (const base of ["w", "x".repeat(52)]) {
        await at.store.save({ name: `${base}_${number}`, value: "by hand" });
        const names = new Set([`${base}_${number}`]);
        for (const inputDigest of "abc") {
          const name = { base, numbered: true, inputDigest };
          names.add((await at.store.save({ value: 1, tool: "t", name })).name);
        }
        expect(names.size).toBe(4);
        for (const name of names) expect(name).toMatch(/^\w{1,64}$/);
        expect(await at.store.read(`${base}_${number}`)).toBe("by hand");
      }
    },
  );
}

/** What is kept is a frozen copy. */
function values(at: Fixture): void {
  it("keeps negative zero as zero, like JSON", async () => {
    await at.store.save({ name: "a", value: -0 });
    await at.store.save({ name: "b", value: [-0] });
    expect(await at.store.read("a")).toBe(0);
    expect(await at.store.read("b")).toStrictEqual([0]);
  });

  it("keeps a copy, unaffected by changes to the saved object", async () => {
    const value = { list: [1], inner: { a: 1 } };
    const input = { city: "NYC" };
    await at.store.save({ name: "a", value, input, tool: "t", ttlMs: 1 });
    value.list.push(2);
    value.inner.a = 2;
    input.city = "LA";
    expect(await at.store.read("a")).toEqual({ list: [1], inner: { a: 1 } });
    expect(at.store.info("a")?.input).toEqual({ city: "NYC" });
    at.store.evictDue(START_MS + 1, 1);
    expect(at.store.tombstone("a")?.input).toEqual({ city: "NYC" });
  });

  it("returns frozen values", async () => {
    await at.store.save({ name: "a", value: { inner: [{ deep: 1 }] } });
    const value = (await at.store.read("a")) as { inner: { deep: number }[] };
    expect(() => value.inner.push({ deep: 2 })).toThrow(TypeError);
    expect(() => Object.assign(value.inner[0] ?? {}, { deep: 2 })).toThrow(TypeError);
    expect(() => Object.assign(value, { more: 1 })).toThrow(TypeError);
    expect(await at.store.read("a")).toEqual({ inner: [{ deep: 1 }] });
  });

  it("cuts a long description, never inside a surrogate pair", async () => {
    const description = `${"x".repeat(limits.maxDescriptionChars - 1)}😀`;
    const saved = await at.store.save({ name: "a", value: 1, description });
    for (const kept of [saved.description, at.store.info("a")?.description])
      expect(kept === description.slice(0, -2) || kept?.slice(-3)).toBe(true);
  });
}

/** Inputs of calls, which are stored in the row. */
function largeValues(at: Fixture): void {
  it("accepts a call's input up to maxRecordBytes, and refuses a larger one", async () => {
    // The quotation marks take two bytes.
    const input = "x".repeat(limits.maxRecordBytes - 2);
    await at.store.save({ name: "a", value: 1, input });
    expect(at.store.info("a")?.input === input).toBe(true);
    for (const more of ["x", "x".repeat(2_000_000)]) {
      const write = { name: "b", value: 1, input: input + more };
      await expectCode(() => at.store.save(write), "limit_exceeded");
    }
    expect(namesOf(at.store.list())).toEqual(["a"]);
  });
}

/** What evicted variables leave behind. */
function tombstones(at: Fixture): void {
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
      expect([left(ends), at.store.couldBegin(nameOf(0))]).toEqual([ends.slice(2), false]);
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
