import fc from "fast-check";
import * as limits from "../../src/limits.ts";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../packages/adapters/src/agent.ts";
import { sharedStore } from "../../packages/gateway/src/cli/state.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { StoreOptions } from "../../src/store/store-state.ts";
import type { Json } from "../../src/value/json.ts";
import { migratedSql } from "../support/node-sql.ts";
import {
  afterWaking,
  expectSameOf,
  observing,
  type Real,
  wake,
  advancing,
  calling,
  type Command,
  evicting,
  holding,
  listing,
  looking,
  opening,
  paging,
  reading,
  readingPath,
  releasing,
  saving,
  sweeping,
  updating,
  waking,
} from "./variable-store-commands.ts";
import { Model, at, isSame, type ModelWrite, type Value } from "./variable-store-model.ts";
import { samples } from "../support/slow.ts";
import type { Path } from "../../src/value/path.ts";

/** The clock advances in steps of a 24th of this, so that each use at a new time is written back. */
const IDLE_MS = 240;
const STEP_MS = IDLE_MS / 24;

const names = [
  ["report", "report_2", "variable_3", "w", "w_2", "orders_2", "var_ref", "__proto__", "_"],
  ["_5"],
].flat();
const badNames = ["", "7up", "a-b", "x".repeat(65)];
const runs = ["run_1", "run_2"];

const rows = Array.from({ length: 8_000 }, (_, id) => ({ id, a: { b: `é ${id}` } }));
const largeValues: readonly Value[] = [
  "m".repeat(60_000),
  ["n".repeat(60_000)],
  "é".repeat(limits.maxRowBytes),
  "é😀".repeat(133_333),
  rows,
  { a: { b: ["x".repeat(300_000)] } },
  new Uint8Array(70_000).fill(7),
];
const anyHuge = fc.constant("x".repeat(limits.maxChunkedBytes + 1));
/** Values that fit together often enough to be extended. */
const smallValues: readonly Value[] = [
  "",
  "text",
  [],
  [1, ["é"]],
  {},
  { a: {} },
  { a: { b: 1 } },
  { a: { b: { c: [1] }, d: "x" } },
  { b: null, __proto__: 1 },
  JSON.parse('{"__proto__": {"a": 1}}') as Json,
  null,
  7,
  "\ud800",
  "a\u0000b",
  "null",
  new Uint8Array([0, 255]),
];
const anyValue: fc.Arbitrary<Value> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.jsonValue({ stringUnit: "binary", maxDepth: 2 }).map(withoutMinusZero),
  },
  { weight: 24, arbitrary: fc.constantFrom(...smallValues) },
  { weight: 4, arbitrary: fc.constantFrom(...largeValues) },
);

