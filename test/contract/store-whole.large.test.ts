import * as limits from "../../src/limits.ts";
import { describe, expect, it } from "vitest";
import { storeLarge } from "./store-large.ts";
import { onEveryKind, sampledKinds, type Testing } from "./store-testing.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { streamed, encode, recordsText } from "./store-content.ts";
import { expectFailure, facts, MIB, MINUTE_MS, isSame, KIB } from "./store-fixture.ts";
import { namesOf } from "./variable-store-fixture.ts";
import { type Json, parsedJson } from "../../src/value/json.ts";
import type { Path } from "../../src/value/path.ts";
import type { Change, VariableInfo } from "../../src/store/variable.ts";

/** Saves texts of this many bytes, one minute apart. */
async function saveEach(
  at: Testing,
  names: string,
  write: Partial<Write> & { bytes: number },
): Promise<void> {
  const { bytes, ...rest } = write;
  for (const name of names) {
    at.ground.nowMs += MINUTE_MS;
    await at.store.save({ name, value: "x".repeat(bytes), ...rest });
  }
}

function names(at: Testing): string {
  return namesOf(at.store.list()).join("");
}

function quota(at: Testing): void {
  it("is 256 MiB by default", async () => {
    const megabyte = new Uint8Array(MIB);
    for (const name of "abc") {
      at.ground.nowMs += 1;
      const pieces = Array.from({ length: 90 }, () => megabyte);
      const value = await at.store.receive(streamed(pieces).stream, "image/png");
      await at.store.save({ name, value });
    }
    expect(names(at)).toBe("bc");
  });
}

function refusals(at: Testing): void {
  const expectRefused = async (attempt: () => unknown) => {
    const everyName = [..."abcdvw"];
    const before = facts(at.store, everyName);
    at.ground.nowMs += 1;
    await expectFailure(
      () => attempt(),
      expect.objectContaining({
        code: "limit_exceeded",
        details: expect.objectContaining({ limit: "maxConversationBytes" }),
      }),
    );
    at.ground.nowMs -= 1;
    expect(facts(at.store, everyName)).toEqual(before);
    await at.ground.expectClean(at.store);
  };

  it("refuses a whole batch whose writes would evict one another", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "ab", { bytes: 200 });
    const write = (name: string, bytes: number) => ({ name, value: "x".repeat(bytes) });
    await expectRefused(() => at.store.saveAll([write("c", 600), write("d", 600)]));
    await expectRefused(() =>
      at.store.saveAll([write("c", 500), write("v", 300), write("d", 201)]),
    );
    await at.store.saveAll([write("c", 500), write("v", 300), write("d", 200)]);
    expect(names(at)).toBe("cvd");
    await at.store.saveAll([write("a", 300), write("c", 500), write("a", 400), write("b", 100)]);
    expect(names(at)).toBe("cab");
    // Nor do they evict what they extend.
    await at.store.saveAll([write("d", 100), { ...write("c", 1), mode: "append" }]);
    expect([names(at), at.store.bytes()]).toEqual(["bdc", 701]);
  });
}

function pages(at: Testing): void {
  const after = (next: number | undefined) => (next === undefined ? {} : { after: next });

  it("keep their position, whatever is added or deleted between them", async () => {
    await at.store.saveAll([..."jihgfedcba"].map((name) => ({ name, value: 1 })));
    const { variables, next } = at.store.page({ limit: 4 });
    at.store.delete("g");
    at.store.delete("e");
    await at.store.save({ name: "j", value: 2 });
    await at.store.save({ name: "new", value: 2 });
    const rest = at.store.page({ limit: 100, ...after(next) });
    expect(namesOf([...variables, ...rest.variables]).join("")).toBe("jihgfdcbajnew");
    expect(rest.next).toBeUndefined();
  });

  it("and lists leave out long inputs", async () => {
    const input = { query: "é".repeat((limits.maxListedInputBytes - 12) / 2) };
    const longer = { query: `${input.query}x` };
    await at.store.save({ name: "a", value: 1, input });
    await at.store.save({ name: "b", value: 2, input: longer });
    for (const listed of [at.store.list(), at.store.page({ limit: 5 }).variables]) {
      expect(listed.map((info) => info.input)).toEqual([input, undefined]);
    }
    expect(at.store.info("b")?.input).toEqual(longer);
  });
}

