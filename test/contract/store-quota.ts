import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Write } from "../../src/store/variable-store.ts";
import { streamed } from "./store-content.ts";
import { expectFailure, facts, MIB, MINUTE_MS } from "./store-fixture.ts";
import { namesOf, START_MS } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

/** What is evicted for lack of room, after disuse, or at the end of a run. */
export function storeQuota(at: Testing): void {
  describe("a quota", () => quota(at));
  describe("an insufficient quota", () => refusals(at));
  describe("idle variables", () => idleVariables(at));
  describe("runs", () => runs(at));
  describe("pages", () => pages(at));
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
}

function runs(at: Testing): void {
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
}

function idleVariables(at: Testing): void {
  it("keep their access times after a rollback or a forget", async () => {
    const HOUR_MS = 60 * MINUTE_MS;
    at.fresh({ idleMs: 24 * HOUR_MS, quotaBytes: 100 });
    await at.store.save({ name: "a", value: "x".repeat(60), pinned: true });
    await at.store.save({ name: "b", value: "x".repeat(10) });
    at.ground.nowMs = START_MS + 20 * HOUR_MS;
    await at.store.read("b");
    const before = facts(at.store);
    const write = { name: "c", value: "x".repeat(50) };
    await expectFailure(() => at.store.save(write), expect.any(Error));
    expect(facts(at.store)).toEqual(before);
    at.store.forget();
    expect(facts(at.store)).toEqual(before);
    at.store.flushAccess();
    at.ground.nowMs = START_MS + 30 * HOUR_MS;
    if (at.kind.hasSql) at.fresh({ idleMs: 24 * HOUR_MS });
    expect([at.store.evictDue(at.ground.nowMs, 9), names(at)]).toEqual([[], "ab"]);
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

  it("end with the newest, even if the newest were deleted and the store woke up", async () => {
    await at.store.saveAll([..."abc"].map((name) => ({ name, value: 1 })));
    const { next } = at.store.page({ limit: 2 });
    at.store.delete("b");
    at.store.delete("c");
    at.ground.nowMs += 1;
    at.fresh();
    await at.store.save({ name: "new", value: 1 });
    expect(namesOf(at.store.page({ limit: 2, ...after(next) }).variables)).toEqual(["new"]);
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
