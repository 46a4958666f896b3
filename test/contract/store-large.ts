import { describe, expect, it } from "vitest";
import type { Json } from "../../src/value/json.ts";
import {
  arrayOfBytes,
  encode,
  plainTextOfBytes,
  streamed,
  textOfBytes,
  cutAt,
  textPattern,
  textPieces,
} from "./store-content.ts";
import { bytesOf, expectFailure, isSame, KIB, MIB, seen } from "./store-fixture.ts";
import { START_MS, withCode, namesOf } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { Content } from "../../src/store/bytes/content.ts";
import { FULL } from "../store/watched-sql.ts";

/** Values of any size, wherever they are stored. */
export function storeLarge(at: Testing): void {
  describe("where values are stored", () => locations(at));
  describe("streams", () => streams(at));
  describe("values read as bytes", () => openValues(at));
  describe("writes at the same time", () => races(at));
  describe("writes in two steps", () => halves(at));
  describe("several writes", () => batches(at));
}

function locations(at: Testing): void {
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
}

async function expectTooLarge(work: () => unknown): Promise<void> {
  await expectFailure(work, withCode("limit_exceeded"));
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
  it.each(at.sizes)("a prepared write of %i bytes is invisible until its commit", async (size) => {
    const value = plainTextOfBytes(size);
    await at.store.save({ name: "v", value: "old" });
    const before = await seen(at.store);
    const prepared = await at.store.prepare({ name: "v", value });
    expect(await seen(at.store)).toEqual(before);
    const keys = await at.ground.keys();
    await at.store.sweep();
    expect(await at.ground.keys()).toEqual(keys);
    const info = prepared.commit();
    expect([at.store.info("v"), info.version]).toEqual([info, 2]);
    // Has no effect, since the value is committed.
    prepared.discard();
    await at.ground.expectClean(at.store);
    at.store.forget();
    expect((await at.store.read("v")) === value).toBe(true);
  });

  it.each(at.sizes)(
    "a prepared extension of %i bytes conflicts with another write",
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
      [{ name: "old", value: 1, path: [{ from: 0, to: 1 }] }, "bad_path"],
      [{ name: "b", value: 1, input: "x".repeat(2 * MIB) }, "limit_exceeded"],
    ];
    for (const [write, code] of bad) {
      for (const writes of [
        [good, write],
        [write, good],
      ]) {
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

const TYPES = ["text/plain", "application/x-ndjson", "application/json", "image/png"];
const JSON_TYPE = "application/json";
const FAILURE = new Error("The line is dead.");

/** A stream gives the same value as if it had come at once, or leaves nothing. */
function streams(at: Testing): void {
  const receive = (pieces: Parameters<typeof streamed>[0], mediaType: string) =>
    at.store.receive(streamed(pieces).stream, mediaType);
  const expectNothing = async () => {
    expect([at.store.count(), at.store.bytes(), at.store.list()]).toEqual([0, 0, []]);
    await at.ground.expectClean(at.store);
  };

  it("give the same large values as direct saves, arrays as they arrive", async () => {
    const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `é "${id}", [` }));
    const long = "x".repeat(2 * MIB);
    for (const [value, spaces] of [
      [rows, 0],
      [rows, 2],
      [[1, "two"], 600_000],
      [["x", long, 1], 0],
      [{ rows }, 0],
      [long, 0],
    ] as const) {
      const indented = JSON.stringify(value, undefined, Math.min(spaces, 10));
      const body = indented.replaceAll("\n", `\n${" ".repeat(Math.max(spaces - 10, 0))}`);
      expect(body.length).toBeGreaterThan(MIB);
      const content = await receive(cutAt(encode(body), [1, 500_000, 1_100_001]), JSON_TYPE);
      const saved = await at.store.save({ name: "a", value });
      const received = await at.store.save({ name: "b", value: content });
      // A text is stored without its quotes, all else as it arrived.
      const bytes = typeof value === "string" ? saved.bytes : encode(body).length;
      const location = expect.any(String);
      expect({ ...received, name: "a" }).toEqual({ ...saved, bytes, location });
      at.store.forget();
      expect(isSame(await at.store.read("b"), value)).toBe(true);
    }
    const text = JSON.stringify(rows);
    for (const broken of [text.slice(0, -1), `${text}]`, text.replace("39999", "39999 1")]) {
      await expectFailure(() => receive([encode(broken)], JSON_TYPE), "bad_json");
    }
    const added = await receive([encode(text)], JSON_TYPE);
    await at.store.save({ name: "c", value: [0] });
    const appended = await at.store.save({ name: "c", value: added, mode: "append" });
    expect(appended.count).toBe(1 + rows.length);
    await at.ground.expectClean(at.store);
  });

  it("can have 95 MiB", async () => {
    const bytes = 95 * MIB;
    const content = await receive(textPieces(bytes), "text/plain");
    const info = await at.store.save({ name: "v", value: content });
    const whole = Math.floor(bytes / textPattern.bytes);
    const rest = bytes % textPattern.bytes;
    const location = at.kind.hasBucket ? "r2" : "chunks";
    expect(info).toMatchObject({
      type: "string",
      bytes,
      count: whole * textPattern.chars + rest,
      location,
    });
    expect(at.store.bytes()).toBe(bytes);
    const middle = textPattern.chars * (whole >> 1);
    for (const from of [0, middle, (whole - 1) * textPattern.chars]) {
      const reading = await at.store.readPath("v", [{ from, to: from + textPattern.chars }]);
      expect(reading).toEqual({ found: true, value: textPattern.text });
    }
    at.store.delete("v");
    await expectNothing();
  });

  it.each([
    ["text/plain", "maxValueBytes", 95 * MIB],
    ["image/png", "maxValueBytes", 95 * MIB],
    [JSON_TYPE, "maxJsonBytes", 16 * MIB],
  ])("cannot have a byte too much: %s", async (mediaType, limit, maximum) => {
    const pieces = [encode('"'), ...textPieces(maximum - 1), encode("x"), encode("y")];
    const { stream, wasCancelled } = streamed(pieces);
    const details = expect.objectContaining({ limit, maximum });
    const failure = expect.objectContaining({ code: "limit_exceeded", details });
    await expectFailure(() => at.store.receive(stream, mediaType), failure);
    expect(wasCancelled()).toBe(true);
    await expectNothing();
  });

  it.each(TYPES.flatMap((type) => [0, 9 * MIB].map((bytes) => [type, bytes] as const)))(
    "leave nothing behind when they fail: %s after %i bytes",
    async (mediaType, bytes) => {
      const piece = encode(`"${"x".repeat(998)}"\n`.repeat(500));
      const sent = Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece);
      await expectFailure(() => receive([...sent, FAILURE], mediaType), FAILURE);
      await expectNothing();
    },
  );

  it("are not swept while they arrive, but swept after a restart if they are never saved", async () => {
    const store = at.store;
    const piece = encode("é".repeat(1_000_000));
    const sweep = async () => {
      expect(await store.sweep()).toBe(false);
      expect(store.list()).toEqual([]);
    };
    const pieces = [piece, piece, piece, piece, piece, sweep, piece, sweep];
    const content = await receive(pieces, "text/plain");
    expect(await store.sweep()).toBe(false);
    await store.save({ name: "v", value: content });
    expect(await store.readPath("v", [{ from: -1 }])).toEqual({ found: true, value: "é" });
    await at.ground.expectClean(store);
    if (!at.kind.hasSql) return;
    // The object that received this is gone before it saved it.
    await receive(
      pieces.filter((part) => typeof part !== "function"),
      "text/plain",
    );
    const woken = at.fresh();
    expect(woken.hasGarbage()).toBe(true);
    await at.ground.expectClean(woken);
    expect(await woken.readPath("v", [{ from: -1 }])).toEqual({ found: true, value: "é" });
  });

  it("leave nothing behind if their content cannot be saved", async () => {
    const bring = () => receive(textPieces(9 * MIB), "image/png");
    const small = at.ground.open({ quotaBytes: MIB });
    const writes: ((value: Content) => readonly Write[])[] = [
      (value) => [{ name: "not a name", value }],
      (value) => [{ name: "list", value, path: [{ key: "a" }] }],
      (value) => [{ value, input: "x".repeat(2 * MIB) }],
      (value) => [
        { name: "a", value },
        { name: "not a name", value: 1 },
      ],
    ];
    for (const writesOf of writes) {
      const all = writesOf(await bring());
      await expectFailure(() => at.store.saveAll(all), expect.any(Error));
      await expectNothing();
    }
    at.store = small;
    const content = await bring();
    await expectFailure(() => at.store.save({ name: "v", value: content }), "limit_exceeded");
    await expectNothing();
  });

  it("provide content for one save only", async () => {
    const content = await receive(textPieces(9 * MIB), "image/png");
    await at.store.save({ name: "a", value: content });
    await expectFailure(() => at.store.save({ name: "b", value: content }), expect.any(Error));
    expect(at.store.count()).toBe(1);
    await at.ground.expectClean(at.store);
    expect(await bytesOf(at.store, "a")).toHaveLength(9 * MIB);
  });

  it("and saves leave nothing behind when the bucket fails", async () => {
    if (!at.kind.hasBucket) return;
    const save = () => at.store.save({ name: "v", value: textOfBytes(9 * MIB) });
    for (const work of [save, () => receive(textPieces(9 * MIB), "text/plain")]) {
      for (const callsLeft of [0, 1, 2]) {
        at.ground.blobs.callsLeft = work === save ? 0 : callsLeft;
        await expectFailure(work, FULL);
        await expectNothing();
      }
    }
  });
}
