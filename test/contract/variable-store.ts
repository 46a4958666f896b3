import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { VariableStore } from "../../src/store/variable-store.ts";
import {
  expectCode,
  type Fixture,
  iso,
  NOTHING,
  observe,
  START_MS,
} from "./variable-store-fixture.ts";
import { deleting, expiry, idleness, tombstones } from "./variable-store-life.ts";
import { changes, writeModes } from "./variable-store-modes.ts";
import { largeValues, values } from "./variable-store-values.ts";
import { slow } from "../support/slow.ts";

export interface StoreOptions {
  readonly now: () => number;
}

interface Subject {
  readonly dispose?: (store: VariableStore) => void;
  /** True if the store has a bucket for large values. */
  readonly hasBucket?: boolean;
}

/** Tests the empty stores that `make` returns. */
export type StoreContract = (
  make: (options: StoreOptions) => VariableStore | Promise<VariableStore>,
  subject?: Subject,
) => void;

/** The operations that must have the same outcome in every implementation. */
export const variableStoreContract: StoreContract = (make, subject = {}) => {
  const { dispose = () => {}, hasBucket = false } = subject;
  // The store is set before each test.
  const at = { nowMs: START_MS, hasBucket } as Fixture;
  beforeEach(async () => {
    at.nowMs = START_MS;
    at.store = await make({ now: () => at.nowMs });
  });
  afterEach(() => dispose(at.store));
  describe("saving and reading", () => savingAndReading(at));
  describe("automatic names", () => automaticNames(at));
  describe("write modes", () => writeModes(at));
  describe("changes", () => changes(at));
  describe("values", () => values(at));
  describe("large values", slow, () => largeValues(at));
  describe("deleting", () => deleting(at));
  describe("expiry", () => expiry(at));
  describe("idleness", () => idleness(at));
  describe("tombstones", () => tombstones(at));
};

