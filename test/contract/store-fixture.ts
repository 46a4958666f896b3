import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import { MemoryBlobs } from "../support/memory-blobs.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import type { StoreOptions } from "../../src/store/store-state.ts";
import type { Json } from "../../src/value/json.ts";
import { FULL, WatchedSql } from "../store/watched-sql.ts";
import { START_MS, withCode } from "./variable-store-fixture.ts";

export const MINUTE_MS = 60_000;
export const KIB = 1_024;
export const MIB = 1_048_576;

export type Options = Pick<StoreOptions, "quotaBytes" | "idleMs" | "keepVersions" | "onAccess">;

/** A way to store variables: in memory, or in SQL with or without a bucket. */
export interface StoreKind {
  readonly title: string;
  readonly hasSql: boolean;
  readonly hasBucket: boolean;
}

export const storeKinds: readonly StoreKind[] = [
  { title: "MemoryStore", hasSql: false, hasBucket: false },
  { title: "SqlStore", hasSql: true, hasBucket: false },
  { title: "SqlStore with a bucket", hasSql: true, hasBucket: true },
];

/** What a store is built on, and its clock. */
export class Ground {
  nowMs = START_MS;
  readonly kind: StoreKind;
  readonly sql: CountedSql | undefined;
  readonly blobs = new BreakableBlobs();

  constructor(kind: StoreKind) {
    this.kind = kind;
    this.sql = kind.hasSql ? new CountedSql() : undefined;
    if (this.sql !== undefined) migrate(this.sql, START_MS);
  }

  /** Opens a store. Over SQL, each further store sees the same rows, like an object that wakes. */
  open(options: Options = {}): VariableStore {
    const bucket = this.kind.hasBucket ? { bucket: { blobs: this.blobs, prefix: "c/" } } : {};
    const all = { now: () => this.nowMs, ...bucket, ...options };
    return this.sql === undefined ? new MemoryStore(all) : new SqlStore(this.sql, all);
  }

  close(): void {
    this.sql?.close();
  }

  /** The keys of all objects. */
  keys(): Promise<readonly string[]> {
    return this.blobs.list("");
  }

  /** Number of chunk rows, or -1 where they cannot be counted. */
  chunks(): number {
    if (this.sql === undefined) return -1;
    const hasTable = this.sql.all(`SELECT 1 FROM sqlite_master WHERE name = 'chunk'`).length > 0;
    return hasTable ? Number(this.sql.all(`SELECT count(*) AS n FROM chunk`)[0]?.["n"]) : 0;
  }

  /** Sweeps, then expects that nothing is stored beyond what the store's variables need. */
  async expectClean(store: VariableStore): Promise<void> {
    expect(await store.sweep()).toBe(true);
    expect(store.hasGarbage()).toBe(false);
    const infos = store.list();
    const keys = await this.keys();
    expect(keys).toHaveLength(infos.filter(({ location }) => location === "r2").length);
    expect(keys.filter((key) => !key.startsWith("c/"))).toEqual([]);
    if (this.sql === undefined) return;
    const inChunks = infos.filter(({ location }) => location === "chunks");
    const expected = inChunks.reduce((sum, { bytes }) => sum + Math.ceil(bytes / MIB), 0);
    expect(this.chunks()).toBe(expected);
  }
}

/** Counts what is read. */
export class CountedSql extends WatchedSql {
  get bytesRead(): number {
    return this.unitsRead;
  }
}

/** Objects in memory that fail once, at the call after the next `callsLeft`: before its work, or after it. */
class BreakableBlobs extends MemoryBlobs {
  callsLeft = Infinity;
  failsLate = false;

  override put(key: string, bytes: Uint8Array) {
    return this.#try(() => super.put(key, bytes));
  }

  override read(key: string, from: number, to: number) {
    return this.#try(() => super.read(key, from, to));
  }

  override delete(keys: readonly string[]) {
    return this.#try(() => super.delete(keys));
  }

  override async upload(key: string) {
    const { write, complete, abort } = await this.#try(() => super.upload(key));
    return {
      write: (bytes: Uint8Array) => this.#try(() => write(bytes)),
      complete: () => this.#try(complete),
      abort,
    };
  }

  /** Number of bytes requested since the read with this number. */
  bytesReadSince(first: number): number {
    return this.reads.slice(first).reduce((sum, { from, to }) => sum + to - from, 0);
  }

  async #try<Result>(work: () => Promise<Result>): Promise<Result> {
    const fails = this.callsLeft-- <= 0;
    if (fails) this.callsLeft = Infinity;
    if (fails && !this.failsLate) throw FULL;
    const result = await work();
    if (fails) throw FULL;
    return result;
  }
}

/** Returns what a reader can see of a store without using its values, with the tombstones of these names. */
export function facts(store: VariableStore, names: readonly string[] = []) {
  return {
    list: store.list(),
    count: store.count(),
    bytes: store.bytes(),
    nextDueMs: store.nextDueMs(),
    runs: store.runs(),
    tombstones: names.map((name) => store.tombstone(name)),
  };
}

/** Returns the same, and the values. */
export async function seen(store: VariableStore, names: readonly string[] = []) {
  const known = facts(store, names);
  const values: Record<string, Json | Uint8Array | undefined> = {};
  for (const { name, type } of known.list)
    values[name] = type === "bytes" ? await bytesOf(store, name) : await store.read(name);
  return { ...known, values };
}

/** Expects the work to throw or reject with this code. */
export async function expectFailure(work: () => unknown, expected: unknown): Promise<void> {
  let outcome: unknown = "no failure";
  try {
    await work();
  } catch (error) {
    outcome = error;
  }
  expect(outcome).toEqual(typeof expected === "string" ? withCode(expected) : expected);
}

/** Returns all bytes that `open` gives. */
export async function bytesOf(store: VariableStore, name: string): Promise<Uint8Array> {
  const open = store.open(name);
  if (open === undefined) throw new Error(`There is no ${name}.`);
  try {
    return await open.read(0, open.info.bytes);
  } finally {
    open.close();
  }
}

/** True for equal values. Compares megabytes without generating a report. */
export const isSame = (one: unknown, other: unknown): boolean => isDeepStrictEqual(one, other);
