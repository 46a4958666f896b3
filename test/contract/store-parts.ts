import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import { type Path } from "../../src/value/path.ts";
import { encode, recordsText, streamed } from "./store-content.ts";
import { expectFailure, isSame, KIB, MIB } from "./store-fixture.ts";
import type { Testing } from "./store-testing.ts";

const NDJSON = "application/x-ndjson";
/** A span has about 256 KiB. A slice may need parts of two spans, and a chunk row is always read whole. */
const FEW_BYTES = 2 * MIB + 600 * KIB;

/** A part of a large value is read without the rest, and equals that part of the whole value. */
export function storeParts(at: Testing): void {
  describe("loading a part", () => loading(at));
}

function loading(at: Testing): void {
  /** Returns the bytes of values that the work loads; 0 where they are not counted. */
  const loadedBy = async (work: () => unknown): Promise<number> => {
    const first = at.ground.blobs.reads.length;
    const before = at.ground.sql?.bytesRead ?? 0;
    await work();
    return at.ground.blobs.bytesReadSince(first) + (at.ground.sql?.bytesRead ?? 0) - before;
  };
  const expectPart = async (path: Path, expected: Json) => {
    const bytes = await loadedBy(async () => {
      const reading = await at.store.readPath("v", path);
      expect(reading?.found).toBe(true);
      expect(isSame(reading, { found: true, value: expected })).toBe(true);
    });
    expect(bytes).toBeLessThan(FEW_BYTES);
  };

  it("of an array loads only the spans with its elements", async () => {
    const rows = Array.from({ length: 200_000 }, (_, id) => ({ id, name: `row number ${id} é` }));
    expect(JSON.stringify(rows).length).toBeGreaterThan(7 * MIB);
    // Without a bucket, 7.9 MB are stored in chunks. With one, more than 8 MiB are stored in the bucket.
    const values = at.kind.hasBucket ? [...rows, ...rows.slice(0, 100_000)] : rows;
    await at.store.save({ name: "v", value: values });
    at.store.forget();
    await expectPart([{ from: 0, to: 10 }], values.slice(0, 10));
    await expectPart([{ index: -1 }], values.at(-1) ?? null);
    await expectPart([{ index: 123_456 }], values[123_456] ?? null);
    await expectPart([{ index: 123_456 }, { key: "name" }], "row number 123456 é");
    await expectPart([{ from: -5, to: -3 }], values.slice(-5, -3));
    await expectPart(
      [{ from: 99_990, to: 100_010 }, { each: true }, { key: "id" }],
      Array.from({ length: 20 }, (_, index) => 99_990 + index),
    );
    await expectPart([{ from: 5, to: 5 }], []);
    // An index out of range loads no elements.
    const nothing = await loadedBy(() => at.store.readPath("v", [{ index: values.length }]));
    expect(nothing).toBeLessThan(20 * KIB);
  });

  it("of a text loads only the spans with its characters", async () => {
    const text = Array.from({ length: 400_000 }, (_, id) => `line ${id} é😀\n`).join("");
    const whole = at.kind.hasBucket ? text + text : text;
    await at.store.save({ name: "v", value: whole });
    at.store.forget();
    const characters = Array.from(whole);
    for (const [from, to] of [
      [0, 10],
      [-10, undefined],
      [3_000_000, 3_000_100],
    ] as const) {
      const range = to === undefined ? { from } : { from, to };
      await expectPart([range], characters.slice(from, to).join(""));
    }
  });

  it("of each record loads each byte once", async () => {
    const count = 90_000;
    const filler = "x".repeat(180);
    const record = (id: number) => ({ id, name: `é ${id}`, filler });
    const { stream } = streamed(pieces(count, record));
    const content = await at.store.receive(stream, NDJSON);
    const info = await at.store.save({ name: "v", value: content });
    expect(info.bytes).toBeGreaterThan(16 * MIB);
    const first = at.ground.blobs.reads.length;
    const ids = await at.store.readPath("v", [{ each: true }, { key: "id" }]);
    expect(isSame(ids, { found: true, value: Array.from({ length: count }, (_, id) => id) })).toBe(
      true,
    );
    const reads = at.ground.blobs.reads.slice(first);
    if (at.kind.hasBucket) {
      expect(at.ground.blobs.bytesReadSince(first)).toBe(info.bytes);
      expect(reads[0]?.from).toBe(0);
      for (const [index, { from, to }] of reads.entries()) {
        expect(to - from).toBeLessThan(MIB);
        if (index > 0) expect(from).toBe(reads[index - 1]?.to);
      }
    }
    await expectPart(
      [{ from: 0, to: 10 }],
      Array.from({ length: 10 }, (_, id) => record(id)),
    );
    await expectPart([{ index: -1 }], record(count - 1));
    await expectPart([{ index: 54_321 }, { key: "name" }], "é 54321");
    await expectFailure(() => at.store.readPath("v", [{ each: true }]), "limit_exceeded");
    await expectFailure(() => at.store.readPath("v", [{ from: 0 }]), "limit_exceeded");
    const missing = await at.store.readPath("v", [{ each: true }, { key: "no" }]);
    expect(missing).toEqual({
      found: false,
      nearest: [{ each: true }],
      keys: ["id", "name", "filler"],
    });
  });

  it("loads nothing after the whole was read, until the next write", async () => {
    await at.store.save({
      name: "v",
      value: Array.from({ length: 30_000 }, (_, id) => `element ${id}`),
    });
    at.store.forget();
    const loaded = await loadedBy(() => at.store.read("v"));
    if (at.kind.hasSql) expect(loaded).toBeGreaterThan(400_000);
    expect(await loadedBy(() => at.store.readPath("v", [{ index: 5 }]))).toBe(0);
    expect(await loadedBy(() => at.store.read("v"))).toBe(0);
    await at.store.save({ name: "v", value: [1] });
    expect(await at.store.read("v")).toEqual([1]);
  });

  it("works beside a record of the maximum size", async () => {
    const lines = [{ id: 0 }, "x".repeat(16 * MIB - 2), { id: 2 }, { id: 3 }];
    const { stream } = streamed(lines.map((line) => encode(`${JSON.stringify(line)}\n`)));
    await at.store.save({ name: "v", value: await at.store.receive(stream, NDJSON) });
    for (const index of [0, 2, 3]) {
      expect(await at.store.readPath("v", [{ index }])).toEqual({
        found: true,
        value: { id: index },
      });
    }
    expect(await at.store.readPath("v", [{ from: 0, to: 1 }])).toEqual({
      found: true,
      value: [{ id: 0 }],
    });
    expect(await at.store.readPath("v", [{ each: true }, { key: "id" }])).toEqual({
      found: true,
      value: [0, 2, 3],
    });
    await expectFailure(() => at.store.readPath("v", [{ from: 0, to: 2 }]), "limit_exceeded");
  });
}

function* pieces(count: number, record: (id: number) => Json): Generator<Uint8Array> {
  for (let id = 0; id < count; id += 1_000) {
    const records = Array.from({ length: Math.min(1_000, count - id) }, (_, index) =>
      record(id + index),
    );
    yield encode(recordsText(records));
  }
}
