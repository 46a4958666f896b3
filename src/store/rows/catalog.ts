import { dueMsOf } from "../eviction.ts";
import type { Call, Entry, Row, Rows, Totals } from "./rows.ts";
import type { VariableInfo } from "../variable.ts";

export interface CatalogOptions {
  readonly rows: Rows;
  readonly idleMs: number;
  /** Entries by name, with access times that their rows may not have yet. */
  readonly accessed: Map<string, Entry>;
  /** Every new seq is greater. */
  readonly newestSeq: number;
}

/** Keeps the seqs of one millisecond below those of the next. A seq has at most 15 digits. */
const SEQS_PER_MS = 100;
/** Sets of held names for which `nextDueMs` is kept. */
const MAX_DUE_TIMES = 4;
const NO_NAMES: ReadonlySet<string> = new Set();

/**
 * All variables of a conversation: its rows, and the access times that are not in the rows yet. The rows are the
 * index. Memory contains only values that each turn needs: the totals, and the time at which the next variable is
 * due. All changes of rows use this class.
 */
export class Catalog {
  readonly #rows: Rows;
  readonly #idleMs: number;
  readonly #accessed: Map<string, Entry>;
  #loadedTotals: Totals | undefined;
  /** Results of `nextDueMs`, by the names that were held. */
  readonly #due = new Map<string, { readonly held: ReadonlySet<string>; readonly ms: number }>();
  readonly #newestSeq: number;

  constructor({ rows, idleMs, accessed, newestSeq }: CatalogOptions) {
    this.#rows = rows;
    this.#idleMs = idleMs;
    this.#accessed = accessed;
    this.#newestSeq = newestSeq;
    for (const { name, seq, accessedAtMs } of accessed.values()) {
      const entry = rows.find.entry(name);
      if (entry?.seq === seq) accessed.set(name, { ...entry, accessedAtMs });
      else accessed.delete(name);
    }
  }

  get size(): number {
    return this.#totals.count;
  }

  /** The size of all values together. */
  get bytes(): number {
    return this.#totals.bytes;
  }

  /** The newest seq of all writes. */
  get newestSeq(): number {
    return this.#loadedTotals?.newestSeq ?? this.#newestSeq;
  }

  /** Time of the last read or write of any variable. Does not decrease when that variable is deleted. */
  get lastAccessMs(): number {
    return this.#totals.lastAccessMs;
  }

  /**
   * Returns a seq greater than every other. It follows the clock, so that this holds after deletes and
   * restarts too.
   */
  nextSeq(nowMs: number): number {
    const totals = this.#totals;
    totals.newestSeq = Math.max(totals.newestSeq + 1, Math.trunc(nowMs) * SEQS_PER_MS);
    return totals.newestSeq;
  }

  get(name: string): Entry | undefined {
    const entry = this.#rows.find.entry(name);
    return entry === undefined ? undefined : this.#current(entry);
  }

  /** Returns the entries that exist, in the order of the names. */
  named(names: Iterable<string>): readonly Entry[] {
    return Array.from(names, (name) => this.get(name)).filter((entry) => entry !== undefined);
  }

  /** Returns all entries, oldest first. */
  values(): readonly Entry[] {
    return this.newest(Infinity);
  }

  /** Returns the newest `count` entries, oldest first. */
  newest(count: number): readonly Entry[] {
    return this.#all(this.#rows.find.newest(count));
  }

  /** Returns the first `count` entries with a greater seq, oldest first. */
  following(after: number, count: number): readonly Entry[] {
    return this.#all(this.#rows.find.following(after, count));
  }

  /** Returns the entries of runs, oldest first. */
  ofRuns(): readonly Entry[] {
    return this.#totals.ofRuns === 0 ? [] : this.#all(this.#rows.find.ofRuns());
  }