const NDJSON = "application/x-ndjson";
/** A span has about 256 KiB. A slice may need parts of two spans, and a chunk row is always read whole. */
const FEW_BYTES = 2 * MIB + 600 * KIB;

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
        expect(to - from).toBeLessThan(2 * MIB);
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

/** Earlier versions of variables that edits, `set_variable` or HTTP change. */
function versions(at: Testing): void {
  const change = (value: Write["value"], more: Partial<Write> = {}) =>
    at.store.save({ name: "v", value, keepsVersion: true, ...more });
  const kept = async () => {
    const all = [];
    for (let version = 1; version <= 9; version++) {
      const earlier = at.store.earlier("v", version);
      if (earlier !== undefined) all.push(`${version} ${String(await earlier.read())}`);
    }
    return all.join(", ");
  };

  it("are the two before the current one", async () => {
    for (const value of ["a", "b", "c", "d"]) await change(value);
    expect(await kept()).toBe("2 b, 3 c");
    at.store.forget();
    expect((await kept()).split(", ")).toHaveLength(2);
    expect(at.store.earlier("v", 4)).toBeUndefined();
    expect(at.store.earlier("w", 1)).toBeUndefined();
    expect(at.store.bytes()).toBe(3);
  });

  it("are restored one by one, and the undone version is kept", async () => {
    for (const value of ["a", "b", "c"]) await change(value);
    expect(at.store.undo("v")).toMatchObject({ name: "v", version: 4, count: 1 });
    expect(await at.store.read("v")).toBe("b");
    expect(await kept()).toBe("1 a, 3 c");
    at.store.forget();
    expect(at.store.undo("v")?.version).toBe(5);
    expect(await at.store.read("v")).toBe("a");
    expect(at.store.undo("v")).toBeUndefined();
    await change("e");
    expect(at.store.undo("v")?.version).toBe(7);
    expect(await at.store.read("v")).toBe("a");
  });

  it("of any size can be read whole and in part, and leave nothing behind", async () => {
    for (const size of [10, ...at.sizes]) {
      at.renew();
      const texts = ["a", "b", "c"].map((letter) => letter.repeat(size));
      for (const text of texts) {
        await change(await at.store.receive(streamed([encode(text)]).stream, "text/plain"));
      }
      expect(await at.store.earlier("v", 1)?.read()).toBe(texts[0]);
      const part = await at.store.earlier("v", 2)?.readPath([{ from: 1, to: 3 }]);
      expect(part).toMatchObject({ found: true, value: "bb" });
      const open = at.store.earlier("v", 1)?.open();
      expect((await open?.read(0, 2))?.length).toBe(2);
      open?.close();
      at.store.undo("v");
      expect(await at.store.read("v")).toBe(texts[1]);
      expect(await at.store.earlier("v", 3)?.read()).toBe(texts[2]);
      at.store.delete("v");
      expect(at.store.bytes()).toBe(0);
      await at.store.sweep();
      await at.ground.expectClean(at.store);
    }
  });

  it("are dropped when another write replaces the variable, or it becomes secret", async () => {
    await change("a");
    await change("b");
    await at.store.save({ name: "v", value: "c" });
    expect(await kept()).toBe("");
    expect(at.store.undo("v")).toBeUndefined();
    await change("d");
    await change("e", { visibility: "secret" });
    await change("f");
    expect(await kept()).toBe("");
  });

  it("are restored with the stricter visibility and the current pin", async () => {
    const input = parsedJson('{"id":1234567890123456789}');
    await change("a", { description: "first", input });
    await change("b", { visibility: "sealed", pinned: true });
    at.store.forget();
    const restored = at.store.undo("v");
    const kept = { visibility: "sealed", pinned: true, description: "first" };
    expect(restored).toMatchObject(kept);
    expect(JSON.stringify(restored?.input)).toBe(JSON.stringify(input));
    expect(at.store.glance("v")?.visibility).toBe("sealed");
  });

  it("are evicted first when the quota needs room", async () => {
    const store = at.fresh({ quotaBytes: 4 * KIB });
    for (const letter of ["a", "b", "c"]) await change(letter.repeat(KIB));
    await store.save({ name: "w", value: "w".repeat(KIB) });
    expect((await kept()).split(", ")).toHaveLength(2);
    await store.save({ name: "x", value: "x".repeat(KIB) });
    expect([
      ...store.list().map(({ name }) => name),
      (await kept()).split(", ").filter(Boolean).length,
    ]).toEqual(["v", "w", "x", 1]);
    await change("d".repeat(2 * KIB));
    expect([
      store.list().length,
      (await kept()).split(", ").filter(Boolean).length,
      store.bytes(),
    ]).toEqual([3, 0, 4 * KIB]);
    expect(store.undo("v")).toBeUndefined();
  });

  it("are not kept for an expired variable, or with keepVersions: 0", async () => {
    await change("a", { ttlMs: 1_000 });
    at.ground.nowMs += 2_000;
    await change("b");
    expect(await kept()).toBe("");
    at.renew();
    at.fresh({ keepVersions: 0 });
    for (const value of ["a", "b", "x".repeat(2 * MIB)]) await change(value);
    await change("y");
    expect(await kept()).toBe("");
    await at.store.sweep();
    await at.ground.expectClean(at.store);
  });

  it("stay as they were if a write is rolled back", async () => {
    for (const value of ["a", "b", "c"]) await change(value);
    const stop = at.store.observe(() => {
      throw new Error("No.");
    });
    await expect(change("d")).rejects.toThrow("No.");
    expect(() => at.store.undo("v")).toThrow("No.");
    stop();
    expect(await kept()).toBe("1 a, 2 b");
    expect(await at.store.read("v")).toBe("c");
    expect(at.store.undo("v")?.version).toBe(4);
  });
}

