import { beforeEach, describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Blobs, BlobUpload } from "../../src/store/bytes/blobs.ts";
import { slow } from "../support/slow.ts";

const PART = limits.maxChunkedBytes;

/** Tests what every implementation must do alike. The tests of a file may share what `make` opens. */
export function blobsContract(make: () => Blobs): void {
  // Set before each test. The prefix is unique.
  const at = {} as Fixture;
  beforeEach(() => {
    at.blobs = make();
    at.prefix = `${crypto.randomUUID()}/`;
    at.key = `${at.prefix}object`;
  });
  describe("objects", () => objects(at));
  describe("uploads", slow, () => uploads(at));
  describe("uploads that end early", () => endings(at));
  describe("ranges", () => ranges(at));
  describe("listing and deleting", () => listingAndDeleting(at));
}

interface Fixture {
  blobs: Blobs;
  prefix: string;
  key: string;
}

function objects(at: Fixture): void {
  it.each([0, 1, 65_537])("keeps %i bytes", async (size) => {
    await at.blobs.put(at.key, bytesOf(size));
    await expectObject(at, bytesOf(size));
  });

  it("keeps a copy, unaffected by changes to the bytes put or read", async () => {
    const given = bytesOf(10);
    await at.blobs.put(at.key, given);
    given.fill(0);
    const read = await at.blobs.read(at.key, 0, 10);
    read.fill(0);
    await expectObject(at, bytesOf(10));
  });

  it("replaces a longer object by a shorter one, and by an empty one", async () => {
    for (const size of [100, 10, 0]) {
      await at.blobs.put(at.key, bytesOf(size));
      await expectObject(at, bytesOf(size));
    }
  });

  it.each(["é 😀", "a/../b", "a//b", "?query#hash", "100%25", "__proto__"])(
    "accepts the key %j",
    async (name) => {
      await at.blobs.put(at.prefix + name, bytesOf(3));
      expect(await at.blobs.read(at.prefix + name, 0, 3)).toEqual(bytesOf(3));
      expect(await at.blobs.list(at.prefix)).toEqual([at.prefix + name]);
      await at.blobs.delete([at.prefix + name]);
      expect(await at.blobs.list(at.prefix)).toEqual([]);
    },
  );
}

function uploads(at: Fixture): void {
  it.each([0, 1, PART - 1, PART, PART + 1, 2 * PART + 4_321])(
    "keep %i bytes in their order",
    async (size) => {
      const upload = await at.blobs.upload(at.key);
      await upload.write(bytesOf(size));
      await upload.complete();
      await expectObject(at, bytesOf(size));
    },
  );

  it.each([
    { piece: 1, size: 1_000 },
    { piece: 65_537, size: PART + 100_000 },
    { piece: PART - 1, size: 2 * PART + 1 },
    { piece: PART, size: 2 * PART },
    { piece: PART + 1, size: 2 * PART + 2 },
  ])("keep $size bytes that arrive in pieces of $piece", slow, async ({ piece, size }) => {
    const bytes = bytesOf(size);
    const upload = await at.blobs.upload(at.key);
    for (let start = 0; start < size; start += piece)
      await upload.write(bytes.subarray(start, start + piece));
    await upload.complete();
    await expectObject(at, bytes);
  });

  it("create an empty object without a write", async () => {
    const upload = await at.blobs.upload(at.key);
    await upload.complete();
    await expectObject(at, bytesOf(0));
  });

  it("accept empty pieces", async () => {
    const upload = await at.blobs.upload(at.key);
    for (const size of [0, 2, 0, 3, 0]) await upload.write(bytesOf(size));
    await upload.complete();
    await expectObject(at, joined(bytesOf(2), bytesOf(3)));
  });

  it.each([10, PART - 10, PART, PART + 10])(
    "let the caller reuse its buffer of %i bytes",
    async (size) => {
      const buffer = bytesOf(size);
      const upload = await at.blobs.upload(at.key);
      await upload.write(buffer);
      buffer.fill(1);
      await upload.write(buffer.subarray(0, 10));
      buffer.fill(2);
      await upload.complete();
      await expectObject(at, joined(bytesOf(size), new Uint8Array(10).fill(1)));
    },
  );

  it("to two keys do not interfere", async () => {
    const keys = [`${at.prefix}a`, `${at.prefix}b`];
    const [a, b] = await Promise.all(keys.map((key) => at.blobs.upload(key)));
    await a?.write(bytesOf(10));
    await b?.write(bytesOf(20));
    await b?.complete();
    expect(await at.blobs.list(at.prefix)).toEqual([keys[1]]);
    await a?.complete();
    await expectObject({ ...at, key: `${at.prefix}a` }, bytesOf(10));
    await expectObject({ ...at, key: `${at.prefix}b` }, bytesOf(20));
  });
}

