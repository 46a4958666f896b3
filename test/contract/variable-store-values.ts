import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { expectCode, type Fixture, namesOf, START_MS } from "./variable-store-fixture.ts";

/** What is kept is a frozen copy. */
export function values(at: Fixture): void {
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
export function largeValues(at: Fixture): void {
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
