import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limits } from "../../src/limits.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { Tombstone, VariableStore, Write } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import { NodeSql } from "../support/node-sql.ts";
import { iso, START_MS, textOf, withCode } from "./variable-store-fixture.ts";

/** A variable as the naive model keeps it: what was written, and when. */
interface Entry {
  readonly name: string;
  readonly version: number;
  readonly write: Write;
  readonly size: ReturnType<typeof sizeOf>;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly dueMs: number;
}

/** Arrays alone, oldest first; slow and plain. */
interface Model {
  nowMs: number;
  entries: Entry[];
  graves: Tombstone[];
  /** Every name that ever was, so that no number is given twice. */
  readonly everUsed: string[];
}

/** The store under test; `wake` makes its object anew over what it stored. */
interface Real {
  store: VariableStore;
  readonly wake: () => VariableStore;
}

type StoreCommand = fc.Command<Model, Real>;

const names = ["report", "report_2", "variable_3", "w", "w_2", "orders_2", "var_ref", "_", "_5"];
const badNames = ["", "7up", "a-b", "x".repeat(65)];
const anyValue: fc.Arbitrary<Json> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.jsonValue({ stringUnit: "binary", maxDepth: 2 }).map(withoutMinusZero),
  },
  { weight: 2, arbitrary: fc.constantFrom("", "\ud800", "a\u0000b", "null") },
  { weight: 1, arbitrary: fc.constantFrom(limits.maxRowBytes, 400_000).map((n) => "é".repeat(n)) },
);
const anyWrite = fc.record(
  {
    value: anyValue,
    name: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...names) },
      { weight: 8, arbitrary: automaticName() },
      { weight: 1, arbitrary: fc.constantFrom(...badNames) },
    ),
    description: fc.string(),
    tool: fc.constantFrom("t", "u"),
    toolCallId: fc.string(),
    input: fc.constantFrom<Json[]>({ a: "$b" }, "\udc00", null),
    ttlMs: fc.nat(50),
    pinned: fc.boolean(),
  },
  { requiredKeys: ["value"] },
);

function automaticName() {
  return fc.record({
    base: fc.constantFrom("w", "orders", "ref", "variable"),
    numbered: fc.boolean(),
    inputDigest: fc.constantFrom("a", "b"),
  });
}

function withoutMinusZero(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json;
}

const anyName = fc.constantFrom(
  ...names,
  "variable_1",
  "variable_4",
  "w_3",
  "orders_1",
  "orders_3",
);
const commands: readonly fc.Arbitrary<StoreCommand>[] = [
  anyWrite.map((write) => command(`save ${fc.stringify(write)}`, saving(write))),
  anyName.map((name) =>
    command(`read ${name}`, (model, { store }) => {
      expect(store.read(name)).toEqual(aliveIn(model, name)?.write.value);
    }),
  ),
  anyName.map((name) =>
    command(`info ${name}`, (model, { store }) => {
      const entry = aliveIn(model, name);
      expect(about(store.info(name))).toEqual(entry && infoOf(entry));
      expect(store.tombstone(name)).toEqual(graveIn(model, name));
    }),
  ),
  fc.record({ last: fc.nat(5), names: fc.subarray(names) }, { requiredKeys: [] }).map((options) =>
    command(`list ${fc.stringify(options)}`, (model, { store }) => {
      const { last = Infinity, names: chosen } = options;
      const entries = alive(model).filter(({ name }) => chosen?.includes(name) ?? true);
      const expected = entries.slice(Math.max(entries.length - last, 0)).map(infoOf);
      expect(store.list(options).map(about)).toEqual(expected);
    }),
  ),
  anyName.map((name) => command(`delete ${name}`, deleting(name), isNotWaiting(name))),
  fc.nat(4).map((keepLast) => command(`reset ${keepLast}`, resetting(keepLast))),
  fc.nat(60).map((ms) =>
    command(`advance ${ms}`, (model) => {
      model.nowMs += ms;
    }),
  ),
  fc.nat(3).map((limit) => command(`evict ${limit}`, evicting(limit))),
];
const wake = fc.constant(
  command("wake", (_, real) => {
    real.store = real.wake();
  }),
);

