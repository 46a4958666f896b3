import { expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import {
  arrayOfBytes,
  encode,
  objectOfBytes,
  recordsText,
  streamed,
  textOfBytes,
} from "./store-content.ts";
import { isSame, MIB } from "./store-fixture.ts";
import { namesOf } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** Writes that extend existing values, and races between writes. */
export function largeWrites(at: Testing): void {
  extensions(at);
  races(at);
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
