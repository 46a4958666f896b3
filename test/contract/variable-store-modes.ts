import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { WriteMode } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import { expectCode, type Fixture, namesOf, observe } from "./variable-store-fixture.ts";

/** What a write does to an existing value. */
export function writeModes(at: Fixture): void {
  it.each<[WriteMode, Json, Json, Json]>([
    ["replace", [1], "x", "x"],
    ["append", "ab", "cd", "abcd"],
    ["append", [1], 2, [1, 2]],
    ["append", [1], [2, [3]], [1, 2, [3]]],
    ["append", [], { a: 1 }, [{ a: 1 }]],
    ["append", [1], null, [1, null]],
    [
      "merge",
      { a: 1, b: { c: 1, d: 1 } },
      { b: { c: 2 }, e: 3 },
      { a: 1, b: { c: 2, d: 1 }, e: 3 },
    ],
    ["merge", { a: [1] }, { a: [2] }, { a: [2] }],
    ["merge", { a: { b: 1 } }, { a: null }, { a: null }],
    ["merge", { a: 1 }, {}, { a: 1 }],
  ])("%s of %j and %j gives %j, as the next version", async (...row) => {
    const [mode, before, value, after] = row;
    await at.store.save({ name: "v", value: before });
    const info = await at.store.save({ name: "v", value, mode });
    expect(info).toMatchObject({ name: "v", version: 2 });
    expect(await at.store.read("v")).toEqual(after);
  });

  it.each<WriteMode>(["append", "merge"])(
    "%s to a missing variable saves the value",
    async (mode) => {
      await at.store.save({ name: "v", value: 5, mode });
      expect(await at.store.read("v")).toBe(5);
    },
  );

  it.each<[WriteMode, Json, Json]>([
    ["append", "ab", 1],
    ["append", 1, 2],
    ["append", { a: 1 }, { b: 2 }],
    ["append", null, "x"],
    ["merge", [1], [2]],
    ["merge", { a: 1 }, [2]],
    ["merge", "ab", { a: 1 }],
  ])("%s of %j and %j is refused, and nothing changes", async (mode, before, value) => {
    await at.store.save({ name: "v", value: before });
    const seen = await observe(at.store);
    await expectCode(() => at.store.save({ name: "v", value, mode }), "bad_value");
    expect(await observe(at.store)).toEqual(seen);
  });

  it("merge keeps a key named __proto__ a key", async () => {
    await at.store.save({ name: "v", value: { a: 1 } });
    const value = JSON.parse('{"__proto__": {"polluted": 1}}') as Json;
    await at.store.save({ name: "v", value, mode: "merge" });
    expect(JSON.stringify(await at.store.read("v"))).toBe('{"a":1,"__proto__":{"polluted":1}}');
    expect("polluted" in {}).toBe(false);
  });

  it("an extension keeps the metadata that it does not set", async () => {
    const first = { value: [1], ttlMs: 10, pinned: true, description: "of today" };
    await at.store.save({ name: "v", ...first });
    at.nowMs += 4;
    const info = await at.store.save({ name: "v", value: 2, mode: "append" });
    const due = new Date(at.nowMs + 6).toISOString();
    expect(info).toMatchObject({ pinned: true, description: "of today", expiresAt: due });
    const said = { pinned: false, description: "new", ttlMs: 20 };
    const later = await at.store.save({ name: "v", value: 3, mode: "append", ...said });
    expect(later).toMatchObject({ pinned: false, description: "new" });
    expect(later.expiresAt).toBe(new Date(at.nowMs + 20).toISOString());
    expect(await at.store.save({ name: "v", value: 1 })).toMatchObject({ pinned: false });
    expect(at.store.info("v")?.expiresAt).toBeUndefined();
  });

  it("new never touches existing variables or reuses a number", async () => {
    await at.store.save({ name: "v", value: "old" });
    const save = async (value: Json) =>
      (await at.store.save({ name: "v", value, mode: "new" })).name;
    expect([await save(0), await save(1)]).toEqual(["v_000", "v_001"]);
    at.store.delete("v_001");
    expect(await save(2)).toBe("v_002");
    await at.store.save({ name: "v_041", value: 1 });
    expect(await save(3)).toBe("v_042");
    expect(await at.store.read("v")).toBe("old");
    expect(namesOf(at.store.list())).toEqual(["v", "v_000", "v_002", "v_041", "v_042"]);
  });

  it("new refuses a name that would become too long", async () => {
    const name = "v".repeat(limits.maxNameChars - 3);
    await expectCode(() => at.store.save({ name, value: 1, mode: "new" }), "bad_name");
    expect(at.store.count()).toBe(0);
  });
}

/** Changes of the metadata, which leave value, version and order as they are. */
export function changes(at: Fixture): void {
  const saveTwo = async () => {
    await at.store.save({ name: "a", value: [1], ttlMs: 10, description: "old" });
    await at.store.save({ name: "b", value: 2 });
  };

  it("apply only to the given properties", async () => {
    await saveTwo();
    const { expiresAt, ...before } = at.store.info("a") ?? {};
    const pinned = at.store.update("a", { pinned: true });
    expect(pinned).toEqual({ ...before, expiresAt, pinned: true, metadataVersion: 1 });
    const described = at.store.update("a", { description: "new", ttlMs: null });
    expect(described).toEqual({
      ...before,
      pinned: true,
      description: "new",
      metadataVersion: 2,
    });
    expect(at.store.info("a")).toEqual(described);
    expect(await at.store.read("a")).toEqual([1]);
    expect(namesOf(at.store.list())).toEqual(["a", "b"]);
  });
}
