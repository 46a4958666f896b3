import { expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import {
  arrayOfBytes,
  encode,
  plainTextOfBytes,
  objectOfBytes,
  recordsText,
  streamed,
  textOfBytes,
} from "./store-content.ts";
import { expectFailure, isSame, MIB, seen } from "./store-fixture.ts";
import { namesOf } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** Writes that extend existing values, races between writes, writes in two steps, and several at once. */
export function largeWrites(at: Testing): void {
  extensions(at);
  races(at);
  halves(at);
  batches(at);
}

function extensions(at: Testing): void {
  it.each(at.sizes)("extends a value of %i bytes", async (size) => {
    const text = textOfBytes(size);
    const array = arrayOfBytes(size) as Json[];
    const object = objectOfBytes(size);
    const cases: readonly (readonly [Json, Omit<Write, "name">, Json])[] = [
      [text, { value: "é!", mode: "append" }, `${text}é!`],
      [array, { value: { new: true }, mode: "append" }, [...array, { new: true }]],
      [array, { value: [1, [2]], mode: "append" }, [...array, 1, [2]]],
      [array, { value: "last", path: [{ index: -1 }] }, [...array.slice(0, -1), "last"]],
      [
        object,
        { value: { last: 1, new: { a: 1 } }, mode: "merge" },
        { ...object, last: 1, new: { a: 1 } },
      ],
      [object, { value: 5, path: [{ key: "a" }, { key: "b" }] }, { ...object, a: { b: 5 } }],
      [
        object,
        { value: "!", path: [{ key: "last" }], mode: "append" },
        { ...object, last: `${String(object["last"])}!` },
      ],
    ];
    // Megabytes in the bucket are slow, so half of the cases must do.
    const chosen = cases.filter((_, index) => size < 8 * MIB || index % 2 === 1);
    for (const [before, write, after] of chosen) {
      const { version } = await at.store.save({ name: "v", value: before });
      at.store.forget();
      const info = await at.store.save({ name: "v", ...write });
      expect(info.version).toBe(version + 1);
      at.store.forget();
      expect(at.store.info("v")).toEqual(info);
      expect(isSame(await at.store.read("v"), after)).toBe(true);
      await at.ground.expectClean(at.store);
    }
  });

  it.each(at.kind.hasBucket ? [120_000] : [10, 5_000])(
    "extends %i records received as NDJSON",
    async (count) => {
      const records = Array.from({ length: count }, (_, id) => ({ id, text: "é".repeat(20) }));
      const { stream } = streamed([encode(recordsText(records))]);
      const content = await at.store.receive(stream, "application/x-ndjson");
      await at.store.save({ name: "v", value: content });
      const info = await at.store.save({ name: "v", value: { id: -1 }, mode: "append" });
      expect(info).toMatchObject({ version: 2, count: count + 1 });
      await at.store.save({ name: "v", value: "é", path: [{ index: 0 }, { key: "id" }] });
      at.store.forget();
      expect(await at.store.readPath("v", [{ from: -1 }])).toEqual({
        found: true,
        value: [{ id: -1 }],
      });
      expect(await at.store.readPath("v", [{ index: 0 }, { key: "id" }])).toEqual({
        found: true,
        value: "é",
      });
      expect(await at.store.readPath("v", [{ index: count - 1 }, { key: "text" }])).toMatchObject({
        found: true,
      });
      await at.ground.expectClean(at.store);
    },
  );
}

function races(at: Testing): void {
  const big = arrayOfBytes(at.sizes.at(-1) ?? 0);
  const tail = async (count: number) => {
    const reading = await at.store.readPath("v", [{ from: -count }]);
    return reading?.found === true ? reading.value : reading;
  };

  it("concurrent appends lose nothing", async () => {
    await at.store.save({ name: "v", value: big });
    at.store.forget();
    const appended = ["a", "b", "c"];
    const infos = await Promise.all(
      appended.map((value) => at.store.save({ name: "v", value, mode: "append" })),
    );
    expect(infos.map(({ version }) => version).sort()).toEqual([2, 3, 4]);
    expect(at.store.info("v")?.count).toBe(big.length + 3);
    expect([...((await tail(3)) as string[])].sort()).toEqual(appended);
    await at.ground.expectClean(at.store);
  });

  it("an append extends the value at the time it is applied, even a new one under the same name", async () => {
    await at.store.save({ name: "v", value: big });
    at.store.forget();
    const appending = at.store.save({ name: "v", value: "appended", mode: "append" });
    at.store.delete("v");
    await at.store.save({ name: "v", value: ["new"] });
    await appending;
    expect(await at.store.read("v")).toEqual(["new", "appended"]);
    await at.ground.expectClean(at.store);
  });

  it("concurrent saves under automatic names get different names", async () => {
    const infos = await Promise.all([1, 2, 3].map(() => at.store.save({ value: big })));
    expect(namesOf(infos)).toEqual(["variable_1", "variable_2", "variable_3"]);
    await at.ground.expectClean(at.store);
  });
}

function halves(at: Testing): void {
  it.each(at.sizes)(
    "a prepared write of %i bytes is invisible until it is committed",
    async (size) => {
      const value = plainTextOfBytes(size);
      await at.store.save({ name: "v", value: "old" });
      const before = await seen(at.store);
      const prepared = await at.store.prepare({ name: "v", value });
      expect(await seen(at.store)).toEqual(before);
      const keys = await at.ground.keys();
      await at.store.sweep();
      expect(await at.ground.keys()).toEqual(keys);
      const info = prepared.commit();
      expect(at.store.info("v")).toEqual(info);
      expect(info.version).toBe(2);
      // Has no effect, since the value is committed.
      prepared.discard();
      await at.ground.expectClean(at.store);
      at.store.forget();
      expect((await at.store.read("v")) === value).toBe(true);
    },
  );

  it.each(at.sizes)("a discarded write of %i bytes leaves nothing", async (size) => {
    const prepared = await at.store.prepare({ name: "v", value: plainTextOfBytes(size) });
    prepared.discard();
    expect(at.store.count()).toBe(0);
    await at.ground.expectClean(at.store);
  });

  it.each(at.sizes)(
    "a prepared extension of %i bytes conflicts with an intervening write or delete",
    async (size) => {
      const array = arrayOfBytes(size);
      const extend = () => at.store.prepare({ name: "v", value: 1, mode: "append" });
      const overtake: readonly (() => unknown)[] = [
        () => at.store.save({ name: "v", value: 2, mode: "append" }),
        () => at.store.delete("v"),
        () => {
          at.store.delete("v");
          return at.store.save({ name: "v", value: [3] });
        },
      ];
      for (const work of overtake) {
        await at.store.save({ name: "v", value: array });
        const prepared = await extend();
        await work();
        const before = await seen(at.store);
        await expectFailure(() => prepared.commit(), "conflict");
        prepared.discard();
        expect(isSame(await seen(at.store), before)).toBe(true);
        await at.ground.expectClean(at.store);
      }
      at.store.delete("v");
      const first = await extend();
      await at.store.save({ name: "v", value: [0] });
      await expectFailure(() => first.commit(), "conflict");
      // A change of the metadata is no conflict.
      const second = await extend();
      at.store.update("v", { pinned: true, description: "list" });
      expect(second.commit()).toMatchObject({ pinned: true, description: "list" });
      expect(await at.store.read("v")).toEqual([0, 1]);
    },
  );
}

function batches(at: Testing): void {
  it.each(at.sizes)("saves none if one is refused: %i bytes", async (size) => {
    await at.store.save({ name: "old", value: [1] });
    const before = await seen(at.store, ["a", "old"]);
    const good = { name: "a", value: plainTextOfBytes(size) };
    const bad: readonly (readonly [Write, string])[] = [
      [{ name: "not a name", value: 1 }, "bad_name"],
      [{ name: "old", value: { a: 1 }, mode: "merge" }, "bad_value"],
      [{ name: "b", value: Infinity }, "bad_value"],
      [{ name: "b", value: 1, path: [{ each: true }] }, "bad_path"],
      [{ name: "b", value: 1, input: "x".repeat(2 * MIB) }, "limit_exceeded"],
    ];
    for (const [write, code] of bad) {
      const orders = [
        [good, write],
        [write, good],
        [{ name: "old", value: 2, mode: "append" } as const, good, write],
      ];
      for (const writes of code === "bad_name" ? orders : orders.slice(0, 1)) {
        await expectFailure(() => at.store.saveAll(writes), code);
        expect(await seen(at.store, ["a", "old"])).toEqual(before);
        await at.ground.expectClean(at.store);
      }
    }
  });

  it.each(at.sizes)("each write sees those before it: %i bytes", async (size) => {
    const array = arrayOfBytes(size) as Json[];
    const infos = await at.store.saveAll([
      { name: "v", value: array },
      { name: "v", value: "x", mode: "append" },
      { name: "v", value: ["y"], mode: "append" },
      { name: "v", value: { z: 1 }, path: [{ index: -1 }] },
    ]);
    expect(infos.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    at.store.forget();
    expect(isSame(await at.store.read("v"), [...array, "x", { z: 1 }])).toBe(true);
    await at.ground.expectClean(at.store);
  });

  it("retries after a concurrent write, and keeps its streamed content", async () => {
    await at.store.save({ name: "v", value: arrayOfBytes(9 * MIB) });
    at.store.forget();
    const lines = encode(`${JSON.stringify("x".repeat(5 * MIB))}\n`);
    const content = await at.store.receive(streamed([lines, lines]).stream, "application/x-ndjson");
    const saving = at.store.saveAll([
      { name: "brought", value: content },
      { name: "v", value: "appended", mode: "append" },
    ]);
    const sweepAll = async () => {
      for (let times = 0; times < 20; times++) await at.store.sweep();
    };
    const other = at.store.save({ name: "v", value: arrayOfBytes(9 * MIB + 100) });
    await Promise.all([saving, other, sweepAll()]);
    expect(await at.store.readPath("brought", [{ index: 1 }, { key: "no" }])).toMatchObject({
      found: false,
    });
    const reading = await at.store.readPath("brought", [{ index: 1 }]);
    expect(reading?.found === true && String(reading.value).length === 5 * MIB).toBe(true);
    await at.ground.expectClean(at.store);
  });
}
