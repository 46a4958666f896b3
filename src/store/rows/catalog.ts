import { type Call, type Entry, type Lookups, MAX_FOUND, type Sums, type Rows } from "./rows.ts";
import { dueMsOf } from "../eviction.ts";
import { highestNumberIn } from "../names.ts";

export interface CatalogOptions {
  readonly rows: Rows;
  readonly idleMs: number;
  /** Entries as last read. Their rows may not have these access times yet. */
  readonly read: ReadonlyMap<string, Entry>;
  /** Every new seq is greater. */
  readonly newestSeq: number;
}

/** Keeps the seqs of one millisecond below those of the next. A seq has at most 15 digits. */
const SEQS_PER_MS = 100;

/** Minimum entries of one lookup. A conversation with fewer variables is read whole by one statement. */
const MIN_LOOKUP = 50;

/**
 * All variables of a conversation by name and by age. With many variables, entries are read from the rows
 * on request, once, and then kept up to date. Each takes about 200 bytes of memory. Apply a change here
 * before its row is changed.
 */
export class Catalog {
  readonly #options: CatalogOptions;
  readonly #known = new Map<string, Entry>();
  /** Cached result of `#all`. */
  #ordered: readonly Entry[] | undefined;
  /** All entries from this seq on are known; 0 if all entries are. */
  #fromSeq = Infinity;
  /** All entries that are due before this time are known. */
  #untilMs = -Infinity;
  /** Entries requested to establish `#untilMs`. */
  #soonest = MIN_LOOKUP / 2;
  #hasAllRuns = false;
  #sums: Sums | undefined;
  #newestSeq: number;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#newestSeq = options.newestSeq;
    if (options.rows.isNew) this.#fromSeq = 0;
    if (options.rows.lookups === undefined) this.values();
  }

  get size(): number {
    return this.#totals.count;
  }

  /** The size of all values together. */
  get bytes(): number {
    return this.#totals.bytes;
  }

  /** The newest seq of the known entries. */
  get newestSeq(): number {
    return this.#newestSeq;
  }

  /** When any variable was last read or written. Does not decrease when that variable is deleted. */
  get lastAccessMs(): number {
    return this.#totals.lastAccessMs;
  }

  /**
   * Returns a seq greater than every other. It follows the clock, so that this holds after deletes and
   * restarts too.
   */
  nextSeq(nowMs: number): number {
    this.newest(1);
    this.#newestSeq = Math.max(this.#newestSeq + 1, Math.trunc(nowMs) * SEQS_PER_MS);
    return this.#newestSeq;
  }

  get(name: string): Entry | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const entry = this.#lookups?.entry(name);
    if (entry !== undefined) this.#adopt([entry]);
    return this.#known.get(name);
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
    const known = () =>
      this.#all
        .slice(Math.max(this.#known.size - count, 0))
        .filter(({ seq }) => seq >= this.#fromSeq);
    const newest = known();
    if (newest.length >= count || this.#fromSeq === 0) return newest;
    const { rows } = this.#options;
    const limit = Math.max(count, MIN_LOOKUP);
    const found = limit > MAX_FOUND ? undefined : rows.lookups?.newest(limit);
    this.#adopt(found ?? rows.entries());
    this.#fromSeq = found?.length === limit ? (found.at(-1)?.seq ?? 0) : 0;
    return known();
  }

  /** Returns at least `count` entries with a greater seq, oldest first; fewer if these are all. */
  following(after: number, count: number): readonly Entry[] {
    const limit = Math.max(count, MIN_LOOKUP);
    const found = limit > MAX_FOUND ? undefined : this.#lookups?.following(after, limit);
    if (found === undefined) return this.values().filter(({ seq }) => seq > after);
    if (after <= 0 && found.length < limit) this.#fromSeq = 0;
    this.#adopt(found);
    return this.named(found.map(({ name }) => name));
  }

  /** Returns the entries of runs, oldest first. */
  ofRuns(): readonly Entry[] {
    if (this.#totals.ofRuns === 0) return [];
    if (!this.#hasAllRuns) this.#adopt(this.#lookups?.ofRuns() ?? []);
    this.#hasAllRuns = true;
    return this.#all.filter(({ run }) => run !== undefined);
  }

  /** Returns all entries that are due at `nowMs`, and possibly others, oldest first. */
  dueBy(nowMs: number): readonly Entry[] {
    if (this.#totals.dueMs > nowMs) return [];
    while (this.#untilMs <= nowMs) this.#findSoonest();
    return this.#all;
  }

  /** Returns the smallest result of `dueMs`, which must not return a time before the entry is due. */
  nextDueMs(dueMs: (entry: Entry) => number): number {
    for (;;) {
      let next = Infinity;
      for (const entry of this.#known.values()) next = Math.min(next, dueMs(entry));
      if (next <= this.#untilMs) return next;
      this.#findSoonest();
    }
  }

  /** Adds an entry, or replaces one and makes it the newest. */
  put(entry: Entry): void {
    this.delete(entry.name);
    this.#setKnown(entry);
    this.#count(entry, 1);
  }

  /** Changes an entry except its order, run and size. */
  change(name: string, changes: Partial<Omit<Entry, "name" | "seq" | "bytes" | "run">>): void {
    const entry = this.get(name);
    if (entry === undefined) return;
    const changed = { ...entry, ...changes };
    this.#setKnown(changed);
    this.#noteTimes(changed);
  }

  delete(name: string): void {
    const entry = this.get(name);
    if (entry === undefined) return;
    this.#known.delete(name);
    this.#ordered = undefined;
    this.#count(entry, -1);
  }

  couldBegin(prefix: string): boolean {
    const lookups = this.#lookups;
    if (lookups !== undefined) return lookups.couldBegin(prefix);
    for (const name of this.#known.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  /** Returns all entries with this prefix that the call created, and possibly its entries with other names. */
  ofCall(prefix: string, call: Call): readonly Entry[] {
    this.#adopt(this.#lookups?.ofCall(prefix, call) ?? []);
    return this.#all.filter(
      ({ tool, inputDigest }) => tool === call.tool && inputDigest === call.inputDigest,
    );
  }

  /** Returns the highest number of the names that consist of the base, an underscore and a number; -1 if none. */
  highestNumber(base: string): number {
    return this.#lookups?.highestNumber(base) ?? highestNumberIn(this.#known.keys(), base);
  }

  /** Undefined if all entries are known. */
  get #lookups(): Lookups | undefined {
    return this.#fromSeq > 0 ? this.#options.rows.lookups : undefined;
  }

  get #totals(): Sums {
    if (this.#sums !== undefined) return this.#sums;
    // Loads all entries if there are few.
    this.newest(1);
    const none = { count: 0, bytes: 0, ofRuns: 0, lastAccessMs: 0, dueMs: Infinity };
    const { idleMs, read } = this.#options;
    const sums = this.#lookups?.sums(idleMs);
    this.#sums = sums ?? none;
    if (sums === undefined) for (const entry of this.#known.values()) this.#count(entry, 1);
    else for (const entry of read.values()) this.#noteTimes(entry);
    return this.#sums;
  }

  /** The known entries, oldest first. */
  get #all(): readonly Entry[] {
    this.#ordered ??= [...this.#known.values()].sort((one, other) => one.seq - other.seq);
    return this.#ordered;
  }

  /** Adds entries that are not known yet. Known entries are newer than their rows. */
  #adopt(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (this.#known.has(entry.name)) continue;
      const read = this.#options.read.get(entry.name);
      const { accessedAtMs } = read?.seq === entry.seq ? read : entry;
      this.#setKnown({ ...entry, accessedAtMs });
      this.#newestSeq = Math.max(this.#newestSeq, entry.seq);
    }
  }

  #setKnown(entry: Entry): void {
    this.#known.set(entry.name, entry);
    this.#ordered = undefined;
  }

  #findSoonest(): void {
    const { idleMs } = this.#options;
    this.#soonest *= 2;
    const limit = this.#soonest;
    const found = limit > MAX_FOUND ? undefined : this.#lookups?.soonest(idleMs, limit);
    this.#adopt(found ?? this.values());
    const last = found?.length === limit ? found.at(-1) : undefined;
    this.#untilMs = last === undefined ? Infinity : dueMsOf(last, idleMs);
  }

  #count(entry: Entry, by: 1 | -1): void {
    if (this.#sums === undefined) return;
    this.#sums.count += by;
    this.#sums.bytes += by * entry.bytes;
    if (entry.run !== undefined) this.#sums.ofRuns += by;
    this.#noteTimes(entry);
  }

  #noteTimes(entry: Entry): void {
    if (this.#sums === undefined) return;
    this.#sums.dueMs = Math.min(this.#sums.dueMs, dueMsOf(entry, this.#options.idleMs));
    this.#sums.lastAccessMs = Math.max(this.#sums.lastAccessMs, entry.accessedAtMs);
  }
}
