import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Json } from "../../src/value/json.ts";
import {
  expectCode,
  type Fixture,
  namesOf,
  START_MS,
  textOf,
  withCode,
} from "./variable-store-fixture.ts";
import { slow } from "../support/slow.ts";

/** Every value that JSON can hold comes back, as a frozen copy. */
export function values(at: Fixture): void {
  it.each<[string, Json]>([
    ["an empty string", ""],
    ["a text", 'a\n"b"\\ é € 😀'],
    ["a text that reads like JSON", '{"a": 1}'],
    ["NUL characters", "\u0000a\u0000b\u0000"],
    ["lone surrogates", "\ud800a\udc00\ud83d"],
    ["lone surrogates inside", { "\udc00": ["\ud800", "a\u0000"] }],
    ["zero", 0],
    ["a number", -1.5e-300],
    ["true", true],
    ["false", false],
    ["null", null],
    ["an empty array", []],
    ["an empty object", {}],
    ["nested values", [[], {}, [null, { a: [1, "2", false, { "": {} }] }]]],
    ["keys in their order", JSON.parse(`{"b": 1, "a": 2, "10": 3, "9": 4}`)],
    ["a __proto__ key", JSON.parse(`{"__proto__": {"a": 1}, "constructor": 2}`)],
  ])("keeps %s", async (_, value) => {
    await at.store.save({ name: "a", value });
    expect(await at.store.read("a")).toStrictEqual(value);
    expect(JSON.stringify(await at.store.read("a"))).toBe(JSON.stringify(value));
    expect(at.store.info("a")?.bytes).toBe(Buffer.byteLength(textOf(value)));
    expect(at.store.info("a")?.chars).toBe(textOf(value).length);
  });

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

/** Saves the value as `a`, checks that it reads back, and returns where it is stored. */
async function keeps(at: Fixture, value: Json) {
  await at.store.save({ name: "a", value });
  // Compares without a diff, which is slow to print for megabytes.
  const isSame = Object.is(textOf((await at.store.read("a")) ?? null), textOf(value));
  expect(isSame || "differs").toBe(true);
  return at.store.info("a")?.location;
}

/** Values at the sizes where the storage location changes. */
export function largeValues(at: Fixture): void {
  it("stores values over 8 MiB in the bucket, if there is one", slow, async () => {
    const large = at.hasBucket ? "r2" : "chunks";
    expect(await keeps(at, "x".repeat(limits.maxChunkedBytes))).toBe("chunks");
    for (const value of ["é".repeat(limits.maxChunkedBytes / 2) + "x", ["x".repeat(9_000_000)]])
      expect(await keeps(at, value)).toBe(large);
    expect(await keeps(at, "small")).toBe("row");
    await at.store.sweep();
    expect(at.store.hasGarbage()).toBe(false);
  });

  it.each<[string, Json]>([
    ["a text with characters of two to four bytes", `é${"😀€".repeat(400_000)}`],
    ["a text with a lone surrogate", `\ud800${"😀".repeat(500_000)}`],
    ["an array", Array.from({ length: 60_000 }, (_, id) => ({ id, name: `Zoë 😀 ${id} €` }))],
  ])("keeps %s in chunks", async (_, value) => {
    expect(await keeps(at, value)).toBe("chunks");
    expect(await keeps(at, "small")).toBe("row");
    expect(await keeps(at, value)).toBe("chunks");
  });

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

  it("evicts a variable even if its input almost fills the row", async () => {
    const input = "x".repeat(limits.maxSqlValueBytes - 10);
    let taken = 1;
    try {
      await at.store.save({ name: "a", value: 1, input, ttlMs: 1 });
    } catch (error) {
      expect(error).toEqual(withCode("limit_exceeded"));
      taken = 0;
    }
    expect(at.store.evictDue(START_MS + 1, 1)).toHaveLength(taken);
  });
}