function savingAndReading(at: Fixture): void {
  it("is empty at first", async () => {
    expect(await observe(at.store)).toEqual(NOTHING);
    expect(await at.store.read("a")).toBeUndefined();
    expect(at.store.info("a")).toBeUndefined();
    expect(at.store.tombstone("a")).toBeUndefined();
    expect(at.store.couldBegin("")).toBe(false);
    expect(at.store.delete("a")).toBe(false);
    expect(at.store.reset(0)).toEqual([]);
    expect(at.store.evictDue(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
  });

  it("returns all that was written, with the same info from save, info and list", async () => {
    const provenance = {
      description: "Of today",
      tool: "t",
      toolCallId: "c",
      input: { a: ["$b"] },
    };
    const write = { name: "a", value: [1, "é"], ttlMs: 5, pinned: true, ...provenance };
    const { shape, preview, ...rest } = await at.store.save(write);
    expect({ shape, preview }).toEqual({ shape: "(number | string)[]", preview: '[1,"é"]' });
    const [createdAt, expiresAt] = [iso(START_MS), iso(START_MS + 5)];
    const size = { type: "array", count: 2, bytes: 8, chars: 7, location: "row" };
    const kind = { mediaType: "application/json", scope: "conversation", visibility: "model" };
    const times = { createdAt, updatedAt: createdAt, accessedAt: createdAt, expiresAt };
    const asked = { name: "a", pinned: true, ...provenance };
    const origin = { sources: ["tool:t"], trusted: true, version: 1 };
    expect(rest).toEqual({ ...asked, ...size, ...kind, ...times, ...origin });
    expect(at.store.info("a")).toStrictEqual({ shape, preview, ...rest });
    expect(at.store.list()).toStrictEqual([{ shape, preview, ...rest }]);
  });

  it("replaces a variable of the same name: next version, and only createdAt stays", async () => {
    await at.store.save({ name: "a", value: 1, tool: "t", ttlMs: 5, pinned: true, input: 1 });
    at.nowMs += 3;
    await at.store.save({ name: "a", value: "two" });
    const info = at.store.info("a");
    expect(info).toMatchObject({ version: 2, type: "string", count: 3, pinned: false });
    expect(info).toMatchObject({ createdAt: iso(START_MS), updatedAt: iso(START_MS + 3) });
    expect(info).not.toHaveProperty("expiresAt");
    expect(info).not.toHaveProperty("tool");
    expect(await at.store.read("a")).toBe("two");
    expect(at.store.count()).toBe(1);
  });

  it.each(["", "7up", "a-b", "a b", "a.b", "é", "a\u0000", "$a", "x".repeat(65)])(
    "refuses the name %j and changes nothing",
    async (name) => {
      await at.store.save({ name: "a", value: 1, ttlMs: 9 });
      const before = await observe(at.store);
      await expectCode(() => at.store.save({ name, value: 2 }), "bad_name");
      expect(await observe(at.store)).toEqual(before);
    },
  );

  it.each(["x".repeat(64), "_", "__proto__", "constructor", "ref"])(
    "accepts the name %s",
    async (name) => {
      expect(await at.store.read(name)).toBeUndefined();
      await at.store.save({ name, value: 1 });
      expect(await at.store.read(name)).toBe(1);
      expect(at.store.info(name)?.name).toBe(name);
    },
  );

  it("knows which texts could begin a name", async () => {
    await at.store.save({ name: "get_weather", value: 1 });
    for (const prefix of ["", "g", "get_", "get_weather"])
      expect(at.store.couldBegin(prefix)).toBe(true);
    for (const prefix of ["get_weather_", "G", "gf", "e", "get-", "g\u0000", "{", "é", "%"])
      expect(at.store.couldBegin(prefix)).toBe(false);
  });
}

function automaticNames(at: Fixture): void {
  const call = async (
    base: string,
    inputDigest: string,
    more: { numbered?: true; tool?: string } = {},
  ) => {
    const { numbered = false, tool = "t" } = more;
    const name = { base, numbered, inputDigest };
    return (await at.store.save({ value: inputDigest, tool, name })).name;
  };
  const count = async () => (await at.store.save({ value: 1 })).name;
  /** Makes the calls one after the other. */
  const calls = async (base: string, digests: string, more: { numbered?: true } = {}) => {
    const names: string[] = [];
    for (const digest of digests) names.push(await call(base, digest, more));
    return names;
  };
  const counts = async (times: number) => {
    const names: string[] = [];
    while (names.length < times) names.push(await count());
    return names;
  };

  it("number values saved without a name", async () => {
    expect(await counts(3)).toEqual(["variable_1", "variable_2", "variable_3"]);
  });

  it("start at 1 for a numbered base, and otherwise continue with 2", async () => {
    const numbered = true;
    expect(await calls("o", "ab", { numbered })).toEqual(["o_1", "o_2"]);
    expect(await calls("w", "abc")).toEqual(["w", "w_2", "w_3"]);
  });

  it("do not repeat for a value without a tool, or one named by hand", async () => {
    const name = { base: "w", numbered: false, inputDigest: "" };
    expect((await at.store.save({ value: 1, name })).name).toBe("w");
    expect((await at.store.save({ value: 1, name })).name).toBe("w_2");
    await at.store.save({ value: 1, name: "by_hand", tool: "t" });
    expect(await call("by_hand", "")).toBe("by_hand_2");
  });

  it("get a prefix if they would read as something else", async () => {
    expect(await calls("ref", "ab")).toEqual(["var_ref", "var_ref_2"]);
    expect(await call("7up", "a")).toBe("var_7up");
  });

  it.each<[string, (store: VariableStore) => unknown]>([
    ["a delete", (store) => store.delete("variable_7")],
    ["a reset", (store) => store.reset(0)],
    ["a replacement", (store) => store.save({ name: "variable_7", value: 2 })],
    ["an eviction", (store) => store.evictDue(START_MS + 1, 10)],
  ])("never reuse a number after %s", async (_, remove) => {
    expect(await counts(2)).toEqual(["variable_1", "variable_2"]);
    await at.store.save({ name: "variable_7", value: 1, ttlMs: 1 });
    await remove(at.store);
    expect(await counts(2)).toEqual(["variable_8", "variable_9"]);
  });

  it.each(Array.from({ length: 11 }, (_, index) => "9".repeat(index + 1)))(
    "overwrite nothing and stay valid after a caller took number %s",
    async (number) => {
      for (const base of ["w", "x".repeat(52)]) {
        await at.store.save({ name: `${base}_${number}`, value: "by hand" });
        const chosen = await calls(base, "abc", { numbered: true });
        expect(new Set([...chosen, `${base}_${number}`]).size).toBe(4);
        for (const name of chosen) expect(name).toMatch(/^\w{1,64}$/);
        expect(await at.store.read(`${base}_${number}`)).toBe("by hand");
      }
    },
  );
}
