import { expect, it } from "vitest";
import { encode, plainTextOfBytes } from "./store-content.ts";
import { KIB, MIB } from "./store-fixture.ts";
import { START_MS } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** An open value stays as it is until it is closed. */
export function openValues(at: Testing): void {
  const save = async (size: number) => {
    const text = plainTextOfBytes(size);
    await at.store.save({ name: "v", value: text });
    at.store.forget();
    return encode(text);
  };
  const open = () => {
    const opened = at.store.open("v");
    if (opened === undefined) throw new Error("It is not there.");
    return opened;
  };

  it.each(at.sizes)("return any range of %i bytes", async (size) => {
    const bytes = await save(size);
    const opened = open();
    expect(opened.info).toEqual(at.store.info("v"));
    const chunk = Math.min(MIB, size - 1);
    const ranges = [
      [0, 0],
      [0, 1],
      [0, size],
      [size - 1, size],
      [size, size],
      [chunk - 1, chunk + 1],
      [chunk, chunk],
      [Math.floor(size / 3), Math.floor(size / 2)],
    ] as const;
    for (const [from, to] of ranges) {
      const read = await opened.read(from, to);
      expect(Buffer.compare(read, bytes.subarray(from, to))).toBe(0);
    }
    opened.close();
    await at.ground.expectClean(at.store);
  });

  const ways: Readonly<Record<string, () => unknown>> = {
    replaced: () => at.store.save({ name: "v", value: plainTextOfBytes(9 * MIB + 5) }),
    "replaced by a small one": () => at.store.save({ name: "v", value: 1 }),
    extended: () => at.store.save({ name: "v", value: "more", mode: "append" }),
    deleted: () => at.store.delete("v"),
    reset: () => at.store.reset(0),
    evicted: () => {
      at.ground.nowMs = START_MS + 100;
      at.store.update("v", { ttlMs: 1 });
      return at.store.evictDue(START_MS + 101, 1);
    },
  };
  it.each(Object.keys(ways).flatMap((way) => at.sizes.map((size) => [way, size] as const)))(
    "do not change for an open reader when the variable is %s, at %i bytes",
    async (way, size) => {
      const bytes = await save(size);
      const [one, other] = [open(), open()];
      expect(Buffer.compare(await one.read(0, 100), bytes.subarray(0, 100))).toBe(0);
      await ways[way]?.();
      const isElsewhere = size > 64 * KIB;
      expect(await at.store.sweep()).toBe(!isElsewhere);
      expect(Buffer.compare(await one.read(0, size), bytes)).toBe(0);
      one.close();
      // Closing twice counts once. The other reader can still read.
      one.close();
      expect(await at.store.sweep()).toBe(!isElsewhere);
      expect(Buffer.compare(await other.read(0, size), bytes)).toBe(0);
      other.close();
      await at.ground.expectClean(at.store);
    },
  );

  it("can be read while the variable is replaced", async () => {
    const bytes = await save(9 * MIB);
    const reading = at.store.read("v");
    const part = at.store.readPath("v", [{ from: -3 }]);
    const saving = at.store.save({ name: "v", value: "new" });
    const sweeping = at.store.sweep();
    expect(encode(String(await reading))).toHaveLength(bytes.length);
    expect(await part).toMatchObject({ found: true });
    await Promise.all([saving, sweeping]);
    // The late read is not mistaken for the current value.
    expect(await at.store.read("v")).toBe("new");
    await at.ground.expectClean(at.store);
  });

  it("are never mixed up with a later variable of the same name", async () => {
    await save(9 * MIB);
    const reading = at.store.read("v");
    at.store.delete("v");
    at.store.forget();
    await at.store.save({ name: "v", value: "new" });
    expect(String(await reading).length).toBeGreaterThan(MIB);
    expect(await at.store.read("v")).toBe("new");
  });
}