function withoutMinusZero(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

const anyShortTime = { weight: 1, arbitrary: fc.nat(3 * STEP_MS) };
const anyProvenance = {
  description: fc.string({ maxLength: 20 }),
  tool: fc.constantFrom("t", "u"),
  toolCallId: fc.string({ maxLength: 5 }),
  input: fc.constantFrom<Json[]>({ a: "$b" }, "\udc00", null),
  ttlMs: fc.oneof({ weight: 3, arbitrary: fc.constant(1_000_000) }, anyShortTime),
  pinned: fc.boolean(),
  visibility: fc.constantFrom("model" as const, "sealed" as const, "secret" as const),
  sources: fc.subarray(["user", "mcp:maps"], { minLength: 1 }),
  trusted: fc.boolean(),
};
const automaticName = fc.record({
  base: fc.constantFrom("w", "orders", "ref", "variable"),
  numbered: fc.boolean(),
  inputDigest: fc.constantFrom("a", "b"),
});
const anyWrite = fc.record(
  {
    // Only here, because a value extended by this one could be too large to read.
    value: fc.oneof({ weight: 30, arbitrary: anyValue }, { weight: 1, arbitrary: anyHuge }),
    name: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...names) },
      { weight: 8, arbitrary: automaticName },
      { weight: 1, arbitrary: fc.constantFrom(...badNames, "x".repeat(64)) },
    ),
    ...anyProvenance,
    run: fc.constantFrom(...runs),
  },
  { requiredKeys: ["value"] },
);
const paths: readonly Path[] = [
  [{ key: "a" }, { key: "b" }],
  [{ key: "a" }],
  [{ key: "__proto__" }],
  [{ index: 0 }],
  [{ index: -1 }],
  [{ index: 1 }, { index: 0 }],
  [{ key: "a" }, { key: "b" }, { key: "c" }, { index: -1 }],
  [{ each: true }],
  [{ key: "b" }, { from: 0 }],
];
/** Writes that extend existing values, most of them values of earlier writes. */
const anyExtension = fc.oneof(
  fc.record(
    {
      value: anyValue,
      name: fc.constantFrom(...names),
      mode: fc.constantFrom("append" as const, "merge" as const),
      ...anyProvenance,
      run: fc.constantFrom(...runs),
    },
    { requiredKeys: ["value", "name", "mode"] },
  ),
  fc.record(
    {
      value: anyValue,
      name: fc.constantFrom(...names),
      path: fc.constantFrom(...paths),
      mode: fc.constantFrom("replace" as const, "append" as const, "merge" as const),
      ...anyProvenance,
      run: fc.constantFrom(...runs),
    },
    { requiredKeys: ["value", "name", "path"] },
  ),
);
const anyNewName = fc.record(
  {
    value: anyValue,
    name: fc.constantFrom("w", "report", "_", "y".repeat(61)),
    mode: fc.constant("new" as const),
    path: fc.constantFrom<Path[]>([], [], [{ key: "a" }]),
    ...anyProvenance,
  },
  { requiredKeys: ["value", "name", "mode"] },
);
const anyName = fc.constantFrom(
  ...names,
  "variable_1",
  "variable_4",
  "w_3",
  "w_000",
  "w_001",
  "orders_1",
  "orders_3",
);
const readPaths: readonly Path[] = [
  ...paths,
  [],
  [{ from: 1, to: 3 }],
  [{ from: -2 }],
  [{ to: -70_000 }],
  [{ from: 66_000, to: 66_002 }],
  [{ index: 7_990 }, { key: "a" }, { key: "b" }],
  [{ from: 4_000, to: 4_003 }, { each: true }, { key: "id" }],
  [{ each: true }, { key: "a" }, { key: "b" }],
  [{ each: true }, { each: true }],
  [{ from: 3, to: 1 }],
];

const shown = (write: ModelWrite) => () => {
  const { value, ...others } = write;
  return `save ${fc.stringify(others)} ${fc.stringify(value).slice(0, 200)}`;
};
const anyChanges = fc.record(
  {
    ttlMs: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, anyShortTime),
    pinned: fc.boolean(),
    description: fc.string({ maxLength: 20 }),
  },
  { requiredKeys: [] },
);
const anyListed = fc.record({ last: fc.nat(5), names: fc.subarray(names) }, { requiredKeys: [] });
const anyRange = fc.tuple(fc.nat(200_000), fc.nat(100_000));
const anyOwner = fc.constantFrom("turn", "plan");

/** Commands by weight. Those that remove variables are rare, so that there are some variables. */
const weighted: readonly (readonly [number, fc.Arbitrary<Command>])[] = [
  [6, anyWrite.map((write) => saving(write, shown(write)))],
  [6, anyExtension.map((write) => saving(write, shown(write)))],
  [2, anyNewName.map((write) => saving(write, shown(write)))],
  [3, anyName.map(reading)],
  [3, fc.tuple(anyName, fc.constantFrom(...readPaths)).map((given) => readingPath(...given))],
  [2, fc.tuple(anyName, anyRange).map((given) => opening(...given))],
  [1, anyName.map(looking)],
  [1, anyListed.map(listing)],
  [1, fc.integer({ min: 1, max: 4 }).map(paging)],
  [2, fc.tuple(anyName, anyChanges).map((given) => updating(...given))],
  [1, anyName.map((name) => calling(`delete ${name}`, (either) => either.delete(name)))],
  [
    1,
    fc
      .constantFrom(0, 2, 5, 8, 9, 10)
      .map((keep) => calling(`reset ${keep}`, (either) => either.reset(keep))),
  ],
  [1, fc.constantFrom(...runs).map((run) => calling(`end ${run}`, (either) => either.endRun(run)))],
  [1, fc.tuple(anyOwner, anyName).map((given) => holding(...given))],
  [1, anyOwner.map(releasing)],
  [3, fc.nat(3).map((steps) => advancing(steps * STEP_MS))],
  [1, fc.constantFrom(1, 8, 12, 23, 24).map((steps) => advancing(steps * STEP_MS))],
  [2, fc.nat(3).map(evicting)],
  [1, fc.constant(sweeping)],
  [2, fc.constant(waking)],
];
const commands = weighted.flatMap(([weight, any]) => Array.from({ length: weight }, () => any));

