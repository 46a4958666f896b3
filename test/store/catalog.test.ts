import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore, Write } from "../../src/store/variable-store.ts";
import { NodeSql } from "../support/node-sql.ts";
import { sampled, samples } from "../support/slow.ts";
import { closeAll, migratedSql, type WatchedSql } from "./watched-sql.ts";

const START_MS = Date.UTC(2026, 0, 1);
const HOUR_MS = 3_600_000;
const now = () => START_MS;

afterEach(closeAll);

describe("the reads of a store with two thousand variables", () => {
  const COUNT = 2_000;
  /** Far less than reading all entries, which takes more than 200,000 units. */
  const FEW_UNITS = 20_000;
  const call = { tool: "look_up", name: { base: "v", numbered: true, inputDigest: "c" } };

  async function filled(value = "one"): Promise<WatchedSql> {
    const sql = migratedSql();
    await new SqlStore(sql, { now }).save({ name: "v_1", value });
    const columns = sql
      .all(`SELECT name FROM pragma_table_info('variable')`)
      .map(({ name }) => String(name));
    const values = columns.map((column) => {
      if (column === "name") return "'v_' || i";
      return column === "seq" ? "seq + i * 7 % 1999" : column;
    });
    sql.run(
      `INSERT INTO variable (${columns.join(", ")})
       WITH RECURSIVE numbers(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM numbers WHERE i < ${COUNT})
       SELECT ${values.join(", ")} FROM variable, numbers`,
    );
    sql.unitsRead = 0;
    return sql;
  }

  /** Returns the results in a store that has loaded all entries. */
  async function expected(work: (store: VariableStore) => unknown): Promise<unknown> {
    const store = new SqlStore(await filled(), { now });
    store.list();
    return [await work(store), store.count(), store.bytes(), store.nextDueMs()];
  }

  const calls: Readonly<Record<string, (store: VariableStore) => unknown>> = {
    "the newest": (store) => store.list({ last: 20 }).map(({ name }) => name)[19],
    "the oldest": (store) => store.page({ limit: 20 }).variables[0]?.name,
    "some by name": (store) => store.list({ names: ["v_5", "v_6", "w"] }).length,
    "how many": (store) => [store.count(), store.bytes()],
    "one of them": async (store) => [
      await store.read("v_77"),
      store.glance("v_78")?.version,
      store.info("w"),
    ],
    "what could begin": (store) => [store.couldBegin("v_19"), store.couldBegin("v_19x")],
    "runs that are none": (store) => [store.runs(), store.ofRun("r"), store.endRun("r")],
    times: (store) => [store.nextDueMs(), store.lastAccessMs()],
    "what is due": (store) => store.evictDue(START_MS, 10),
    "an access": async (store) => [await store.read("v_3"), store.flushAccess()],
    "a save": (store) => store.save({ name: "w", value: 1 }),
    "another version": (store) => store.save({ name: "v_9", value: "s", mode: "append" }),
    "a save that needs a number": (store) => store.save({ ...call, value: 1 }),
    "several saves": (store) =>
      store.saveAll([
        { ...call, value: 1 },
        { name: "v", value: 2, mode: "new" },
      ]),
    "a change": (store) => store.update("v_4", { pinned: true }),
    "a delete": (store) => store.delete("v_4"),
  };

  it.each(Object.keys(calls))("are few for: %s", async (title) => {
    const sql = await filled();
    const work = calls[title] ?? (() => undefined);
    const wanted = await expected(work);
    const store = new SqlStore(sql, { now });
    const found = await work(store);
    expect(sql.unitsRead).toBeLessThan(FEW_UNITS);
    expect([found, store.count(), store.bytes(), store.nextDueMs()]).toEqual(wanted);
    expect(sql.unitsRead).toBeLessThan(2 * FEW_UNITS);
    // A second call reads nothing.
    const { statements } = sql;
    expect([store.count(), store.bytes(), store.nextDueMs()]).toEqual([wanted].flat().slice(1));
    expect(sql.statements).toBe(statements);
  });

  it("include no values, even if all variables are counted", async () => {
    const sql = await filled("x".repeat(3_000));
    const store = new SqlStore(sql, { now });
    expect([store.count(), store.list({ last: 20 }).length, store.runs()]).toEqual([COUNT, 20, []]);
    expect(sql.unitsRead).toBeLessThan(FEW_UNITS);
  });

  it("include only a run's own variables", async () => {
    const sql = await filled();
    for (const name of ["w_2", "w_1"])
      await new SqlStore(sql, { now }).save({ name, value: 1, run: "r" });
    const store = new SqlStore(sql, { now });
    sql.unitsRead = 0;
    expect([store.runs(), store.ofRun("r")]).toEqual([["r"], ["w_2", "w_1"]]);
    expect(store.endRun("r").map(({ name }) => name)).toEqual(["w_2", "w_1"]);
    expect([store.runs(), store.count()]).toEqual([[], COUNT]);
    expect(sql.unitsRead).toBeLessThan(FEW_UNITS);
  });
});

