import { describe, expect, it } from "vitest";
import type { Write } from "../../src/store/variable-store.ts";
import { streamed } from "./store-content.ts";
import { expectFailure, facts, MIB, MINUTE_MS } from "./store-fixture.ts";
import { namesOf } from "./variable-store-fixture.ts";
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
