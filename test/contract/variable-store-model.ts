import * as limits from "../../src/limits.ts";
import type { Changes, Write } from "../../src/store/variable-store.ts";
import type {
  EvictionReason,
  Tombstone,
  Visibility,
  VariableInfo,
} from "../../src/store/variable.ts";
import { iso, START_MS, textOf } from "./variable-store-fixture.ts";
import type { Json } from "../../src/value/json.ts";
import { type Path, readPath } from "../../src/value/path.ts";
import { expect } from "vitest";

/** A value in the model: JSON, or bytes of no particular type. */
export type Value = Json | Uint8Array;
export const BYTES_TYPE = "application/octet-stream";

export type ModelWrite = Omit<Write, "value"> & { readonly value: Value };

/** Thrown where the store throws an error with this code. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Returns the value of a variable after a write that extends it. */
function extended(
  { value, path = [], mode = "replace" }: ModelWrite,
  base: { readonly value: Value } | undefined,
): Value {
  if (base?.value instanceof Uint8Array) throw new Refused("bad_value");
  if (value instanceof Uint8Array) {
    if (path.length > 0 || base !== undefined) throw new Refused("bad_value");
    return value;
  }
  const root = { is: structuredClone(base?.value) };
  writeAt(root, [{ key: "is" }, ...path], { value, mode });
  return root.is ?? null;
}

/** Writes into an object or array in place. */
function writeAt(
  parent: unknown,
  [segment, ...rest]: Path,
  { value, mode }: { readonly value: Json; readonly mode: string },
): void {
  if (segment === undefined) return;
  const isArray = Array.isArray(parent);
  if ("key" in segment && (typeof parent !== "object" || parent === null || isArray))
    throw new Refused("bad_value");
  if (!("key" in segment) && !("index" in segment)) throw new Refused("bad_path");
  if ("index" in segment && !isArray) throw new Refused("bad_value");
  const at =
    "key" in segment
      ? segment.key
      : String((segment.index < 0 && isArray ? parent.length : 0) + segment.index);
  const holder = parent as Record<string, unknown>;
  const before = Object.hasOwn(holder, at) ? holder[at] : undefined;
  if (isArray && before === undefined) throw new Refused("bad_value");
  if (rest.length > 0) {
    const [next] = rest;
    const inner = before === undefined && next && "key" in next ? {} : before;
    writeAt(inner, rest, { value, mode });
    define(holder, at, inner);
  } else define(holder, at, combined(mode, before as Json | undefined, structuredClone(value)));
}

