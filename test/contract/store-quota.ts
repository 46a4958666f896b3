import { describe, expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import { streamed } from "./store-content.ts";
import { bytesOf, expectFailure, facts, KIB, MIB, MINUTE_MS } from "./store-fixture.ts";
import { namesOf, START_MS } from "./variable-store-fixture.ts";
import { idleVariables } from "./store-idle.ts";
import { manyVariables } from "./store-many.ts";
import type { Testing } from "./store-testing.ts";

/** What is evicted for lack of room, after disuse, or at the end of a run. */
export function storeQuota(at: Testing): void {
  describe("a quota", () => quota(at));
  describe("an insufficient quota", () => refusals(at));
  describe("idle variables", () => idleVariables(at));
  describe("runs", () => runs(at));
  // No value is so large that it is in the bucket.
  if (!at.kind.hasBucket) describe("ten thousand variables", () => manyVariables(at));
}

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
  it("limits the bytes of all values, exactly", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "abcd", { bytes: 250 });
    expect([names(at), at.store.bytes()]).toEqual(["abcd", 1_000]);
    await saveEach(at, "e", { bytes: 1 });
    expect([names(at), at.store.bytes()]).toEqual(["bcde", 751]);
    await saveEach(at, "f", { bytes: 1_000 });
    expect([names(at), at.store.bytes()]).toEqual(["f", 1_000]);
  });

  it("evicts the least recently used first, whatever kind of use it was", async () => {
    at.fresh({ quotaBytes: 1_001 });
    await saveEach(at, "abcde", { bytes: 200, tool: "t", input: [1] });
    const uses: readonly ((name: string) => unknown)[] = [
      (name) => at.store.read(name),
      (name) => at.store.readPath(name, [{ from: 0, to: 1 }]),
      (name) => bytesOf(at.store, name),
      (name) => at.store.save({ name, value: "!", mode: "append" }),
    ];
    for (const [index, use] of uses.entries()) {
      at.ground.nowMs += MINUTE_MS;
      await use("abcd"[index] ?? "");
    }
    // Looking at a variable does not count as use.
    for (const look of [
      () => at.store.info("e"),
      () => at.store.list(),
      () => at.store.glance("e"),
    ])
      look();
    at.store.update("e", { description: "not used" });
    expect(names(at)).toBe("abced");
    await saveEach(at, "f", { bytes: 150 });
    expect(names(at)).toBe("abcdf");
    const left = { name: "e", version: 1, tool: "t", input: [1], reason: "quota" };
    expect(at.store.tombstone("e")).toEqual({
      ...left,
      evictedAt: new Date(at.ground.nowMs).toISOString(),
    });
    await saveEach(at, "g", { bytes: 350 });
    expect(names(at)).toBe("cdfg");
    expect(["a", "b", "c"].map((name) => at.store.tombstone(name)?.reason)).toEqual([
      "quota",
      "quota",
      undefined,
    ]);
  });

  it("evicts the variable written first if several were used at the same time", async () => {
    at.fresh({ quotaBytes: 400 });
    for (const name of "cabd") await at.store.save({ name, value: "x".repeat(100) });
    await at.store.save({ name: "e", value: "x".repeat(150) });
    expect(names(at)).toBe("bde");
  });

  it("counts a replaced or extended variable once", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "v", { bytes: 900 });
    await saveEach(at, "w", { bytes: 50 });
    await saveEach(at, "v", { bytes: 950 });
    await saveEach(at, "v", { bytes: 900 });
    await saveEach(at, "v", { bytes: 50, mode: "append" });
    expect([names(at), at.store.bytes()]).toEqual(["wv", 1_000]);
    // A variable is not evicted even to make room for its own new value.
    await saveEach(at, "v", { bytes: 960 });
    expect([names(at), at.store.bytes(), at.store.info("v")?.version]).toEqual(["v", 960, 5]);
  });

  it("spares pinned and held variables", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "ab", { bytes: 200, pinned: true });
    await saveEach(at, "cdef", { bytes: 150 });
    at.store.holds.hold("a plan", "c");
    at.store.holds.hold("a turn", "c");
    at.store.holds.hold("a turn", "d");
    await saveEach(at, "g", { bytes: 200 });
    expect(names(at)).toBe("abcdg");
    at.store.holds.release("a turn");
    await saveEach(at, "h", { bytes: 150 });
    expect(names(at)).toBe("abcgh");
    at.store.update("a", { pinned: false });
    at.store.holds.release("a plan");
    await saveEach(at, "i", { bytes: 150 });
    expect(names(at)).toBe("bcghi");
  });

  it("first removes expired variables, with their own reason", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "a", { bytes: 400 });
    await saveEach(at, "b", { bytes: 400, ttlMs: MINUTE_MS });
    const due = new Date(at.ground.nowMs + MINUTE_MS).toISOString();
    at.ground.nowMs += 5 * MINUTE_MS;
    await saveEach(at, "c", { bytes: 500 });
    expect(names(at)).toBe("ac");
    expect(at.store.tombstone("b")).toMatchObject({ reason: "expired", evictedAt: due });
  });

  it("never reuses numbers, and continues versions", async () => {
    at.fresh({ quotaBytes: 100 });
    const save = (bytes: number) => at.store.save({ value: "x".repeat(bytes) });
    expect((await save(60)).name).toBe("variable_1");
    expect((await save(60)).name).toBe("variable_2");
    expect((await save(100)).name).toBe("variable_3");
    const again = await at.store.save({ name: "variable_1", value: 1 });
    expect(again.version).toBe(2);
    expect(at.store.tombstone("variable_1")).toBeUndefined();
    expect((await save(90)).name).toBe("variable_4");
  });

  it("removes values from chunks and the bucket, but not while they are read", async () => {
    const size = at.sizes.at(-1) ?? 0;
    at.fresh({ quotaBytes: 2 * size });
    for (const name of "ab") await at.store.save({ name, value: "x".repeat(size) });
    const open = at.store.open("a");
    at.ground.nowMs += 1;
    await at.store.read("b");
    await at.store.save({ name: "c", value: "x".repeat(size) });
    expect(names(at)).toBe("bc");
    expect(await at.store.sweep()).toBe(false);
    expect(await open?.read(0, size)).toHaveLength(size);
    open?.close();
    await at.ground.expectClean(at.store);
  });

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

  it("refuses the save, and changes nothing", async () => {
    at.fresh({ quotaBytes: 1_000 });
    await saveEach(at, "a", { bytes: 300, pinned: true });
    await saveEach(at, "b", { bytes: 300, ttlMs: 5 * MINUTE_MS });
    await saveEach(at, "c", { bytes: 300, run: "r" });
    at.ground.nowMs = START_MS + 4 * MINUTE_MS;
    // This access is only in memory so far.
    await at.store.read("b");
    at.ground.nowMs += 30_000;
    await expectRefused(() => at.store.save({ name: "d", value: "x".repeat(701) }));
    await expectRefused(() => at.store.save({ name: "d", value: "x".repeat(1_001) }));
    await expectRefused(() => at.store.save({ name: "c", value: "x".repeat(701), mode: "append" }));
    await expectRefused(() => at.store.save({ name: "b", value: "x".repeat(701) }));
    await at.store.save({ name: "d", value: "x".repeat(700) });
    expect(names(at)).toBe("ad");
  });

  it("refuses values in chunks or in the bucket, and leaves nothing behind", async () => {
    const size = at.sizes.at(-1) ?? 0;
    at.fresh({ quotaBytes: size + 2_000 });
    await saveEach(at, "a", { bytes: 1_500, pinned: true });
    await at.store.save({ name: "v", value: "x".repeat(size) });
    await expectRefused(() => at.store.save({ name: "d", value: "x".repeat(size + 501) }));
    await expectRefused(() => at.store.save({ name: "v", value: "x".repeat(501), mode: "append" }));
    await expectRefused(() => at.store.save({ name: "d", value: "x".repeat(size + 3_000) }));
    await at.store.save({ name: "v", value: "x".repeat(500), mode: "append" });
    expect(at.store.bytes()).toBe(size + 2_000);
  });

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

  it("refuses while everything is held, and accepts after a release", async () => {
    at.fresh({ quotaBytes: 64 * KIB });
    await saveEach(at, "ab", { bytes: 30 * KIB });
    for (const name of "ab") at.store.holds.hold("a plan", name);
    await expectRefused(() => at.store.save({ name: "c", value: "x".repeat(5 * KIB) }));
    at.store.holds.release("a plan");
    await at.store.save({ name: "c", value: "x".repeat(5 * KIB) });
    expect(names(at)).toBe("bc");
  });
}

