import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import {
  arrayOfBytes,
  encode,
  objectOfBytes,
  plainTextOfBytes,
  streamed,
  textOfBytes,
} from "./store-content.ts";
import { bytesOf, expectFailure, isSame, KIB, MIB } from "./store-fixture.ts";
import { START_MS, withCode } from "./variable-store-fixture.ts";
import { largeWrites } from "./store-large-writes.ts";
import { streams } from "./store-streams.ts";
import type { Testing } from "./store-testing.ts";

/** Values of any size, wherever they are stored. */
export function storeLarge(at: Testing): void {
  describe("where values are stored", () => locations(at));
  describe("streams", () => streams(at));
  describe("values read as bytes", () => openValues(at));
  describe("large writes", () => largeWrites(at));
}

const sizes = [64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB, MIB + 1, 8 * MIB, 8 * MIB + 1];

const makers: Readonly<Record<string, (bytes: number) => Json>> = {
  array: arrayOfBytes,
  object: objectOfBytes,
  string: textOfBytes,
};

function locations(at: Testing): void {
  it.each(Object.keys(makers))("stores an %s of any size in its location", async (type) => {
    for (const bytes of type === "array" ? [...sizes, 16 * MIB] : sizes) {
      const value = makers[type]?.(bytes) ?? null;
      const info = await at.store.save({ name: "v", value });
      const kept = { type, bytes, location: placeOf(at, bytes), count: countOf(value) };
      expect(info).toMatchObject(kept);
      if (bytes < MIB) expect(info.chars).toBe(charsOf(value));
      at.store.forget();
      expect(at.store.info("v")).toEqual(info);
      expect(isSame(await at.store.read("v"), value)).toBe(true);
      expect(at.store.bytes()).toBe(bytes);
    }
    await at.ground.expectClean(at.store);
  });

  it("keeps a text over 16 MiB, but reads it only in parts", async () => {
    const value = textOfBytes(16 * MIB + 1);
    const info = await at.store.save({ name: "v", value });
    expect(info).toMatchObject({
      bytes: 16 * MIB + 1,
      location: at.kind.hasBucket ? "r2" : "chunks",
    });
    await expectTooLarge(() => at.store.read("v"));
    await expectTooLarge(() => at.store.readPath("v", []));
    await expectTooLarge(() => at.store.readPath("v", [{ from: 0 }]));
    const reading = await at.store.readPath("v", [{ from: 0, to: 5 }]);
    expect(reading).toEqual({
      found: true,
      value: Array.from(value.slice(0, 20)).slice(0, 5).join(""),
    });
    const end = await at.store.readPath("v", [{ from: -5 }]);
    expect(end).toEqual({ found: true, value: Array.from(value.slice(-20)).slice(-5).join("") });
  });

  it("keeps a text that is not valid UTF-8, at any size", async () => {
    for (const length of [10, 100 * KIB, 2 * MIB]) {
      const value = `\ud800${"x".repeat(length)}\udfff`;
      const info = await at.store.save({ name: "v", value });
      expect(info).toMatchObject({ type: "string", count: length + 2 });
      at.store.forget();
      expect((await at.store.read("v")) === value).toBe(true);
      expect(await at.store.readPath("v", [{ from: -2 }])).toEqual({
        found: true,
        value: "x\udfff",
      });
    }
  });

  it.each([0, 1, 64 * KIB, 64 * KIB + 1, MIB + 1, 8 * MIB, 8 * MIB + 1])(
    "keeps %i bytes with their media type",
    async (size) => {
      const bytes = pseudoRandom(size);
      const content = await at.store.receive(streamed([bytes]).stream, "image/png");
      const info = await at.store.save({ name: "v", value: content, tool: "camera" });
      const location = size <= 64 * KIB ? "row" : at.kind.hasBucket ? "r2" : "chunks";
      const said = { type: "bytes", shape: "bytes", mediaType: "image/png", location };
      expect(info).toMatchObject({ ...said, bytes: size, count: size, chars: size });
      expect(info.preview).toBe(`image/png, ${size} bytes`);
      at.store.forget();
      expect(at.store.info("v")).toEqual(info);
      await expectFailure(() => at.store.read("v"), "bad_value");
      await expectFailure(() => at.store.readPath("v", [{ index: 0 }]), "bad_value");
      const read = await bytesOf(at.store, "v");
      expect(Buffer.compare(read, bytes)).toBe(0);
      // A reader that changes its bytes does not change the value.
      read.fill(7);
      expect(Buffer.compare(await bytesOf(at.store, "v"), bytes)).toBe(0);
      await at.ground.expectClean(at.store);
    },
  );
}

function placeOf(at: Testing, bytes: number): string {
  if (bytes <= 64 * KIB) return "row";
  return bytes > 8 * MIB && at.kind.hasBucket ? "r2" : "chunks";
}

function charsOf(value: Json): number {
  return typeof value === "string" ? value.length : JSON.stringify(value).length;
}

function countOf(value: Json): number {
  if (typeof value === "string") return Array.from(value).length;
  return value === null || typeof value !== "object" ? 1 : Object.keys(value).length;
}

async function expectTooLarge(work: () => unknown): Promise<void> {
  await expectFailure(work, withCode("limit_exceeded"));
}

function pseudoRandom(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = size + 1;
  for (let index = 0; index < size; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

/** An open value stays as it is until it is closed. */
function openValues(at: Testing): void {
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
}
