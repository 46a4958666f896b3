import { afterEach, describe, expect, it } from "vitest";
import { bytesContent } from "../../src/store/bytes/content.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Json } from "../../src/value/json.ts";
import { type Path, readPath } from "../../src/value/path.ts";
import { streamed } from "../contract/store-content.ts";
import { bytesOf, expectFailure, MIB } from "../contract/store-fixture.ts";
import { slow } from "../support/slow.ts";
import { closeAll, migratedSql } from "./watched-sql.ts";

afterEach(closeAll);

const rows = Array.from({ length: 6_000 }, (_, id) => ({
  id,
  ...(id % 2 === 0 ? { tags: [`even ${id} 😀`, "x".repeat(100)] } : { odd: null }),
}));
const NDJSON = "application/x-ndjson";

/** Larger than `maxChunkedBytes`, so it is stored in the bucket. */
const LONG = "a line of text é\n".repeat(520_000);

function inBucket(blobs: MemoryBlobs, sql = migratedSql()): SqlStore {
  return new SqlStore(sql, { bucket: { blobs, prefix: "c/" } });
}

describe("a part of a stored value", () => {
  const paths: readonly Path[] = [
    [{ each: true }, { key: "id" }],
    [{ each: true }, { key: "tags" }, { index: 0 }],
    [{ each: true }, { key: "odd" }],
    [{ each: true }, { key: "tags" }, { each: true }],
    // A failed reading reports the nearest existing path.
    [{ each: true }, { key: "tag" }],
    [{ each: true }, { key: "tags" }, { index: 2 }],
    [{ each: true }, { key: "id" }, { key: "x" }],
    [{ each: true }, { index: 0 }],
    [{ index: -1 }, { key: "odd" }],
    [{ index: 5_999 }, { key: "tags" }],
    [{ index: 6_000 }],
    [{ index: -6_001 }],
    [{ from: -2 }],
    [{ to: 1 }, { each: true }, { key: "id" }],
    [{ from: 3_000, to: 3_001 }, { index: 1 }],
    [{ from: 7, to: 7 }],
    [{ from: 9, to: 3 }, { index: 0 }],
    [{ from: 9, to: 3 }, { each: true }, { key: "id" }],
    [{ key: "id" }],
  ];

  it.each(paths.map((path) => [JSON.stringify(path), path] as const))(
    "equals the same part of the whole value, found or missing: %s",
    async (_, path) => {
      const store = new SqlStore(migratedSql());
      await store.save({ name: "rows", value: rows });
      store.forget();
      expect(await store.readPath("rows", path)).toEqual(readPath(rows, path));
    },
  );

  it("is read from the bucket span by span", slow, async () => {
    const blobs = new MemoryBlobs();
    const store = inBucket(blobs);
    const lines = new TextEncoder().encode(rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const copies = Math.ceil((8 * MIB) / lines.length) + 1;
    const { stream } = streamed(Array.from({ length: copies }, () => lines));
    await store.save({ name: "rows", value: await store.receive(stream, NDJSON) });
    const reading = await store.readPath("rows", [{ each: true }, { key: "id" }]);
    const ids = Array.from({ length: copies }, () => rows.map(({ id }) => id)).flat();
    expect(reading).toEqual({ found: true, value: ids });
    const sizes = blobs.reads.map(({ from, to }) => to - from);
    expect(Math.max(...sizes)).toBeLessThan(MIB);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(copies * lines.length);
  });

  it("has no elements in a text", async () => {
    const store = new SqlStore(migratedSql());
    const text = "é😀".repeat(100_000);
    await store.save({ name: "text", value: text });
    store.forget();
    const readings = [[{ each: true }], [{ index: 0 }], [{ from: 5, to: 5 }], [{ from: -1 }]];
    for (const path of readings as readonly Path[]) {
      expect(await store.readPath("text", path)).toEqual(readPath(text, path));
    }
  });
});

describe("a value in the bucket", () => {
  it("is extended again after a concurrent extension", slow, async () => {
    const store = inBucket(new MemoryBlobs());
    await store.save({ name: "text", value: LONG });
    store.forget();
    const [one, other] = [" one", " other"].map((value) =>
      store.save({ name: "text", value, mode: "append" }),
    );
    await Promise.all([one, other]);
    expect(await store.read("text")).toBe(`${LONG} one other`);
    const late = await store.prepare({ name: "text", value: "late", mode: "append" });
    await store.save({ name: "text", value: "another" });
    await expectFailure(() => late.commit(), "conflict");
    expect(await store.read("text")).toBe("another");
  });

  it("cannot be read without its bucket or with an incomplete object", async () => {
    const blobs = new MemoryBlobs();
    const sql = migratedSql();
    const store = inBucket(blobs, sql);
    const image = bytesContent(new Uint8Array(70_000), "image/png");
    await store.save({ name: "image", value: image });
    await expectFailure(async () => bytesOf(new SqlStore(sql), "image"), "bad_configuration");
    const [key = ""] = await blobs.list("");
    await blobs.put(key, new Uint8Array(69_999));
    await expectFailure(async () => bytesOf(inBucket(blobs, sql), "image"), "internal");
  });

  it("stays for all of its readers, even when the first has closed it", async () => {
    const blobs = new MemoryBlobs();
    const store = inBucket(blobs);
    const image = bytesContent(new Uint8Array(70_000).fill(7), "image/png");
    await store.save({ name: "image", value: image });
    const [first, second] = [store.open("image"), store.open("image")];
    if (first === undefined || second === undefined) throw new Error("It is not there.");
    store.delete("image");
    first.close();
    expect(await store.sweep()).toBe(false);
    expect((await second.read(0, 70_000)).every((byte) => byte === 7)).toBe(true);
    second.close();
    expect(await store.sweep()).toBe(true);
    expect(await blobs.list("")).toEqual([]);
  });
});

describe("streamed content", () => {
  const received = (store: SqlStore) => {
    const line = new TextEncoder().encode(`"${"x".repeat(MIB)}"\n`);
    const { stream } = streamed(Array.from({ length: 9 }, () => line));
    return store.receive(stream, NDJSON);
  };

  it("can be saved once", async () => {
    const store = inBucket(new MemoryBlobs());
    const content = await received(store);
    await store.save({ name: "one", value: content });
    await expectFailure(async () => store.save({ name: "two", value: content }), "bad_value");
    expect(store.list().map(({ name }) => name)).toEqual(["one"]);
  });

  it("is not appended to an object", async () => {
    const store = inBucket(new MemoryBlobs());
    const existing: Json = { a: 1 };
    await store.save({ name: "v", value: existing });
    const write = { name: "v", value: await received(store), mode: "append" } as const;
    await expectFailure(async () => store.save(write), "bad_value");
    expect(await store.read("v")).toEqual(existing);
  });

  it(
    "is written below a path as an array, and leaves nothing else in the bucket",
    slow,
    async () => {
      const blobs = new MemoryBlobs();
      const store = inBucket(blobs);
      await store.save({ name: "v", value: { a: 1, b: 2 } });
      await store.save({ name: "v", value: await received(store), path: [{ key: "a" }] });
      expect(await store.read("v")).toEqual({ a: Array(9).fill("x".repeat(MIB)), b: 2 });
      await store.sweep();
      expect(await blobs.list("")).toHaveLength(1);
    },
  );
});