const SECRET = "s3cret-é-value";

function secrets(at: Testing): void {
  const values: Readonly<Record<string, Json>> = {
    string: SECRET,
    array: [{ [SECRET]: SECRET }],
    object: { [SECRET]: [SECRET] },
    number: 31_337,
    null: null,
    boolean: true,
  };
  const expectHidden = (info: VariableInfo | undefined, type: string) => {
    expect(info).toMatchObject({ type, shape: type, preview: "", visibility: "secret" });
    expect(JSON.stringify(info)).not.toContain(SECRET);
  };

  it.each(Object.entries(values))(
    "reveal their type, not their content: %s",
    async (type, value) => {
      const told: VariableInfo[] = [];
      at.store.observe(({ info }) => told.push(info));
      const saved = await at.store.save({ name: "v", value, visibility: "secret" });
      at.store.update("v", { description: "a key" });
      at.store.forget();
      const [listed] = at.store.list();
      const [paged] = at.store.page({ limit: 1 }).variables;
      for (const info of [
        saved,
        at.store.info("v"),
        listed,
        paged,
        at.store.open("v")?.info,
        ...told,
      ])
        expectHidden(info, type);
      at.store.delete("v");
      expectHidden(told.at(-1), type);
      // Code that may read it receives the whole value.
      await at.store.save({ name: "v", value, visibility: "secret" });
      expect(await at.store.read("v")).toEqual(value);
    },
  );

  it("reveal nothing if they are streamed or large", async () => {
    const lines = `${JSON.stringify({ [SECRET]: SECRET })}\n`.repeat(9_000);
    const sent = {
      "text/plain": lines,
      "application/x-ndjson": lines,
      "application/json": JSON.stringify([SECRET]),
      "image/png": lines,
    };
    for (const [mediaType, body] of Object.entries(sent)) {
      const value = await at.store.receive(streamed([encode(body)]).stream, mediaType);
      const info = await at.store.save({ name: "v", value, visibility: "secret" });
      expect(info.mediaType).toBe(mediaType);
      expectHidden(info, info.type);
      at.store.forget();
      expectHidden(at.store.info("v"), info.type);
    }
  });

  it("stay secret after any write, until a replacement changes the visibility", async () => {
    await at.store.save({ name: "v", value: { a: SECRET }, visibility: "secret" });
    const writes: readonly Omit<Write, "name">[] = [
      { value: { b: SECRET }, mode: "merge" },
      { value: SECRET, path: [{ key: "c" }] },
      { value: { d: SECRET }, mode: "merge", visibility: "model" },
      { value: { e: SECRET } },
      { value: [SECRET] },
      { value: SECRET, mode: "append", visibility: "sealed" },
    ];
    for (const write of writes) {
      const info = await at.store.save({ name: "v", ...write });
      expectHidden(info, info.type);
      expectHidden(at.store.info("v"), info.type);
    }
    const shown = await at.store.save({ name: "v", value: [SECRET], visibility: "model" });
    expect(shown).toMatchObject({
      visibility: "model",
      shape: "string[]",
      preview: `["${SECRET}"]`,
    });
    expect(at.store.info("v")).toEqual(shown);
  });
}

