import { describe, expect, it } from "vitest";
import * as limits from "../../src/limits.ts";
import { bytesContent } from "../../src/store/bytes/content.ts";
import type { Write } from "../../src/store/variable-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { expectFailure, facts, isSame, MINUTE_MS, seen } from "./store-fixture.ts";
import { FULL } from "../store/watched-sql.ts";
import { onEveryKind, type Testing } from "./store-testing.ts";
import { slow } from "../support/slow.ts";
import { namesOf, START_MS } from "./variable-store-fixture.ts";

const NAMES = ["due", "kept", "list", "large", "new", "gone", "variable_1", "variable_2"];

/** What fails leaves no trace: not in the rows, not in memory, not in the bucket. */
onEveryKind((at) => {
  const operations = operationsOn(at);
  const ways = failures.filter(({ canFail }) => canFail(at));

  describe.each(ways)("a failure of $where", at.kind.hasBucket ? {} : slow, ({ fail }) => {
    it.each(operations)("undoes: $what", async ({ work }) => {
      await fill(at);
      const before = await seen(at.store, NAMES);
      const result = await work(at.store);
      const after = await proceed(at);
      for (let count = 0; ; count++) {
        await fill(at);
        const repair = fail(at, count);
        const failure = await failureOf(() => work(at.store));
        repair();
        if (failure === undefined) break;
        expect(failure).toBe(FULL);
        for (const wake of [() => undefined, () => at.store.forget(), () => open(at)]) {
          wake();
          expect(isSame(await seen(at.store, NAMES), before), `failed after ${count}`).toBe(true);
          await at.ground.expectClean(at.store);
        }
        expect(await work(at.store)).toEqual(result);
        expect(isSame(await proceed(at), after)).toBe(true);
      }
    });
  });

  it.each(ways)("a failed sweep is completed by the next one: $where", async ({ fail }) => {
    for (let count = 0; ; count++) {
      await fill(at);
      at.store.delete("large");
      at.store.endRun("r");
      const repair = fail(at, count);
      const failure = await failureOf(() => at.store.sweep());
      repair();
      await at.ground.expectClean(at.store);
      open(at);
      await at.ground.expectClean(at.store);
      if (failure === undefined) break;
    }
  });

  it.each(operationsOn(at))(
    "a rollback of a transaction undoes: $what",
    async ({ writes, work }) => {
      if (!at.kind.hasSql) return;
      await fill(at);
      await work(at.store);
      const after = await proceed(at);
      await fill(at);
      const before = await seen(at.store, NAMES);
      const prepared = writes && (await at.store.prepareAll(writes()));
      const attempt = () =>
        at.ground.sql?.transaction(() => {
          if (prepared === undefined) work(at.store);
          else prepared.commit();
          throw FULL;
        });
      expect(attempt).toThrow(FULL);
      at.store.forget();
      expect(isSame(await seen(at.store, NAMES), before)).toBe(true);
      await at.ground.expectClean(at.store);
      await work(at.store);
      expect(isSame(await proceed(at), after)).toBe(true);
    },
  );

  it("a rollback also undoes the creation of tables, which the next write creates again", async () => {
    if (!at.kind.hasSql) return;
    const text = "x".repeat(100_000);
    const preparedWork = async () => {
      const a = await at.store.prepare({ name: "a", value: text, ttlMs: 5 });
      const b = await at.store.prepare({ name: "b", value: text });
      return () => {
        a.commit();
        // Bytes that are being read become garbage.
        const open = at.store.open("a");
        at.store.evictDue(at.ground.nowMs + 5, 1);
        b.commit();
        open?.close();
      };
    };
    for (let times = 0; times < 2; times++) {
      const work = await preparedWork();
      const attempt = () =>
        at.ground.sql?.transaction(() => {
          work();
          throw FULL;
        });
      expect(attempt).toThrow(FULL);
      at.store.forget();
      const tombstones = [undefined, undefined];
      expect(facts(at.store, ["a", "b"])).toMatchObject({ count: 0, bytes: 0, tombstones });
    }
    (await preparedWork())();
    expect([namesOf(at.store.list()), at.store.tombstone("a")?.reason]).toEqual([["b"], "expired"]);
    expect(await at.store.read("b")).toBe(text);
    await at.ground.expectClean(at.store);
  });

  it("tombstones keep the order of their evictions after a rollback", async () => {
    const all = Array.from({ length: limits.maxItems }, (_, index) => `v_${5_000 - index}`);
    await at.store.saveAll(all.map((name) => ({ name, value: 1, ttlMs: 5 })));
    at.ground.nowMs = START_MS + 5;
    at.store.evictDue(at.ground.nowMs, all.length);
    const stop = at.store.observe(() => {
      throw FULL;
    });
    await expectFailure(() => at.store.save({ name: all[0] ?? "", value: 1 }), FULL);
    stop();
    await at.store.save({ name: "one_more", value: 1, ttlMs: 5 });
    at.ground.nowMs += 5;
    at.store.evictDue(at.ground.nowMs, 1);
    const ends = [all[0], all[1], all.at(-1)];
    const left = ends.map((name) => at.store.tombstone(name ?? "") !== undefined);
    expect(left).toEqual([false, true, true]);
  });
});

