import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sqliteStore } from "../../packages/adapters/src/agent.ts";
import { sharedStore } from "../../packages/gateway/src/cli/state.ts";
import * as limits from "../../src/limits.ts";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { StoreOptions } from "../../src/store/store-state.ts";
import type { Json } from "../../src/value/json.ts";
import { migratedSql } from "../support/node-sql.ts";
import { commands, IDLE_MS, largeValues, names, readPaths } from "./variable-store-arbitraries.ts";
import {
  afterWaking,
  expectSameOf,
  observing,
  type Real,
  wake,
} from "./variable-store-commands.ts";
import { Model } from "./variable-store-model.ts";
import { at, isSame } from "./variable-store-model-facts.ts";
import { samples } from "../support/slow.ts";
import { storedBytes } from "./variable-store-model-values.ts";

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
      await expectSameParts(value, "v", subject.wake());
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

/** Compares every part of a value that is read in spans, unless it is too large to be taken apart here. */
async function expectSameParts(value: Json, name: string, store: VariableStore): Promise<void> {
  const bytes = storedBytes(value).length;
  if (bytes <= limits.markBytes || bytes > 2 * limits.maxRecordBytes) return;
  // Not the whole value: it would stay in memory, and the parts would be read from there.
  for (const path of readPaths.filter(({ length }) => length > 0)) {
    const read = await store.readPath(name, path);
    const wanted = at(value, path);
    expect([path, isSame(read?.found === true ? read.value : undefined, wanted)]).toEqual([
      path,
      true,
    ]);
  }
}

async function expectSame(model: Model, store: VariableStore, { blobs }: Subject): Promise<void> {
  for (const name of new Set([...names, ...model.everUsed])) {
    expectSameOf(name, model, store);
    const entry = model.use(name);
    store.open(name)?.close();
    if (entry === undefined || entry.value instanceof Uint8Array) continue;
    // Parts come first. They are read from storage only while the whole is not in memory.
    await expectSameParts(entry.value, name, store);
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