interface Subject {
  /** Another object over the same rows. */
  readonly wake: () => VariableStore;
  readonly close?: () => void;
  readonly blobs?: MemoryBlobs;
}

const subjects: Readonly<Record<string, (options: StoreOptions) => Subject>> = {
  MemoryStore: (options) => {
    const store = new MemoryStore(options);
    const wake = () => {
      store.forget();
      return store;
    };
    return { wake };
  },
  SqlStore: (options) => {
    const sql = migratedSql();
    return { wake: () => new SqlStore(sql, options), close: () => sql.close() };
  },
  sqliteStore: (options) => ofOneProcess(sqliteStore(":memory:", options)),
  sharedStore: (options) => ofOneProcess(sharedStore(":memory:", options)),
  "SqlStore with a bucket": (options) => {
    const sql = migratedSql();
    const blobs = new MemoryBlobs();
    const wake = () => new SqlStore(sql, { ...options, bucket: { blobs, prefix: "c/" } });
    return { wake, close: () => sql.close(), blobs };
  },
};

function ofOneProcess(store: VariableStore & { close(): void }): Subject {
  const wake = () => {
    store.forget();
    return store;
  };
  return { wake, close: () => store.close() };
}

describe.each(Object.entries(subjects))("%s", (name, make) => {
  it.each([
    [limits.maxConversationBytes, "now and then"],
    [limits.maxConversationBytes, "before every call"],
    [150, "now and then"],
  ])("behaves like a naive model with a quota of %i bytes, woken %s", (quotaBytes, woken) => {
    const bounds = { quotaBytes, idleMs: IDLE_MS, hasBucket: name.endsWith("bucket") };
    return holds(() => new Model(bounds), make, woken === "before every call");
  });

  it("reads every part of a large value like that part of the whole", async () => {
    const subject = make({});
    for (const value of largeValues) {
      if (value instanceof Uint8Array) continue;
      await subject.wake().save({ name: "v", value });
      // Not the whole value: it would stay in memory, and the parts would be read from there.
      for (const path of readPaths.filter(({ length }) => length > 0)) {
        const read = await subject.wake().readPath("v", path);
        const part = read?.found === true ? read.value : undefined;
        expect([path, isSame(part, at(value, path))]).toEqual([path, true]);
      }
    }
    subject.close?.();
  });
});

async function holds(
  empty: () => Model,
  make: (options: StoreOptions) => Subject,
  isWoken: boolean,
): Promise<void> {
  const all = isWoken ? commands.map((any) => any.map(afterWaking)) : commands;
  const anyCommands = fc.commands(all, { maxCommands: 80, size: "max" });
  await fc.assert(
    fc.asyncProperty(anyCommands, async (sequence) => {
      const model = empty();
      const { idleMs, quotaBytes } = model.bounds;
      const subject = make({ now: () => model.nowMs, idleMs, quotaBytes });
      const real: Real = { store: subject.wake(), wake: subject.wake, observed: new Map() };
      observing(real);
      try {
        await fc.asyncModelRun(() => ({ model, real }), sequence);
        await expectSame(model, real.store, subject);
        wake(model, real);
        await expectSame(model, real.store, subject);
      } finally {
        subject.close?.();
      }
    }),
    { numRuns: samples(60) },
  );
}

async function expectSame(model: Model, store: VariableStore, { blobs }: Subject): Promise<void> {
  for (const name of new Set([...names, ...model.everUsed])) {
    expectSameOf(name, model, store);
    const entry = model.use(name);
    store.open(name)?.close();
    if (entry === undefined || entry.value instanceof Uint8Array) continue;
    expect(isSame(await store.read(name), entry.value)).toBe(true);
  }
  store.flushAccess();
  expect(await store.sweep()).toBe(true);
  const inBucket = store.list().filter(({ location }) => location === "r2").length;
  const waiting = model.entries.length - model.alive.length;
  const keys = (await blobs?.list("")) ?? [];
  expect(keys.length).toBeGreaterThanOrEqual(inBucket);
  expect(keys.length).toBeLessThanOrEqual(inBucket + waiting);
}