interface Failure {
  readonly where: string;
  readonly canFail: (at: Testing) => boolean;
  /** Lets it fail once, after this many successes. Returns a function that ends that. */
  readonly fail: (at: Testing, count: number) => () => void;
}

const inSql = ({ kind }: Testing) => kind.hasSql;
const inBucket = ({ kind }: Testing) => kind.hasBucket;

function failStatement({ ground: { sql } }: Testing, count: number): () => void {
  if (sql !== undefined) sql.statementsLeft = count;
  return () => Object.assign(sql ?? {}, { statementsLeft: Infinity });
}

function failBucket({ ground: { blobs } }: Testing, callsLeft: number, failsLate = false) {
  Object.assign(blobs, { callsLeft, failsLate });
  return () => void Object.assign(blobs, { callsLeft: Infinity });
}

const failures: readonly Failure[] = [
  {
    where: "an observer",
    canFail: () => true,
    fail: ({ store }, count) => {
      let left = count;
      return store.observe(() => {
        if (left-- === 0) throw FULL;
      });
    },
  },
  { where: "a statement", canFail: inSql, fail: failStatement },
  {
    where: "a statement, of a store that has just woken",
    canFail: inSql,
    fail: (at, count) => {
      open(at);
      return failStatement(at, count);
    },
  },
  { where: "the bucket", canFail: inBucket, fail: failBucket },
  {
    where: "the bucket after its work",
    canFail: inBucket,
    fail: (at, count) => failBucket(at, count, true),
  },
];

/** A value in the bucket or, without one, in one chunk or two. */
function large({ kind }: Testing, letter: string, chars = 70_000): Write["value"] {
  if (!kind.hasBucket) return letter.repeat(chars);
  return bytesContent(Buffer.from(letter.repeat(70_000)), "application/octet-stream");
}

const quotaOf = ({ kind }: Testing) => ({ quotaBytes: kind.hasBucket ? 250_000 : 2_300_000 });

/** Opens the store again, as an object that wakes. */
function open(at: Testing): void {
  if (at.kind.hasSql) at.fresh(quotaOf(at));
}

/** Fills a new store with something of every kind. */
async function fill(at: Testing): Promise<void> {
  at.renew();
  at.fresh(quotaOf(at));
  const { store } = at;
  await store.save({ name: "gone", value: 1, ttlMs: 0 });
  store.evictDue(START_MS, 1);
  await store.save({ name: "due", value: large(at, "d"), ttlMs: 5 * MINUTE_MS, run: "r" });
  await store.save({ name: "list", value: [1], description: "a list" });
  await store.save({ name: "large", value: large(at, "x"), tool: "t" });
  await store.save({ name: "kept", value: { a: [1] }, pinned: true });
  await store.save({ value: "numbered" });
  await store.sweep();
}

interface Operation {
  readonly what: string;
  readonly writes?: () => readonly Write[];
  readonly work: (store: VariableStore) => unknown;
}

function operationsOn(at: Testing): readonly Operation[] {
  const anyLarge = (name: string) => ({ name, value: large(at, "y", 1_100_000) });
  const writes: Readonly<Record<string, () => readonly Write[]>> = {
    "save a new one": () => [{ name: "new", value: 1 }],
    "save under an automatic name": () => [{ value: 1 }],
    "save one that was evicted": () => [{ name: "gone", value: 1 }],
    replace: () => [{ name: "list", value: { other: 1 }, visibility: "secret" }],
    append: () => [{ name: "list", value: 2, mode: "append" }],
    "save a large one": () => [anyLarge("new")],
    "replace a large one": () => [{ name: "large", value: 1 }],
    "replace a small one by a large one": () => [anyLarge("list")],
    "replace a large one by another": () => [anyLarge("large")],
    "save some for which others go": () => [anyLarge("new"), anyLarge("gone")],
    "save several": () => [
      anyLarge("gone"),
      { name: "list", value: 2, mode: "append" },
      { value: 1 },
    ],
  };
  const others: Readonly<Record<string, Operation["work"]>> = {
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
  return [
    ...Object.entries(writes).map(([what, writes]) => ({
      what,
      writes,
      work: (store: VariableStore) => store.saveAll(writes()),
    })),
    ...Object.entries(others).map(([what, work]) => ({ what, work })),
  ];
}

/** Continues after an operation. What was rolled back before it makes no difference. */
async function proceed(at: Testing) {
  const named = await at.store.save({ value: "next" });
  const after = await seen(at.store, NAMES);
  await at.ground.expectClean(at.store);
  return { named, after };
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}
