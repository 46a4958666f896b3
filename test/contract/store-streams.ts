import { expect, it } from "vitest";
import type { Content } from "../../src/store/bytes/content.ts";
import { cutAt, encode, streamed, textOfBytes, textPattern, textPieces } from "./store-content.ts";
import { bytesOf, expectFailure, isSame, MIB } from "./store-fixture.ts";
import { FULL } from "../store/watched-sql.ts";
import type { Testing } from "./store-testing.ts";

const TYPES = ["text/plain", "application/x-ndjson", "application/json", "image/png"];
const NDJSON = "application/x-ndjson";
const JSON_TYPE = "application/json";
const FAILURE = new Error("The line is dead.");

/** A stream gives the same value as if it had come at once, or leaves nothing. */
export function streams(at: Testing): void {
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

  it.each([
    ["text/plain", "bad_value"],
    [NDJSON, "bad_json"],
    [JSON_TYPE, "bad_json"],
  ])("refuse invalid UTF-8, early or late: %s", async (mediaType, code) => {
    const good = Array.from({ length: 900 }, () => encode('"é😀"\n'.repeat(1_000)));
    const wrong = [[Uint8Array.of(0xff, 0x0a)], [...good, Uint8Array.of(0xed, 0xa0, 0x80, 0x0a)]];
    for (const pieces of wrong) {
      await expectFailure(() => receive(pieces, mediaType), code);
      await expectNothing();
    }
  });

  it("name the record with invalid JSON", async () => {
    const lines = Array.from(
      { length: 120_000 },
      (_, id) => `{"id": ${id}, "text": "${"x".repeat(70)}"}\n`,
    );
    for (const index of [0, 5, 119_999]) {
      const body = lines.with(index, "\n{oops\n").join("");
      const { stream, wasCancelled } = streamed(
        cutAt(encode(body), [100_000, 4_000_000, body.length - 40]),
      );
      const details = { record: index + 1, line: index + 2 };
      await expectFailure(
        () => at.store.receive(stream, NDJSON),
        expect.objectContaining({ code: "bad_json", details }),
      );
      expect(wasCancelled()).toBe(true);
      await expectNothing();
    }
    await expectFailure(() => receive([encode('{"a": ')], "application/json"), "bad_json");
    await expectNothing();
  });

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
    const attempts: ((content: Content) => unknown)[] = [
      (value) => at.store.save({ name: "not a name", value }),
      (value) => at.store.save({ value, input: "x".repeat(2 * MIB) }),
      (value) => at.store.save({ name: "list", value, path: [{ key: "a" }] }),
      (value) =>
        at.store.saveAll([
          { name: "a", value },
          { name: "not a name", value: 1 },
        ]),
      (value) =>
        at.store.saveAll([
          { name: "a", value },
          { name: "b", value: 1, input: "x".repeat(2 * MIB) },
        ]),
    ];
    for (const attempt of attempts) {
      const content = await bring();
      await expectFailure(() => attempt(content) as Promise<unknown>, expect.any(Error));
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
