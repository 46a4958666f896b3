import type { Stored } from "./bytes/content.ts";
import { changedEntry, entryOf, type OwnFields } from "./metadata.ts";
import { highestNumberIn } from "./names.ts";
import type { Entry, Rows } from "./rows/rows.ts";
import type { NewerSource, VariableInfo } from "./variable.ts";
import * as limits from "../limits.ts";

/** Keeps the seqs of one millisecond below those of the next. A seq has at most 15 digits. */
const SEQS_PER_MS = 100;

/**
 * What is needed to find, order and evict the variables of a conversation, in memory. It is loaded from the rows when
 * it is first used, and again after a rollback. Changes are written to the rows at once; times of reads are not,
 * until `touch`.
 */
export class VariableIndex {
  readonly #rows: Rows;
  /** By name, oldest first. */
  #loaded: Map<string, Entry> | undefined;
  #bytes = 0;
  #lastAccessMs = 0;
  /** The newest seq of all writes, including rolled back ones. */
  #newestSeq = 0;
  /** The entries before a rollback, which does not undo reads. */
  #forgotten: ReadonlyMap<string, Entry> | undefined;
  /** Values that are made of older versions, until a write. */
  #stale: ReadonlyMap<string, readonly NewerSource[]> | undefined;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** The size of all values together. */
  get bytes(): number {
    this.#load();
    return this.#bytes;
  }

  /** Time of the last read or write of any variable. Does not decrease when that variable is deleted. */
  get lastAccessMs(): number {
    this.#load();
    return this.#lastAccessMs;
  }

  /** Returns a seq greater than every other. It follows the clock, so that this holds after deletes and restarts too. */
  #nextSeq(nowMs: number): number {
    this.#load();
    this.#newestSeq = Math.max(this.#newestSeq + 1, Math.trunc(nowMs) * SEQS_PER_MS);
    return this.#newestSeq;
  }

  get(name: string): Entry | undefined {
    return this.#entries.get(name);
  }

  /** Returns all entries, oldest first. */
  values(): readonly Entry[] {
    return [...this.#entries.values()];
  }

  /** Returns the entries of runs, oldest first. */
  ofRuns(): readonly Entry[] {
    return this.values().filter(({ run }) => run !== undefined);
  }

  /** What is newer than the versions that the variable is made of, directly or not; undefined if nothing is. */
  newerThan(name: string): readonly NewerSource[] | undefined {
    this.#stale ??= staleIn(this.#entries);
    return this.#stale.get(name);
  }

  /** The first names of the variables that are made of an older version of this one; undefined if none is. */
  staleBy(name: string): readonly string[] | undefined {
    let isSource = false;
    for (const { madeOf } of this.#entries.values())
      isSource ||= madeOf !== undefined && Object.hasOwn(madeOf, name);
    // The usual case, at which nothing is computed.
    if (!isSource) return undefined;
    const names = this.values().flatMap((entry) =>
      this.newerThan(entry.name)?.some((source) => source.name === name) ? entry.name : [],
    );
    return names.length === 0 ? undefined : names.slice(0, limits.maxListedVariables);
  }

  couldBegin(prefix: string): boolean {
    for (const name of this.#entries.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  /** Returns the highest number of the names that consist of the base, an underscore and a number; -1 if none. */
  highestNumber(base: string): number {
    return highestNumberIn(this.#entries.keys(), base);
  }

  /** Returns the entries with an access time that the rows do not have. */
  read(): readonly Entry[] {
    return this.values().filter((entry) => entry.accessedAtMs !== entry.writtenAccessMs);
  }

  /** Inserts a variable, or replaces one and makes it the newest. */
  put(info: VariableInfo, stored: Stored, own: OwnFields): void {
    const entry = entryOf(info, this.#nextSeq(own.nowMs), own);
    this.#drop(info.name);
    this.#add(entry);
    this.#rows.put({ entry, info, stored });
  }

  remove(name: string): void {
    this.#drop(name);
    this.#rows.remove(name);
  }

  /** Changes metadata only. */
  change(info: VariableInfo): void {
    const entry = this.get(info.name);
    if (entry === undefined) return;
    this.#entries.set(info.name, changedEntry(entry, info));
    this.#rows.change(info);
  }

  /** Records an access in memory and returns the changed entry. */
  access(entry: Entry, nowMs: number): Entry {
    const after = { ...entry, accessedAtMs: nowMs };
    this.#entries.set(entry.name, after);
    this.#lastAccessMs = Math.max(this.#lastAccessMs, nowMs);
    return after;
  }

  /** Writes access times to the rows. */
  touch(entries: readonly Entry[]): void {
    this.#rows.touch(new Map(entries.map(({ name, accessedAtMs }) => [name, accessedAtMs])));
    for (const entry of entries) {
      this.#entries.set(entry.name, { ...entry, writtenAccessMs: entry.accessedAtMs });
    }
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#forgotten = this.#loaded ?? this.#forgotten;
    this.#loaded = undefined;
    this.#stale = undefined;
  }

  get #entries(): Map<string, Entry> {
    return this.#loaded ?? this.#load();
  }

  #load(): Map<string, Entry> {
    if (this.#loaded !== undefined) return this.#loaded;
    // If this throws, the next use loads again.
    const entries = this.#rows.entries();
    this.#loaded = new Map();
    this.#bytes = 0;
    this.#lastAccessMs = 0;
    for (const entry of entries) {
      const before = this.#forgotten?.get(entry.name);
      const isRead = before?.seq === entry.seq && before.accessedAtMs > entry.accessedAtMs;
      this.#add(isRead ? { ...entry, accessedAtMs: before.accessedAtMs } : entry);
    }
    this.#forgotten = undefined;
    return this.#loaded;
  }

  #add(entry: Entry): void {
    this.#entries.set(entry.name, entry);
    this.#stale = undefined;
    this.#bytes += entry.bytes;
    this.#newestSeq = Math.max(this.#newestSeq, entry.seq);
    this.#lastAccessMs = Math.max(this.#lastAccessMs, entry.accessedAtMs);
  }

  #drop(name: string): void {
    const entry = this.get(name);
    if (entry === undefined) return;
    this.#entries.delete(name);
    this.#stale = undefined;
    this.#bytes -= entry.bytes;
  }
}

/** `entries`: oldest first. What a value is made of is then before it, or newer. Cost: linear in the sources. */
function staleIn(entries: ReadonlyMap<string, Entry>): ReadonlyMap<string, readonly NewerSource[]> {
  const stale = new Map<string, readonly NewerSource[]>();
  for (const { name, seq, madeOf } of entries.values()) {
    if (madeOf === undefined) continue;
    const newer = new Map<string, NewerSource>();
    for (const [source, version] of Object.entries(madeOf)) {
      const { version: now, seq: nowSeq } = entries.get(source) ?? { version, seq: 0 };
      // Versions begin again after a delete.
      const isNewer = now !== version || nowSeq > seq;
      const own = isNewer ? [{ name: source, version, now }] : (stale.get(source) ?? []);
      for (const one of own) newer.set(one.name, newer.get(one.name) ?? one);
    }
    newer.delete(name);
    if (newer.size > 0) stale.set(name, [...newer.values()].slice(0, limits.maxListedVariables));
  }
  return stale;
}