/** A store that loads few entries at a time, and one that has all of them, on the same clock. */
class Pair {
  nowMs = START_MS;
  readonly lazy: VariableStore;
  readonly whole: VariableStore;
  readonly #sql = new NodeSql();

  constructor() {
    migrate(this.#sql, START_MS);
    const options = { now: () => this.nowMs, idleMs: HOUR_MS, quotaBytes: 20_000 };
    this.lazy = new SqlStore(this.#sql, options);
    this.whole = new MemoryStore(options);
  }

  /** Does the same work on both stores and expects the same outcome. */
  async same(work: (store: VariableStore) => unknown): Promise<void> {
    expect(await outcomeOf(() => work(this.lazy))).toEqual(await outcomeOf(() => work(this.whole)));
  }

  /** Discards both stores' state in memory, and expects the same facts when they are read again. */
  forget(): void {
    for (const store of [this.lazy, this.whole]) {
      const facts = () => [
        store.count(),
        store.bytes(),
        store.nextDueMs(),
        store.runs(),
        store.list(),
      ];
      const before = facts();
      store.forget();
      expect(facts()).toEqual(before);
      store.forget();
    }
  }

  close(): void {
    this.#sql.close();
  }
}

async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
}

type Step = (pair: Pair) => void | Promise<void>;

const anyName = fc
  .tuple(fc.constantFrom("v", "w", "v_r"), fc.integer({ min: 1, max: 9 }))
  .map(([base, number]) => `${base}_${number}`);
const anyTimes = fc.record({
  ttlMs: fc.constantFrom(undefined, undefined, 1_000, HOUR_MS / 2, 9 * HOUR_MS),
  pinned: fc.boolean(),
});
const anyWrite = fc
  .record({
    name: fc.oneof(
      anyName,
      fc.record({
        base: fc.constantFrom("v", "w", "x_1", "long"),
        numbered: fc.boolean(),
        inputDigest: fc.constantFrom("a", "b", "c"),
      }),
    ),
    value: fc.integer({ min: 1, max: 400 }).map((length) => "x".repeat(length)),
    tool: fc.constantFrom(undefined, "t", "u"),
    run: fc.constantFrom(undefined, undefined, undefined, "r", "7"),
    mode: fc.constantFrom("replace" as const, "append" as const, "new" as const),
    times: anyTimes,
  })
  .map(({ times, tool, run, ...write }): Write => {
    const { ttlMs, pinned } = times;
    const name = typeof write.name === "string" ? { name: write.name } : { name: write.name };
    return {
      ...write,
      ...name,
      pinned,
      ...(ttlMs === undefined ? {} : { ttlMs }),
      ...(tool === undefined ? {} : { tool }),
      ...(run === undefined ? {} : { run }),
    };
  });

/** Returns a step that does the same work on both stores and expects the same outcome. */
function same(work: (store: VariableStore) => unknown): Step {
  return (pair) => pair.same(work);
}

/** Questions asked one at a time, because each loads other entries. */
const anyQuestion: fc.Arbitrary<Step> = fc.oneof(
  fc.nat(130).map((last) => same((store) => store.list({ last }))),
  fc.array(anyName).map((names) => same((store) => store.list({ names }))),
  fc.nat(130).map((limit) =>
    same((store) => {
      const first = store.page({ limit: limit + 1 });
      const next = first.next === undefined ? {} : { after: first.next };
      return [first, store.page({ limit: 30, ...next })];
    }),
  ),
  anyName.map((name) =>
    same((store) => [store.glance(name)?.version, store.info(name), store.tombstone(name)]),
  ),
  fc
    .constantFrom("", "v", "v_1", "f_119", "w_", "x", "long_", "é", "~")
    .map((prefix) => same((store) => store.couldBegin(prefix))),
  ...[
    (store: VariableStore) => [store.count(), store.bytes()],
    (store: VariableStore) => [store.runs(), store.ofRun("r")],
    (store: VariableStore) => store.nextDueMs(),
    (store: VariableStore) => store.transfer.names(),
  ].map((ask) => fc.constant(same(ask))),
);

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: anyQuestion, weight: 6 },
  {
    arbitrary: anyWrite.map((write) => same((store) => store.save(write))),
    weight: 5,
  },
  fc
    .array(anyName, { minLength: 1, maxLength: 4 })
    .map((names) => same((store) => Promise.all(names.map((name) => store.read(name))))),
  anyName.map((name) => same((store) => store.delete(name))),
  fc
    .tuple(anyName, anyTimes)
    .map(([name, { ttlMs = null, pinned }]) =>
      same((store) => store.update(name, { ttlMs, pinned })),
    ),
  fc.tuple(anyWrite, anyName).map(([write, name]) =>
    same(async (store) => {
      const stop = store.observe(() => {
        throw new Error("No.");
      });
      try {
        return [
          await outcomeOf(() => store.save(write)),
          await outcomeOf(() => store.delete(name)),
        ];
      } finally {
        stop();
      }
    }),
  ),
  anyName.map((name) => same((store) => store.holds.hold("turn", name))),
  fc.constant(same((store) => store.holds.release("turn"))),
  fc.nat(40).map(
    (limit): Step =>
      (pair) =>
        pair.same((store) => store.evictDue(pair.nowMs, limit)),
  ),
  fc.constantFrom("r", "7").map((run) => same((store) => store.endRun(run))),
  fc.nat(100).map((keepLast) => same((store) => store.reset(keepLast + 40))),
  fc.constant(same((store) => store.flushAccess())),
  { arbitrary: fc.constant<Step>((pair) => pair.forget()), weight: 4 },
  {
    arbitrary: fc.integer({ min: -HOUR_MS / 4, max: HOUR_MS / 3 }).map((ms): Step => (pair) => {
      pair.nowMs += ms;
    }),
    weight: 3,
  },
);

it(
  "a store that loads entries on demand answers like one that has loaded all",
  sampled,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { minLength: 20, maxLength: 60, size: "max" }),
        async (steps) => {
          const pair = new Pair();
          try {
            for (let index = 0; index < 120; index++) {
              // The names that the steps use are neither the newest nor the oldest.
              const name =
                index < 50 || index >= 70 ? `f_${index}` : `${"vw"[index % 2]}_${index % 9}`;
              pair.nowMs += 1;
              const times = index % 4 === 0 ? { ttlMs: 60_000 * index } : {};
              await pair.same((store) => store.save({ name, value: index, ...times }));
            }
            pair.forget();
            for (const step of steps) await step(pair);
            await pair.same((store) => store.list());
          } finally {
            pair.close();
          }
        },
      ),
      { numRuns: samples(15) },
    );
  },
);