function guards(at: Testing): void {
  it("include flags, which an extension keeps and a replacement drops", async () => {
    const flags = ["composed", "derived"] as const;
    await at.store.save({ name: "v", value: ["a"], visibility: "sealed", flags });
    at.store.forget();
    expect([at.store.info("v"), at.store.glance("v"), at.store.list()[0]]).toMatchObject(
      Array.from({ length: 3 }, () => ({ visibility: "sealed", flags })),
    );
    await at.store.save({ name: "v", value: "b", mode: "append" });
    expect(at.store.info("v")).toMatchObject({ visibility: "sealed", flags });
    await at.store.save({ name: "v", value: "c" });
    at.store.forget();
    expect(at.store.info("v")?.flags).toBeUndefined();
    // A call that appends to a sealed value derives a new one. The owner who appends does not.
    await at.store.save({ name: "v", value: "d", mode: "append" });
    expect(at.store.info("v")?.flags).toBeUndefined();
    await at.store.save({ name: "v", value: "e", mode: "append", toolCallId: "c" });
    expect(at.store.glance("v")?.flags).toEqual(["derived"]);
  });

  it("do not change with the caller's list of sources", async () => {
    const sources = ["tool:a"];
    const info = await at.store.save({ name: "v", value: 1, sources });
    sources.push("tool:b");
    expect([info.sources, at.store.info("v")?.sources]).toEqual([["tool:a"], ["tool:a"]]);
  });
}

/** Which changes observers are notified of, and when. */
function observers(at: Testing): void {
  const watched = () => {
    const changes: Change[] = [];
    const stop = at.store.observe((change) => changes.push(change));
    const told = () => changes.splice(0).map(({ kind, info }) => `${kind} ${info.name}`);
    return { changes, stop, told };
  };

  it("are notified of every change, in order", async () => {
    at.fresh({ quotaBytes: 1_000 });
    const { told, stop } = watched();
    await at.store.save({ name: "a", value: "x".repeat(400) });
    await at.store.save({ name: "b", value: "x".repeat(400), ttlMs: 50 });
    await at.store.save({ name: "a", value: "x", mode: "append" });
    at.store.update("a", { pinned: true });
    expect(told()).toEqual(["saved a", "saved b", "saved a", "updated a"]);
    await at.store.saveAll([
      { name: "c", value: "x".repeat(300) },
      { name: "d", value: 1 },
      { name: "c", value: 2 },
    ]);
    expect(told()).toEqual(["evicted b", "saved c", "saved d", "saved c"]);
    at.store.delete("d");
    expect(told()).toEqual(["deleted d"]);
    for (const name of ["f", "e", "g"]) await at.store.save({ name, value: 1, ttlMs: 5 });
    at.ground.nowMs += 5;
    at.store.evictDue(at.ground.nowMs, 2);
    expect(told()).toEqual(["saved f", "saved e", "saved g", "evicted f", "evicted e"]);
    await at.store.save({ name: "h", value: 1, run: "two" });
    at.store.endRun("two");
    await at.store.save({ name: "i", value: 1 });
    at.store.reset(0);
    expect(told()).toEqual(["saved h", "evicted h", "saved i", "deleted c", "deleted i"]);
    stop();
    await at.store.save({ name: "a", value: 1 });
    expect(told()).toEqual([]);
  });
}

