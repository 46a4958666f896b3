import { expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { Change } from "../../src/store/variable.ts";
import { arrayOfBytes } from "./store-content.ts";
import { expectFailure, facts, isSame, KIB, MINUTE_MS, seen } from "./store-fixture.ts";
import { namesOf, START_MS } from "./variable-store-fixture.ts";
import type { Testing } from "./store-testing.ts";

const NAMES = ["due", "kept", "list", "large", "new", "gone", "variable_1", "variable_2"];
const REFUSAL = new Error("The observer does not want that.");

/** What was rolled back leaves no trace: not in the rows, not in memory, not in the bucket. */
export function rollbacks(at: Testing): void {
  let largeBytes = 0;
  const large = () => arrayOfBytes(largeBytes);

  /** Fills the store with something of every kind. */
  const fill = async () => {
    at.fresh({ quotaBytes: 1.8 * largeBytes });
    await at.store.save({ name: "gone", value: 1, ttlMs: 1 });
    at.ground.nowMs += 1;
    at.store.evictDue(at.ground.nowMs, 1);
    await at.store.save({ name: "due", value: "due", ttlMs: 5 * MINUTE_MS, run: "r" });
    await at.store.save({ name: "list", value: [1], description: "a list" });
    await at.store.save({ name: "large", value: large() });
    await at.store.save({ name: "kept", value: "kept", pinned: true });
    await at.store.save({ value: "numbered" });
    await at.store.sweep();
  };

  const writes: Readonly<Record<string, () => readonly Write[]>> = {
    "save a new one": () => [{ name: "new", value: 1 }],
    "save under an automatic name": () => [{ value: 1 }],
    "save one that was evicted": () => [{ name: "gone", value: 1 }],
    replace: () => [{ name: "list", value: { other: 1 }, visibility: "secret" }],
    append: () => [{ name: "list", value: 2, mode: "append" }],
    "save a large one": () => [{ name: "new", value: "x".repeat(largeBytes) }],
    "replace a large one": () => [{ name: "large", value: 1 }],
    "extend a large one": () => [{ name: "large", value: 1, mode: "append" }],
    "save one for which others go": () => [{ name: "new", value: "x".repeat(1.7 * largeBytes) }],
    "save several": () => [
      { name: "gone", value: large() },
      { name: "list", value: 2, mode: "append" },
      { value: 1 },
    ],
  };
  const operations: Readonly<Record<string, (store: VariableStore) => unknown>> = {
    update: (store) => store.update("list", { pinned: true, description: "no", ttlMs: 5 }),
    delete: (store) => store.delete("large"),
    "delete a numbered one": (store) => store.delete("variable_1"),
    reset: (store) => store.reset(0),
    "end a run": (store) => store.endRun("r"),
    evict: (store) => {
      at.ground.nowMs += 10 * MINUTE_MS;
      try {
        return store.evictDue(at.ground.nowMs, 10);
      } finally {
        at.ground.nowMs -= 10 * MINUTE_MS;
      }
    },
  };
  const everything = [...Object.keys(writes), ...Object.keys(operations)];
  const operationFor = (title: string) => {
    largeBytes = /large|several|others/.test(title) ? (at.sizes[1] ?? 0) : 100 * KIB;
    const write = writes[title];
    if (write !== undefined) return (store: VariableStore) => store.saveAll(write());
    return operations[title] ?? (() => undefined);
  };
  /** Prepares the operation, so that it can be part of a transaction. */
  const preparedFor = async (title: string): Promise<() => unknown> => {
    const write = writes[title];
    if (write === undefined) return () => operations[title]?.(at.store);
    const prepared = await at.store.prepareAll(write());
    return () => prepared.commit();
  };

  it.each(everything)("an observer that throws undoes: %s", async (title) => {
    const work = operationFor(title);
    // Throws at the first, second or third change, if there are as many.
    for (const earlier of [0, 1, 2]) {
      at.renew();
      await fill();
      const before = await seen(at.store, NAMES);
      let toCome = earlier;
      const stop = at.store.observe(() => {
        toCome--;
        if (toCome < 0) throw REFUSAL;
      });
      const failure = await failureOf(() => work(at.store));
      stop();
      if (failure === undefined) return;
      expect(failure).toBe(REFUSAL);
      expect(isSame(await seen(at.store, NAMES), before)).toBe(true);
      at.store.forget();
      expect(isSame(await seen(at.store, NAMES), before)).toBe(true);
      await at.ground.expectClean(at.store);
      if (earlier === 0) await expectLikeAnother(at, { fill, work });
    }
  });

  it.each(everything)("a rollback of the enclosing transaction undoes: %s", async (title) => {
    const { sql } = at.ground;
    if (sql === undefined) return;
    const work = operationFor(title);
    await fill();
    const before = await seen(at.store, NAMES);
    const changes: Change[] = [];
    const stop = at.store.observe((change) => changes.push(change));
    const prepared = await preparedFor(title);
    const attempt = () =>
      sql.transaction(() => {
        prepared();
        throw REFUSAL;
      });
    expect(attempt).toThrow(REFUSAL);
    expect(changes.length).toBeGreaterThan(0);
    stop();
    at.store.forget();
    expect(isSame(await seen(at.store, NAMES), before)).toBe(true);
    await at.ground.expectClean(at.store);
    await expectLikeAnother(at, { fill, work });
  });

  it("recreates tables whose creation was rolled back", async () => {
    const { sql } = at.ground;
    if (sql === undefined) return;
    const text = "x".repeat(100_000);
    const preparedWork = async () => {
      const a = await at.store.prepare({ name: "a", value: text, ttlMs: 1 });
      const b = await at.store.prepare({ name: "b", value: text });
      return () => {
        a.commit();
        at.ground.nowMs += 1;
        const open = at.store.open("a");
        at.store.evictDue(at.ground.nowMs, 1);
        b.commit();
        open?.close();
      };
    };
    for (let times = 0; times < 2; times++) {
      const work = await preparedWork();
      expect(() =>
        sql.transaction(() => {
          work();
          throw REFUSAL;
        }),
      ).toThrow(REFUSAL);
      at.store.forget();
      expect(facts(at.store, ["a", "b"])).toMatchObject({
        count: 0,
        bytes: 0,
        tombstones: [undefined, undefined],
      });
    }
    (await preparedWork())();
    expect([namesOf(at.store.list()), at.store.tombstone("a")?.reason]).toEqual([["b"], "expired"]);
    expect(await at.store.read("b")).toBe(text);
    await at.ground.expectClean(at.store);
  });

  it("keeps the eviction order of tombstones", async () => {
    const all = Array.from({ length: limits.maxItems }, (_, index) => `v_${5_000 - index}`);
    await at.store.saveAll(all.map((name) => ({ name, value: 1, ttlMs: 5 })));
    at.ground.nowMs = START_MS + 5;
    at.store.evictDue(at.ground.nowMs, all.length);
    const stop = at.store.observe(() => {
      throw REFUSAL;
    });
    await expectFailure(() => at.store.save({ name: all[0] ?? "", value: 1 }), REFUSAL);
    stop();
    await at.store.save({ name: "one_more", value: 1, ttlMs: 5 });
    at.ground.nowMs += 5;
    at.store.evictDue(at.ground.nowMs, 1);
    const left = [all[0], all[1], all.at(-1)].map(
      (name) => at.store.tombstone(name ?? "") !== undefined,
    );
    expect(left).toEqual([false, true, true]);
  });
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/**
 * Expects that what was rolled back left no trace: from then on, the store behaves as if it never happened.
 */
async function expectLikeAnother(
  at: Testing,
  {
    fill,
    work,
  }: { readonly fill: () => Promise<void>; readonly work: (store: VariableStore) => unknown },
): Promise<void> {
  const proceed = async () => {
    await work(at.store);
    const named = await at.store.save({ value: "next" });
    const after = await seen(at.store, NAMES);
    await at.ground.expectClean(at.store);
    return { named, after };
  };
  const after = await proceed();
  at.renew();
  await fill();
  expect(isSame(after, await proceed())).toBe(true);
}