describe("a store does what a naive model does", { timeout: 30_000 }, () => {
  it("MemoryStore", () => {
    holds(commands, (model) => {
      const store = new MemoryStore({ now: () => model.nowMs });
      return { store, wake: () => store };
    });
  });

  it("SqlStore, which may wake at any time", () => {
    holds([...commands, wake], (model) => {
      const sql = new NodeSql();
      migrate(sql);
      const wakeUp = () => new SqlStore(sql, { now: () => model.nowMs });
      return { store: wakeUp(), wake: wakeUp, close: () => sql.close() };
    });
  });
});

function holds(
  arbitraries: readonly fc.Arbitrary<StoreCommand>[],
  make: (model: Model) => Real & { close?: () => void },
): void {
  fc.assert(
    fc.property(fc.commands([...arbitraries], { maxCommands: 60, size: "+1" }), (sequence) => {
      const model: Model = { nowMs: START_MS, entries: [], graves: [], everUsed: [] };
      const { close = () => {}, ...real } = make(model);
      try {
        fc.modelRun(() => ({ model, real }), sequence);
        expectSame(model, real.store);
        expectSame(model, real.wake());
      } finally {
        close();
      }
    }),
    { numRuns: 200 },
  );
}

/** A command after which all that costs little to compare is compared. */
function command(
  text: string,
  run: (model: Model, real: Real) => void,
  check: (model: Readonly<Model>) => boolean = () => true,
): StoreCommand {
  return {
    check,
    run(model, real) {
      run(model, real);
      expect(real.store.list().map(about)).toEqual(alive(model).map(infoOf));
      expect(real.store.count()).toBe(alive(model).length);
      expect(real.store.nextDueMs()).toBe(nextDueIn(model));
    },
    toString: () => text,
  };
}

function expectSame(model: Model, store: VariableStore): void {
  for (const name of new Set([...names, ...model.everUsed])) {
    const entry = aliveIn(model, name);
    expect(about(store.info(name))).toEqual(entry && infoOf(entry));
    expect(store.read(name)).toEqual(entry?.write.value);
    expect(store.tombstone(name)).toEqual(graveIn(model, name));
    const known = [...model.entries, ...model.graves].map((any) => any.name);
    for (const prefix of [name, name.slice(0, -1)])
      expect(store.couldBegin(prefix)).toBe(known.some((other) => other.startsWith(prefix)));
  }
}

function saving(write: Write) {
  return (model: Model, { store }: Real) => {
    if (typeof write.name === "string" && badNames.includes(write.name)) {
      expect(() => store.save(write)).toThrow(withCode("bad_name"));
      return;
    }
    const name = nameIn(model, write);
    // One that is due and waits for its eviction goes on as the same variable.
    const previous = model.entries.find((entry) => entry.name === name);
    const entry: Entry = {
      name,
      version: 1 + (previous ?? graveIn(model, name) ?? { version: 0 }).version,
      write,
      size: sizeOf(write.value),
      createdMs: previous?.createdMs ?? model.nowMs,
      updatedMs: model.nowMs,
      dueMs: model.nowMs + (write.ttlMs ?? Infinity),
    };
    forget(model, [name]);
    model.entries.push(entry);
    model.everUsed.push(name);
    expect(about(store.save(write))).toEqual(infoOf(entry));
  };
}

/** Whose call made a variable; an evicted one keeps its name for the same call. */
function callsIn({ entries, graves }: Model) {
  const living = entries.map(({ name, write }) => ({ ...graveOfWrite(write), name }));
  return [...living, ...graves];
}

function nameIn(model: Model, { name, tool }: Write): string {
  const { everUsed } = model;
  if (typeof name === "string") return name;
  const { numbered, inputDigest } = name ?? { numbered: true, inputDigest: "" };
  const base = name?.base === "ref" ? "var_ref" : (name?.base ?? "variable");
  const ofBase = new RegExp(`^${base}(_\\d+)?$`);
  const same = callsIn(model).find(
    (call) =>
      ofBase.test(call.name) &&
      tool !== undefined &&
      call.tool === tool &&
      call.inputDigest === inputDigest,
  );
  if (same !== undefined && name !== undefined) return same.name;
  if (!numbered && callsIn(model).every((call) => call.name !== base)) return base;
  let number = numbered ? 1 : 2;
  for (const used of everUsed)
    if (ofBase.test(used) && used !== base)
      number = Math.max(number, 1 + Number(used.slice(base.length + 1)));
  return `${base}_${number}`;
}