  /** Returns all entries that are due at `nowMs`, possibly more than once, and possibly others. */
  dueBy(nowMs: number): readonly Entry[] {
    if (this.nextDueMs(NO_NAMES) > nowMs) return [];
    const due = this.#rows.find.dueBy(nowMs, this.#idleMs);
    return [...this.#all(due), ...this.#accessed.values()];
  }

  /** Returns when the next entry is due, apart from those held; Infinity if none is. */
  nextDueMs(held: ReadonlySet<string>): number {
    const key = [...held].join(" ");
    const known = this.#due.get(key);
    if (known !== undefined) return known.ms;
    const except = new Set([...held, ...this.#accessed.keys()]);
    let next = this.#rows.find.nextDueMs(this.#idleMs, except);
    for (const entry of this.#accessed.values()) {
      if (!held.has(entry.name)) next = Math.min(next, dueMsOf(entry, this.#idleMs));
    }
    if (this.#due.size === MAX_DUE_TIMES) this.#due.clear();
    this.#due.set(key, { held, ms: next });
    return next;
  }

  couldBegin(prefix: string): boolean {
    return this.#rows.find.couldBegin(prefix);
  }

  /** Returns all entries with this prefix that the call created, and possibly its entries with other names. */
  ofCall(prefix: string, call: Call): readonly Entry[] {
    return this.#rows.find.ofCall(prefix, call);
  }

  /** Returns the highest number of the names that consist of the base, an underscore and a number; -1 if none. */
  highestNumber(base: string): number {
    return this.#rows.find.highestNumber(base);
  }

  /** Inserts a variable, or replaces one and makes it the newest. */
  put(row: Row): void {
    this.#count(row.entry.name, row.entry);
    this.#rows.put(row);
  }

  remove(name: string): void {
    this.#count(name, undefined);
    this.#rows.remove(name);
  }

  /** Changes metadata only. */
  change(info: VariableInfo): void {
    const before = this.get(info.name);
    this.#rows.change(info);
    const entry = this.#rows.find.entry(info.name);
    if (before === undefined || entry === undefined) return;
    const after = { ...entry, accessedAtMs: before.accessedAtMs };
    if (this.#accessed.has(info.name)) this.#accessed.set(info.name, after);
    this.#noteDue(before, after);
  }

  /** Records an access in memory and returns the changed entry. */
  access(before: Entry, nowMs: number): Entry {
    const after = { ...before, accessedAtMs: nowMs };
    this.#accessed.set(before.name, after);
    this.#totals.lastAccessMs = Math.max(this.#totals.lastAccessMs, nowMs);
    this.#noteDue(before, after);
    return after;
  }

  /** Returns the entries that were read since they were written. */
  accessed(): readonly Entry[] {
    return [...this.#accessed.values()];
  }

  /** Writes access times to the rows. */
  touch(entries: readonly Entry[]): void {
    this.#rows.touch(new Map(entries.map(({ name, accessedAtMs }) => [name, accessedAtMs])));
    for (const { name } of entries) this.#accessed.delete(name);
  }

  get #totals(): Totals {
    if (this.#loadedTotals === undefined) {
      const totals = this.#rows.find.totals();
      totals.newestSeq = Math.max(totals.newestSeq, this.#newestSeq);
      for (const { accessedAtMs } of this.#accessed.values()) {
        totals.lastAccessMs = Math.max(totals.lastAccessMs, accessedAtMs);
      }
      this.#loadedTotals = totals;
    }
    return this.#loadedTotals;
  }

  /** Counts a change of the row with this name. Call it before the change. */
  #count(name: string, after: Entry | undefined): void {
    const before = this.get(name);
    const totals = this.#totals;
    for (const [entry, by] of [
      [before, -1],
      [after, 1],
    ] as const) {
      if (entry === undefined) continue;
      totals.count += by;
      totals.bytes += by * entry.bytes;
      if (entry.run !== undefined) totals.ofRuns += by;
    }
    if (after !== undefined)
      totals.lastAccessMs = Math.max(totals.lastAccessMs, after.accessedAtMs);
    this.#accessed.delete(name);
    this.#noteDue(before, after);
  }

  #noteDue(before: Entry | undefined, after: Entry | undefined): void {
    const dueMs = (entry: Entry | undefined) =>
      entry === undefined ? Infinity : dueMsOf(entry, this.#idleMs);
    for (const [key, { held, ms }] of this.#due) {
      // The next one is another then.
      if (dueMs(before) <= ms) this.#due.delete(key);
      else if (after !== undefined && !held.has(after.name)) {
        this.#due.set(key, { held, ms: Math.min(ms, dueMs(after)) });
      }
    }
  }

  #all(entries: readonly Entry[]): readonly Entry[] {
    return this.#accessed.size === 0 ? entries : entries.map((entry) => this.#current(entry));
  }

  #current(entry: Entry): Entry {
    return this.#accessed.get(entry.name) ?? entry;
  }
}
