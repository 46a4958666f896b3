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

function inBucket(blobs: MemoryBlobs, sql = migratedSql()): SqlStore {
  return new SqlStore(sql, { bucket: { blobs, prefix: "c/" } });
}

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
  "a part of a stored value equals the same part of the whole value, found or missing: %s",
  async (_, path) => {
    const store = new SqlStore(migratedSql());
    await store.save({ name: "rows", value: rows });
    store.forget();
    expect(await store.readPath("rows", path)).toEqual(readPath(rows, path));
  },
);

it("a value in the bucket cannot be read without its bucket or with an incomplete object", async () => {
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

it("records are added on lines of their own, without a byte order mark", async () => {
  const store = new SqlStore(migratedSql());
  for (const text of ['{"a":1}', '\ufeff{"a":2}\n', '{"a":3}']) {
    const value = await store.receive(streamed([Buffer.from(text)]).stream, NDJSON);
    await store.save({ name: "v", value, mode: "append" });
  }
  const stored = Buffer.from(await bytesOf(store, "v")).toString();
  expect(stored).toBe('{"a":1}\n{"a":2}\n{"a":3}');
  expect(await store.read("v")).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
});

it("content that is being swept is refused, and not saved without its bytes", async () => {
  const blobs = new MemoryBlobs();
  const store = inBucket(blobs);
  const image = new Uint8Array(9 * MIB);
  const value = await store.receive(streamed([image]).stream, "image/png");
  await expectFailure(() => store.save({ name: "not a name", value }), "bad_name");
  const remove = blobs.delete.bind(blobs);
  let saving: Promise<unknown> = Promise.resolve();
  blobs.delete = async (keys) => {
    saving = expectFailure(() => store.save({ name: "image", value }), "bad_value");
    await saving;
    await remove(keys);
  };
  expect(await store.sweep()).toBe(true);
  await saving;
  expect(store.count()).toBe(0);
});

describe("streamed content", () => {
  const received = (store: SqlStore) => {
    const line = new TextEncoder().encode(`"${"x".repeat(MIB)}"\n`);
    const { stream } = streamed(Array.from({ length: 9 }, () => line));
    return store.receive(stream, NDJSON);
  };

  it("is not appended to an object", async () => {
    const store = inBucket(new MemoryBlobs());
    const existing: Json = { a: 1 };
    await store.save({ name: "v", value: existing });
    const write = { name: "v", value: await received(store), mode: "append" } as const;
    await expectFailure(async () => store.save(write), "bad_value");
    expect(await store.read("v")).toEqual(existing);
  });

  it("is written below a path as an array, and leaves nothing in the bucket", slow, async () => {
    const blobs = new MemoryBlobs();
    const store = inBucket(blobs);
    await store.save({ name: "v", value: { a: 1, b: 2 } });
    await store.save({ name: "v", value: await received(store), path: [{ key: "a" }] });
    expect(await store.read("v")).toEqual({ a: Array(9).fill("x".repeat(MIB)), b: 2 });
    await store.sweep();
    expect(await blobs.list("")).toHaveLength(1);
  });
});