function deleting(name: string) {
  return (model: Model, { store }: Real) => {
    expect(store.delete(name)).toBe(aliveIn(model, name) !== undefined);
    forget(model, [name]);
  };
}

/** Whether what is due and not yet evicted can be deleted is the contract's to say. */
function isNotWaiting(name: string) {
  return (model: Readonly<Model>) =>
    model.entries.every((entry) => entry.name !== name || entry.dueMs > model.nowMs);
}

function resetting(keepLast: number) {
  return (model: Model, { store }: Real) => {
    const unpinned = alive(model).filter(({ write }) => write.pinned !== true);
    const gone = unpinned.slice(0, Math.max(unpinned.length - keepLast, 0));
    forget(
      model,
      gone.map(({ name }) => name),
    );
    expect(store.reset(keepLast)).toEqual(gone.map(({ name }) => name));
  };
}

function evicting(limit: number) {
  return (model: Model, { store }: Real) => {
    const due = model.entries.filter(({ dueMs }) => dueMs <= model.nowMs).slice(0, limit);
    model.entries = model.entries.filter((entry) => !due.includes(entry));
    model.graves.push(...due.map(graveOf));
    expect(store.evictExpired(model.nowMs, limit)).toEqual(due.map(graveOf));
  };
}

function forget(model: Model, gone: readonly string[]): void {
  model.entries = model.entries.filter(({ name }) => !gone.includes(name));
  model.graves = model.graves.filter(({ name }) => !gone.includes(name));
}

function alive({ entries, nowMs }: Readonly<Model>): readonly Entry[] {
  return entries.filter(({ dueMs }) => dueMs > nowMs);
}

function aliveIn(model: Model, name: string): Entry | undefined {
  return alive(model).find((entry) => entry.name === name);
}

function graveIn(model: Model, name: string): Tombstone | undefined {
  const waiting = model.entries.find((entry) => entry.name === name && entry.dueMs <= model.nowMs);
  return waiting === undefined
    ? model.graves.find((grave) => grave.name === name)
    : graveOf(waiting);
}

function graveOf({ name, version, write, dueMs }: Entry): Tombstone {
  return { name, version, ...graveOfWrite(write), evictedAt: iso(dueMs), reason: "expired" };
}

function graveOfWrite({ tool, input, name }: Write) {
  return {
    ...(tool !== undefined && { tool }),
    ...(input !== undefined && { input }),
    ...(typeof name === "object" && { inputDigest: name.inputDigest }),
  };
}

function nextDueIn({ entries }: Model): number | undefined {
  const due = Math.min(...entries.map(({ dueMs }) => dueMs));
  return due === Infinity ? undefined : due;
}

/** Metadata but for shape and preview, which have tests of their own. */
function about(info: ReturnType<VariableStore["info"]>) {
  if (info === undefined) return undefined;
  const { shape, preview, ...others } = info;
  expect([typeof shape, typeof preview]).toEqual(["string", "string"]);
  return others;
}

function infoOf({ name, version, write, size, createdMs, updatedMs, dueMs }: Entry) {
  const { value: _value, ttlMs: _ttlMs, name: _name, pinned = false, ...provenance } = write;
  const times = { createdAt: iso(createdMs), updatedAt: iso(updatedMs) };
  const due = dueMs < Infinity && { expiresAt: iso(dueMs) };
  return { name, version, pinned, visibility: "model", ...provenance, ...size, ...times, ...due };
}

function sizeOf(value: Json) {
  const text = textOf(value);
  const bytes = Buffer.byteLength(text);
  const location = bytes > limits.maxRowBytes ? "chunks" : "row";
  return { ...typeAndCount(value), bytes, chars: text.length, location };
}

function typeAndCount(value: Json) {
  if (value === null) return { type: "null", count: 1 };
  if (Array.isArray(value)) return { type: "array", count: value.length };
  if (typeof value === "object") return { type: "object", count: Object.keys(value).length };
  return { type: typeof value, count: typeof value === "string" ? [...value].length : 1 };
}
