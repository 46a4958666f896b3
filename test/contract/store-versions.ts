import { expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import { encode, streamed } from "./store-content.ts";
import { KIB, MIB } from "./store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** Earlier versions of variables that edits, `set_variable` or HTTP change. */
export function versions(at: Testing): void {
  const change = (value: Write["value"], more: Partial<Write> = {}) =>
    at.store.save({ name: "v", value, keepsVersion: true, ...more });
  const kept = async () => {
    const all = [];
    for (let version = 1; version <= 9; version++) {
      const earlier = at.store.earlier("v", version);
      if (earlier !== undefined) all.push(`${version} ${String(await earlier.read())}`);
    }
    return all.join(", ");
  };

  it("are the two before the current one", async () => {
    for (const value of ["a", "b", "c", "d"]) await change(value);
    expect(await kept()).toBe("2 b, 3 c");
    at.store.forget();
    expect((await kept()).split(", ")).toHaveLength(2);
    expect(at.store.earlier("v", 4)).toBeUndefined();
    expect(at.store.earlier("w", 1)).toBeUndefined();
    expect(at.store.bytes()).toBe(3);
  });

  it("are restored one by one, and the undone version is kept", async () => {
    for (const value of ["a", "b", "c"]) await change(value);
    expect(at.store.undo("v")).toMatchObject({ name: "v", version: 4, count: 1 });
    expect(await at.store.read("v")).toBe("b");
    expect(await kept()).toBe("1 a, 3 c");
    at.store.forget();
    expect(at.store.undo("v")?.version).toBe(5);
    expect(await at.store.read("v")).toBe("a");
    expect(at.store.undo("v")).toBeUndefined();
    await change("e");
    expect(at.store.undo("v")?.version).toBe(7);
    expect(await at.store.read("v")).toBe("a");
  });

  it("of any size can be read whole and in part, and leave nothing behind", async () => {
    for (const size of [10, ...at.sizes]) {
      at.renew();
      const texts = ["a", "b", "c"].map((letter) => letter.repeat(size));
      for (const text of texts) {
        await change(await at.store.receive(streamed([encode(text)]).stream, "text/plain"));
      }
      expect(await at.store.earlier("v", 1)?.read()).toBe(texts[0]);
      const part = await at.store.earlier("v", 2)?.readPath([{ from: 1, to: 3 }]);
      expect(part).toMatchObject({ found: true, value: "bb" });
      const open = at.store.earlier("v", 1)?.open();
      expect((await open?.read(0, 2))?.length).toBe(2);
      open?.close();
      at.store.undo("v");
      expect(await at.store.read("v")).toBe(texts[1]);
      expect(await at.store.earlier("v", 3)?.read()).toBe(texts[2]);
      at.store.delete("v");
      expect(at.store.bytes()).toBe(0);
      await at.store.sweep();
      await at.ground.expectClean(at.store);
    }
  });

  it("are dropped when another write replaces the variable, or it becomes secret", async () => {
    await change("a");
    await change("b");
    await at.store.save({ name: "v", value: "c" });
    expect(await kept()).toBe("");
    expect(at.store.undo("v")).toBeUndefined();
    await change("d");
    await change("e", { visibility: "secret" });
    await change("f");
    expect(await kept()).toBe("");
  });

  it("are restored with the stricter visibility and the current pin", async () => {
    await change("a", { description: "first" });
    await change("b", { visibility: "sealed", pinned: true });
    expect(at.store.undo("v")).toMatchObject({
      visibility: "sealed",
      pinned: true,
      description: "first",
    });
    expect(at.store.glance("v")?.visibility).toBe("sealed");
  });

  it("are evicted first when the quota needs room", async () => {
    const store = at.fresh({ quotaBytes: 4 * KIB });
    for (const letter of ["a", "b", "c"]) await change(letter.repeat(KIB));
    await store.save({ name: "w", value: "w".repeat(KIB) });
    expect((await kept()).split(", ")).toHaveLength(2);
    await store.save({ name: "x", value: "x".repeat(KIB) });
    expect([
      ...store.list().map(({ name }) => name),
      (await kept()).split(", ").filter(Boolean).length,
    ]).toEqual(["v", "w", "x", 1]);
    await change("d".repeat(2 * KIB));
    expect([
      store.list().length,
      (await kept()).split(", ").filter(Boolean).length,
      store.bytes(),
    ]).toEqual([3, 0, 4 * KIB]);
    expect(store.undo("v")).toBeUndefined();
  });

  it("are not kept for an expired variable, or with keepVersions: 0", async () => {
    await change("a", { ttlMs: 1_000 });
    at.ground.nowMs += 2_000;
    await change("b");
    expect(await kept()).toBe("");
    at.renew();
    at.fresh({ keepVersions: 0 });
    for (const value of ["a", "b", "x".repeat(2 * MIB)]) await change(value);
    await change("y");
    expect(await kept()).toBe("");
    await at.store.sweep();
    await at.ground.expectClean(at.store);
  });

  it("stay as they were if a write is rolled back", async () => {
    for (const value of ["a", "b", "c"]) await change(value);
    const stop = at.store.observe(() => {
      throw new Error("No.");
    });
    await expect(change("d")).rejects.toThrow("No.");
    expect(() => at.store.undo("v")).toThrow("No.");
    stop();
    expect(await kept()).toBe("1 a, 2 b");
    expect(await at.store.read("v")).toBe("c");
    expect(at.store.undo("v")?.version).toBe(4);
  });
}