function endings(at: Fixture): void {
  const sizes = [0, 10, PART + 10];

  it.each(sizes)("hide %i bytes until they are complete", async (size) => {
    const upload = await at.blobs.upload(at.key);
    await upload.write(bytesOf(size));
    expect(await at.blobs.list(at.prefix)).toEqual([]);
    await expectMissing(at);
    await upload.complete();
    expect(await at.blobs.list(at.prefix)).toEqual([at.key]);
  });

  it.each(sizes)("hide %i bytes that are aborted", async (size) => {
    const upload = await at.blobs.upload(at.key);
    await upload.write(bytesOf(size));
    await upload.abort();
    expect(await at.blobs.list(at.prefix)).toEqual([]);
    await expectMissing(at);
  });

  it.each(sizes)("leave the old object until %i bytes are complete", async (size) => {
    await at.blobs.put(at.key, bytesOf(50).reverse());
    const upload = await at.blobs.upload(at.key);
    await upload.write(bytesOf(size));
    await expectObject(at, bytesOf(50).reverse());
    await upload.complete();
    await expectObject(at, bytesOf(size));
  });

  it.each(sizes)("leave the old object when %i bytes are aborted", async (size) => {
    await at.blobs.put(at.key, bytesOf(50).reverse());
    const upload = await at.blobs.upload(at.key);
    await upload.write(bytesOf(size));
    await upload.abort();
    await expectObject(at, bytesOf(50).reverse());
  });

  it.each<[string, (upload: BlobUpload) => Promise<void>]>([
    ["completed", (upload) => upload.complete()],
    ["aborted", (upload) => upload.abort()],
  ])("accept nothing after they are %s, and keep the current object", async (_, end) => {
    for (const size of sizes) {
      const upload = await at.blobs.upload(at.key);
      await upload.write(bytesOf(size));
      await end(upload);
      const before = await at.blobs.list(at.prefix);
      await expect(upload.write(bytesOf(1))).rejects.toMatchObject({ code: "internal" });
      await expect(upload.complete()).rejects.toMatchObject({ code: "internal" });
      await upload.abort();
      expect(await at.blobs.list(at.prefix)).toEqual(before);
      if (before.length > 0) await expectObject(at, bytesOf(size));
    }
  });
}

function ranges(at: Fixture): void {
  it.each([
    [0, 1],
    [0, 1_000],
    [1, 2],
    [499, 501],
    [999, 1_000],
  ])("from %i to %i are read exactly", async (from, to) => {
    await at.blobs.put(at.key, bytesOf(1_000));
    expect(await at.blobs.read(at.key, from, to)).toEqual(bytesOf(1_000).slice(from, to));
  });

  it("are read across the parts of an upload", async () => {
    const bytes = bytesOf(2 * PART + 10);
    const upload = await at.blobs.upload(at.key);
    await upload.write(bytes);
    await upload.complete();
    for (const end of [PART, 2 * PART, 2 * PART + 10])
      for (const [from, to] of [
        [end - 7, Math.min(end + 7, bytes.length)],
        [end - 7, end],
        [end - 1, end],
      ] as const)
        expect(await at.blobs.read(at.key, from, to)).toEqual(bytes.slice(from, to));
    expect(await at.blobs.read(at.key, PART, PART + 3)).toEqual(bytes.slice(PART, PART + 3));
  });

  it.each([0, 5, 1_000, 5_000])(
    "that are empty, at %i, return no bytes, even without an object",
    async (from) => {
      expect(await at.blobs.read(at.key, from, from)).toEqual(new Uint8Array());
      await at.blobs.put(at.key, bytesOf(1_000));
      expect(await at.blobs.read(at.key, from, from)).toEqual(new Uint8Array());
    },
  );

  it("of a missing object fail, with its key", async () => {
    await expectMissing(at);
  });

  // Local R2 trips over ranges that begin at the end, and prints an AssertionError for each.
  it.each([
    { size: 0, from: 0, to: 1 },
    { size: 10, from: 0, to: 11 },
    { size: 10, from: 9, to: 11 },
    { size: 10, from: 10, to: 11 },
    { size: 10, from: 20, to: 30 },
    { size: 10, from: 0, to: Number.MAX_SAFE_INTEGER },
  ])("from $from to $to of $size bytes fail instead of returning fewer bytes", async (range) => {
    const { size, from, to } = range;
    await at.blobs.put(at.key, bytesOf(size));
    await expect(at.blobs.read(at.key, from, to)).rejects.toMatchObject({
      code: "internal",
      details: { key: at.key, from, to },
    });
  });

  it.each([
    [5, 4],
    [-1, 3],
    [-3, -1],
  ])("from %i to %i are invalid and fail", async (from, to) => {
    await at.blobs.put(at.key, bytesOf(10));
    await expect(at.blobs.read(at.key, from, to)).rejects.toMatchObject({ code: "internal" });
  });
}