function runs(at: Testing): void {
  it("end with their variables, even after a crash", async () => {
    await at.store.save({ name: "kept", value: 1 });
    for (const [index, name] of [..."abc"].entries())
      await at.store.save({
        name,
        value: "x".repeat(at.sizes[index % 2] ?? 0),
        run: name === "b" ? "two" : "one",
        tool: "t",
      });
    expect(at.store.info("a")).toMatchObject({ scope: "run" });
    expect(at.store.info("kept")).toMatchObject({ scope: "conversation" });
    if (at.kind.hasSql) at.fresh();
    expect(at.store.runs().toSorted()).toEqual(["one", "two"]);
    at.ground.nowMs += 10;
    const ended = at.store.endRun("one");
    expect(namesOf(ended)).toEqual(["a", "c"]);
    expect(ended[0]).toEqual({
      name: "a",
      version: 1,
      tool: "t",
      reason: "run_ended",
      evictedAt: new Date(at.ground.nowMs).toISOString(),
    });
    expect(at.store.tombstone("c")).toEqual(ended[1]);
    expect(names(at)).toBe("keptb");
    expect(at.store.runs()).toEqual(["two"]);
    expect([at.store.endRun("one"), at.store.endRun("nobody")]).toEqual([[], []]);
    await at.ground.expectClean(at.store);
  });

  it("keep their variables during a reset", async () => {
    await at.store.save({ name: "run", value: 1, run: "one" });
    await at.store.save({ name: "other", value: 2 });
    expect([at.store.glance("run")?.run, at.store.glance("other")?.run]).toEqual([
      "one",
      undefined,
    ]);
    expect(at.store.ofRun("one")).toEqual(["run"]);
    expect(at.store.reset(0)).toEqual(["other"]);
    expect(names(at)).toBe("run");
  });

  it("keep variables that others extend, but not those that others replace", async () => {
    await at.store.save({ name: "list", value: [1], run: "one" });
    const info = await at.store.save({ name: "list", value: 2, mode: "append" });
    expect(info.scope).toBe("run");
    expect(namesOf(at.store.endRun("one"))).toEqual(["list"]);
    await at.store.save({ name: "list", value: [1], run: "one" });
    expect((await at.store.save({ name: "list", value: [3] })).scope).toBe("conversation");
    expect(at.store.runs()).toEqual([]);
  });
}