/** Values that are made of versions of others, and whether those are current. */
function staleness(at: Testing): void {
  const save = (name: string, ...sources: readonly string[]) => write(name, sources);
  const write = (name: string, sources: readonly string[], more: Partial<Write> = {}) => {
    const madeOf = Object.fromEntries(
      sources.map((source) => [source, at.store.glance(source)?.version ?? 0]),
    );
    return at.store.save({ name, value: `${name} of ${sources}`, madeOf, tool: "make", ...more });
  };
  /** What is newer than each stale value, as `orders 1 of 2`. */
  const stale = () =>
    Object.fromEntries(
      at.store.list().flatMap(({ name, stale: reason }) => {
        const newer = reason?.madeOf.map((one) => `${one.name} ${one.version} of ${one.now}`);
        expect(at.store.info(name)?.stale).toEqual(reason);
        return newer === undefined ? [] : [[name, newer.join(", ")]];
      }),
    );

  it("are stale with a new version of a source, and of what that is made of, until they are made again", async () => {
    await save("orders");
    await save("totals", "orders");
    await save("report", "totals", "orders");
    await save("other", "report");
    expect(stale()).toEqual({});
    await save("orders");
    const all = { totals: "orders 1 of 2", report: "orders 1 of 2", other: "orders 1 of 2" };
    expect(stale()).toEqual(all);
    at.store.forget();
    expect(stale()).toEqual(all);
    await save("totals", "orders");
    expect(stale()).toEqual({
      report: "totals 1 of 2, orders 1 of 2",
      other: "totals 1 of 2, orders 1 of 2",
    });
    await save("report", "totals", "orders");
    expect(stale()).toEqual({ other: "report 1 of 2" });
    await save("other", "report");
    expect(stale()).toEqual({});
  });

  it("stay as they are when a source is deleted or evicted, and are stale when it is there again", async () => {
    await save("orders");
    await save("totals", "orders");
    at.store.delete("orders");
    expect(stale()).toEqual({});
    await save("orders");
    expect(stale()).toEqual({ totals: "orders 1 of 1" });
  });

  it("are made of what they were made of before, if a write adds to them or an undo restores them", async () => {
    await save("orders");
    await save("text", "orders");
    await at.store.save({ name: "text", value: " and more", mode: "append" });
    await save("orders");
    expect(stale()).toEqual({ text: "orders 1 of 2" });
    await write("text", ["text", "orders"], { keepsVersion: true });
    expect(at.store.info("text")?.madeOf).toEqual({ text: 2, orders: 1 });
    await at.store.save({ name: "text", value: "given", keepsVersion: true });
    expect(stale()).toEqual({});
    at.store.undo("text");
    expect(stale()).toEqual({ text: "orders 1 of 2" });
  });

  it("that are made of each other are stale only if another write came between", async () => {
    await save("a");
    await save("b", "a");
    await save("a", "b");
    expect(stale()).toEqual({ b: "a 1 of 2" });
  });

  it("are named in the change that makes them stale, and are what they were if it is rolled back", async () => {
    const changes: (readonly string[] | undefined)[] = [];
    await save("orders");
    await save("totals", "orders");
    const note = (change: Change) => {
      changes.push("stale" in change ? change.stale : undefined);
      if (change.info.name === "refused") throw new Error("full");
    };
    at.store.observe(note);
    await expect(
      at.store.saveAll([
        { name: "orders", value: 1 },
        { name: "refused", value: 1 },
      ]),
    ).rejects.toThrow("full");
    expect(stale()).toEqual({});
    await save("orders");
    await save("totals", "orders");
    expect(changes).toEqual([["totals"], undefined, ["totals"], undefined]);
  });
}

onEveryKind((at) => {
  storeLarge(at);
  describe("secrets", () => secrets(at));
  describe("the guards of a variable", () => guards(at));
  describe("observers", () => observers(at));
  describe("loading a part", () => loading(at));
  describe("a quota", () => quota(at));
  describe("an insufficient quota", () => refusals(at));
  describe("pages", () => pages(at));
  describe("earlier versions", () => versions(at));
  describe("values that are made of others", () => staleness(at));
}, sampledKinds);