function listingAndDeleting(at: Fixture): void {
  const put = (names: readonly string[]) =>
    Promise.all(names.map((name) => at.blobs.put(at.prefix + name, bytesOf(1))));
  const list = async (prefix = "") => {
    const keys = await at.blobs.list(at.prefix + prefix);
    return keys.map((key) => key.slice(at.prefix.length)).sort();
  };

  it("finds nothing under an empty prefix", async () => {
    expect(await list()).toEqual([]);
  });

  it("finds only the keys with the prefix, whatever their characters", async () => {
    const names = ["a", "a/b", "a/b/c", "ab", "a_c", "a%c", "a*c", "A", "b"].sort();
    await put(names);
    expect(await list()).toEqual(names);
    for (const prefix of ["a", "a/", "a/b", "a_", "a%", "a*", "A", "a[", "c"])
      expect(await list(prefix)).toEqual(names.filter((name) => name.startsWith(prefix)));
    expect(await at.blobs.list("")).toEqual(expect.arrayContaining([`${at.prefix}a/b`]));
  });

  it("deletes the given key, but no key that starts with it", async () => {
    await put(["a", "a/b", "ab"]);
    await at.blobs.delete([`${at.prefix}a`]);
    expect(await list()).toEqual(["a/b", "ab"]);
    await expectMissing({ ...at, key: `${at.prefix}a` });
  });

  it("ignores absent and repeated keys when it deletes", async () => {
    await put(["a", "b"]);
    await at.blobs.delete([]);
    await at.blobs.delete(["none", "a", "a", "none"].map((name) => at.prefix + name));
    expect(await list()).toEqual(["b"]);
    await at.blobs.delete([`${at.prefix}a`]);
    expect(await list()).toEqual(["b"]);
  });
}

/** Slow, since a bucket needs seconds for two thousand requests. */
export function manyBlobs(make: () => Blobs): void {
  it("lists and deletes more than fit in one request", async () => {
    const blobs = make();
    const prefix = `${crypto.randomUUID()}/`;
    const names = Array.from({ length: 1_050 }, (_, index) => `${prefix}many/${index}`).sort();
    const put = (name: string) => blobs.put(name, bytesOf(1));
    await Promise.all([...names, `${prefix}other`].map(put));
    expect([...(await blobs.list(`${prefix}many/`))].sort()).toEqual(names);
    await blobs.delete(names);
    expect(await blobs.list(prefix)).toEqual([`${prefix}other`]);
  });
}

/** Returns bytes in which no two places look alike. */
function bytesOf(size: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(size / 4));
  for (let index = 0; index < words.length; index++)
    words[index] = Math.imul(index + 1, 2_654_435_761);
  return new Uint8Array(words.buffer, 0, size);
}

function joined(...pieces: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(pieces));
}

/** Expects the object to have exactly these bytes. */
async function expectObject({ blobs, key }: Fixture, bytes: Uint8Array): Promise<void> {
  const read = await blobs.read(key, 0, bytes.length);
  expect(read.length).toBe(bytes.length);
  // Printing megabytes would take minutes.
  expect(Buffer.compare(read, bytes)).toBe(0);
  expect(await blobs.list(key)).toContain(key);
  const { length } = bytes;
  if (length > 0)
    await expect(blobs.read(key, length - 1, length + 1)).rejects.toMatchObject({
      code: "internal",
    });
}

async function expectMissing({ blobs, key }: Fixture): Promise<void> {
  await expect(blobs.read(key, 0, 1)).rejects.toMatchObject({
    code: "variable_evicted",
    details: {},
  });
}