function define(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

function combined(mode: string, before: Json | undefined, value: Json): Json {
  if (before === undefined || mode === "replace") return value;
  if (mode === "append" && Array.isArray(before)) return before.concat(value) as Json;
  if (mode === "append" && typeof before === "string" && typeof value === "string")
    return before + value;
  if (mode === "merge" && isPlain(before) && isPlain(value)) return merged(before, value);
  throw new Refused("bad_value");
}

function merged(before: object, value: object): Json {
  const result = { ...before };
  for (const [key, inner] of Object.entries(value)) {
    const own = Object.getOwnPropertyDescriptor(before, key)?.value as Json | undefined;
    define(
      result,
      key,
      isPlain(own) && isPlain(inner as Json) ? merged(own, inner as object) : inner,
    );
  }
  return result as Json;
}

function isPlain(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the bytes of a value, computed in the plainest way, and once for each object or long text. */
export const storedBytes = once((value: Value): Buffer =>
  value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(textOf(value)),
);

/** Does the work once for each object and each long text. */
function once<Result>(work: (value: Value) => Result): (value: Value) => Result {
  const ofObjects = new WeakMap<object, { readonly result: Result }>();
  const ofTexts = new Map<string, { readonly result: Result }>();
  return (value) => {
    if (typeof value === "object" && value !== null) {
      const known = ofObjects.get(value) ?? { result: work(value) };
      ofObjects.set(value, known);
      return known.result;
    }
    if (typeof value !== "string" || value.length < 10_000) return work(value);
    const known = ofTexts.get(value) ?? { result: work(value) };
    ofTexts.set(value, known);
    return known.result;
  };
}

/** Metadata without shape, preview and what it was made of, which have tests of their own. */
export function about(info: VariableInfo | undefined) {
  if (info === undefined) return undefined;
  const { shape, preview, madeOf: _, ...others } = info;
  expect([typeof shape, typeof preview]).toEqual(["string", "string"]);
  if (info.visibility === "secret") expect([shape, preview]).toEqual([info.type, ""]);
  return others;
}

export function infoOf({ bounds }: Model, entry: Entry) {
  const { name, version, value, write, pinned, visibility, sources, trusted, description } = entry;
  const { run, description: _description, ...said } = write;
  const { createdMs, updatedMs, accessedMs, expiresMs } = entry;
  const times = {
    createdAt: iso(createdMs),
    updatedAt: iso(updatedMs),
    accessedAt: iso(accessedMs),
  };
  const due = expiresMs < Infinity && { expiresAt: iso(expiresMs) };
  const told = description !== undefined && { description };
  const labels = {
    visibility,
    sources,
    trusted,
    scope: run === undefined ? "conversation" : "run",
  };
  const location = locationOf(value, bounds.hasBucket);
  const flags = entry.isDerived && { flags: ["derived"] };
  const metadataVersion = entry.changes > 0 && { metadataVersion: entry.changes };
  return {
    ...said,
    name,
    version,
    pinned,
    ...labels,
    ...sizeOf(value),
    ...times,
    ...due,
    ...told,
    ...flags,
    ...metadataVersion,
    location,
  };
}

function locationOf(value: Value, hasBucket: boolean): string {
  const bytes = storedBytes(value).length;
  const limit = value instanceof Uint8Array ? limits.maxRowBytes : limits.maxChunkedBytes;
  if (hasBucket && bytes > limit) return "r2";
  return bytes > limits.maxRowBytes ? "chunks" : "row";
}

export const sizeOf = once((value: Value) => {
  const bytes = storedBytes(value).length;
  if (value instanceof Uint8Array)
    return { type: "bytes", count: bytes, bytes, chars: bytes, mediaType: BYTES_TYPE };
  const isText = typeof value === "string" && value.isWellFormed();
  const mediaType = isText ? "text/plain" : "application/json";
  const chars = isText ? value.length : storedBytes(value).toString().length;
  return { ...typeAndCount(value), bytes, chars, mediaType };
});

function typeAndCount(value: Json) {
  if (value === null) return { type: "null", count: 1 };
  if (Array.isArray(value)) return { type: "array", count: value.length };
  if (typeof value === "object") return { type: "object", count: Object.keys(value).length };
  return { type: typeof value, count: typeof value === "string" ? [...value].length : 1 };
}

/** Compares texts, because the difference of two large values is slow to find and to print. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the value at the path, if there is one. */
export function at(value: Json, path: Path): Json | undefined {
  const reading = readPath(value, path);
  return reading.found ? reading.value : undefined;
}

/** A variable in the naive model: what was written, and when. */
export interface Entry {
  readonly name: string;
  readonly version: number;
  readonly value: Value;
  readonly write: Omit<ModelWrite, "value" | "name" | "path" | "mode" | "ttlMs" | "pinned">;
  readonly inputDigest: string | undefined;
  readonly visibility: Visibility;
  readonly sources: readonly string[];
  readonly trusted: boolean;
  readonly createdMs: number;
  readonly updatedMs: number;
  accessedMs: number;
  expiresMs: number;
  pinned: boolean;
  description: string | undefined;
  /** Changes of the metadata since the value was written. */
  changes: number;
  readonly isDerived: boolean;
}

interface Bounds {
  readonly idleMs: number;
  readonly quotaBytes: number;
  readonly hasBucket: boolean;
}

/** Keeps variables in plain arrays, oldest first. Slow and simple. */
export class Model {
  nowMs = START_MS;
  entries: Entry[] = [];
  graves: Tombstone[] = [];
  held: { readonly owner: string; readonly name: string }[] = [];
  /** Every name ever used, so that no number is used twice. */
  readonly everUsed: string[] = [];
  readonly bounds: Bounds;

  constructor(bounds: Bounds) {
    this.bounds = bounds;
  }

  dueMs({ name, pinned, expiresMs, accessedMs }: Entry): number {
    if (pinned || this.held.some((hold) => hold.name === name)) return Infinity;
    return Math.min(expiresMs, accessedMs + this.bounds.idleMs);
  }

  isDue(entry: Entry): boolean {
    return this.dueMs(entry) <= this.nowMs;
  }

  get alive(): readonly Entry[] {
    return this.entries.filter((entry) => !this.isDue(entry));
  }

  find(name: string): Entry | undefined {
    return this.alive.find((entry) => entry.name === name);
  }

  /** Returns the variable, and counts that as a use. */
  use(name: string): Entry | undefined {
    const entry = this.find(name);
    if (entry !== undefined) entry.accessedMs = this.nowMs;
    return entry;
  }

  tombstone(name: string): Tombstone | undefined {
    const waiting = this.entries.find((entry) => entry.name === name);
    if (waiting === undefined) return this.graves.find((grave) => grave.name === name);
    return this.isDue(waiting) ? this.#graveOf(waiting) : undefined;
  }

  get nextDueMs(): number | undefined {
    const next = Math.min(...this.entries.map((entry) => this.dueMs(entry)));
    return next === Infinity ? undefined : next;
  }

  get bytes(): number {
    return sum(this.entries);
  }

  /** Saves all of the write or nothing. Throws `Refused`. */
  save(write: ModelWrite): Entry {
    const { name: given, path = [], mode = "replace" } = write;
    if (typeof given === "string" && !/^[A-Za-z_]\w{0,63}$/.test(given))
      throw new Refused("bad_name");
    if (path.length > 0 && (typeof given !== "string" || mode === "new"))
      throw new Refused("bad_value");
    const isExtension = path.length > 0 || mode === "append" || mode === "merge";
    const base = isExtension && typeof given === "string" ? this.use(given) : undefined;
    const value = isExtension ? extended(write, base) : write.value;
    const name = this.#nameFor(write);
    // A variable that is due but not yet evicted continues as the same variable.
    const previous = this.entries.find((entry) => entry.name === name);
    const entry = this.#entryOf({ ...write, value, name }, { previous, base });
    const isAutomatic = typeof given === "object";
    this.#makeRoom(entry);
    this.forget([name]);
    const saved = { ...entry, inputDigest: isAutomatic ? given.inputDigest : undefined };
    this.entries.push(saved);
    this.everUsed.push(name);
    return saved;
  }

  #entryOf(
    write: ModelWrite & { readonly name: string },
    { previous, base }: { readonly previous: Entry | undefined; readonly base: Entry | undefined },
  ): Entry {
    const { value, name, path: _path, mode: _mode, ttlMs, pinned, run: asked, ...said } = write;
    const sources = said.sources ?? [said.tool === undefined ? "caller" : `tool:${said.tool}`];
    const wished = said.visibility ?? "model";
    const run = base === undefined ? asked : base.write.run;
    const visibility = base
      ? strictest(base.visibility, wished)
      : (said.visibility ?? previous?.visibility ?? "model");
    return {
      name,
      value,
      write: run === undefined ? said : { ...said, run },
      version: 1 + (previous ?? this.tombstone(name) ?? { version: 0 }).version,
      inputDigest: undefined,
      visibility,
      changes: 0,
      isDerived:
        base !== undefined &&
        (base.isDerived || (said.toolCallId !== undefined && visibility !== "model")),
      sources: [...new Set([...(base?.sources ?? []), ...sources])],
      trusted: (base?.trusted ?? true) && (said.trusted ?? true),
      createdMs: previous?.createdMs ?? this.nowMs,
      updatedMs: this.nowMs,
      accessedMs: this.nowMs,
      expiresMs: ttlMs === undefined ? (base?.expiresMs ?? Infinity) : this.nowMs + ttlMs,
      pinned: pinned ?? base?.pinned ?? false,
      description: said.description ?? base?.description,
    };
  }

  /** Evicts what is due first, then what was not used for longest, except what is pinned or held. */
  #makeRoom(entry: Entry): void {
    const others = this.entries.filter(({ name }) => name !== entry.name);
    const isHeld = (name: string) => this.held.some((hold) => hold.name === name);
    const byUse = [...others].sort((one, other) => one.accessedMs - other.accessedMs);
    const free = byUse.filter(({ name, pinned }) => !pinned && !isHeld(name));
    const due = free.filter((other) => this.isDue(other));
    const order = [...due, ...free.filter((other) => !due.includes(other))];
    const gone: Entry[] = [];
    const left = () => sum([...others.filter((other) => !gone.includes(other)), entry]);
    while (left() > this.bounds.quotaBytes) {
      const next = order.shift();
      if (next === undefined || sum([entry]) > this.bounds.quotaBytes)
        throw new Refused("limit_exceeded");
      gone.push(next);
    }
    for (const other of gone) this.#evict([other], due.includes(other) ? undefined : "quota");
  }

  #nameFor({ name, tool, mode, run }: ModelWrite): string {
    const numbers = (base: string) =>
      this.everUsed.flatMap((used) => {
        const [, ofBase, digits] = /^(.+)_(\d{1,9})$/.exec(used) ?? [];
        return ofBase === base ? Number(digits) : [];
      });
    if (typeof name === "string") {
      if (mode !== "new") return name;
      const next = `${name}_${String(Math.max(-1, ...numbers(name)) + 1).padStart(3, "0")}`;
      if (next.length > limits.maxNameChars) throw new Refused("bad_name");
      return next;
    }
    const { numbered = true, inputDigest } = name ?? {};
    const base = name?.base === "ref" ? "var_ref" : (name?.base ?? "variable");
    const ofBase = new RegExp(`^${base}(_\\d+)?$`);
    const ending = run === undefined ? "" : `_${run}`;
    const living = this.entries.map((entry) => ({ ...entry, tool: entry.write.tool }));
    // An evicted call keeps its name. A run compares its own calls by the name without the run's suffix.
    const calls = [...living, ...this.graves]
      .map((call) => {
        const isOwn = call.name.endsWith(ending);
        const name = isOwn ? call.name.slice(0, call.name.length - ending.length) : call.name;
        return { ...call, name, isOwn };
      })
      .filter((call) => ofBase.test(call.name));
    const same = calls.find(
      (call) => call.isOwn && call.tool === tool && call.inputDigest === inputDigest,
    );
    if (same !== undefined && tool !== undefined && name !== undefined) return same.name + ending;
    if (!numbered && calls.every((call) => call.name !== base)) return base + ending;
    const taken = calls.map((call) => Number(/_(\d{1,9})$/.exec(call.name)?.[1] ?? 0));
    const highest = Math.max(numbered ? 0 : 1, ...numbers(base), ...taken);
    return `${base}_${highest + 1}${ending}`;
  }

  update(name: string, { ttlMs, pinned, description }: Changes): Entry | undefined {
    const entry = this.find(name);
    if (entry === undefined) return undefined;
    if (ttlMs !== undefined) entry.expiresMs = ttlMs === null ? Infinity : this.nowMs + ttlMs;
    if (pinned !== undefined) entry.pinned = pinned;
    if (description !== undefined) entry.description = description;
    entry.changes++;
    return entry;
  }

  delete(name: string): boolean {
    const existed = this.find(name) !== undefined;
    this.forget([name]);
    return existed;
  }

  reset(keepLast: number): readonly string[] {
    const loose = this.alive.filter(({ pinned, write }) => !pinned && write.run === undefined);
    const unpinned = loose.map(({ name }) => name);
    const gone = unpinned.slice(0, Math.max(unpinned.length - keepLast, 0));
    this.forget(gone);
    return gone;
  }

  evictDue(limit: number): readonly Tombstone[] {
    return this.#evict(this.entries.filter((entry) => this.isDue(entry)).slice(0, limit));
  }

  endRun(run: string): readonly Tombstone[] {
    return this.#evict(
      this.entries.filter(({ write }) => write.run === run),
      "run_ended",
    );
  }

  get runs(): readonly string[] {
    return [...new Set(this.entries.flatMap(({ write }) => write.run ?? []))];
  }

  forget(gone: readonly string[]): void {
    this.entries = this.entries.filter(({ name }) => !gone.includes(name));
    this.graves = this.graves.filter(({ name }) => !gone.includes(name));
  }

  #evict(gone: readonly Entry[], reason?: EvictionReason): readonly Tombstone[] {
    const graves = gone.map((entry) => this.#graveOf(entry, reason));
    this.forget(gone.map(({ name }) => name));
    this.graves.push(...graves);
    return graves;
  }

  /** Without a reason, the variable is due. */
  #graveOf(entry: Entry, reason?: EvictionReason): Tombstone {
    const { name, version, write, inputDigest, expiresMs, accessedMs } = entry;
    const isIdle = accessedMs + this.bounds.idleMs < expiresMs;
    return {
      name,
      version,
      ...(write.tool !== undefined && { tool: write.tool }),
      ...(write.input !== undefined && { input: write.input }),
      ...(inputDigest !== undefined && { inputDigest }),
      evictedAt: iso(reason === undefined ? this.dueMs(entry) : this.nowMs),
      reason: reason ?? (isIdle ? "idle" : "expired"),
    };
  }
}

function strictest(one: Visibility, other: Visibility): Visibility {
  if (one === "secret" || other === "secret") return "secret";
  return one === "sealed" || other === "sealed" ? "sealed" : "model";
}

function sum(entries: readonly Pick<Entry, "value">[]): number {
  return entries.reduce((bytes, { value }) => bytes + storedBytes(value).length, 0);
}
