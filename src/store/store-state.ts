import * as limits from "../limits.ts";
import type { Bodies } from "./bytes/bodies.ts";
import { Catalog } from "./rows/catalog.ts";
import type { Entry, Rows } from "./rows/rows.ts";
import { dueMsOf, type Holds } from "./eviction.ts";
import { splitNumber } from "./names.ts";
import { tombstoneOf, toIso } from "./metadata.ts";
import { UsedNumbers } from "./choose-name.ts";
import { ValueCache } from "./value-cache.ts";
import type { OpenValue, Change, EvictionReason, Tombstone, VariableInfo } from "./variable.ts";

export interface StateOptions {
  readonly rows: Rows;
  readonly bodies: Bodies;
  readonly holds: Holds;
  readonly now: () => number;
  readonly idleMs: number;
  readonly onChange: (change: Change) => void;
}

/**
 * What a store knows in memory, read when it is first needed and given up when a transaction is rolled
 * back: the catalog, the tombstones, the numbers that names have used, the newest values.
 */
export class StoreState {
  readonly rows: Rows;
  readonly bodies: Bodies;
  readonly cache = new ValueCache(limits.maxJsonBytes);
  readonly now: () => number;
  readonly #options: StateOptions;
  /** Entries that were read since they were written: no rollback undoes that. */
  readonly #read = new Map<string, Entry>();
  /** Names by seq of writes that were found to be due: a clock that is set back brings none of them back. */
  readonly #due = new Map<number, string>();
  /** When the last of them was found. */
  #foundDueMs = 0;
  /** Of all writes, also of those that were rolled back. */
  #newestSeq = 0;
  #catalog: Catalog | undefined;
  /** What was listed last, by name: each call of a model asks for the same list. */
  #listed = new Map<string, { readonly seq: number; readonly info: VariableInfo }>();
  #tombstones: Map<string, Tombstone> | undefined;
  #numbers: UsedNumbers | undefined;
  /** Of the transaction that runs. */
  #changes: Change[] | undefined;

  constructor(options: StateOptions) {
    this.#options = options;
    this.rows = options.rows;
    this.bodies = options.bodies;
    this.now = options.now;
  }

  get catalog(): Catalog {
    this.#catalog ??= new Catalog({
      rows: this.rows,
      idleMs: this.#options.idleMs,
      read: this.#read,
      newestSeq: this.#newestSeq,
    });
    return this.#catalog;
  }

  /** Oldest first. */
  get tombstones(): Map<string, Tombstone> {
    this.#tombstones ??= new Map(
      this.rows.tombstones().map((tombstone) => [tombstone.name, tombstone]),
    );
    return this.#tombstones;
  }

  get numbers(): UsedNumbers {
    this.#numbers ??= new UsedNumbers(this.rows.numbers(), (base) =>
      this.catalog.highestNumber(base),
    );
    return this.#numbers;
  }

  /** The variable, unless its time is over. */
  alive(name: string): Entry | undefined {
    const entry = this.catalog.get(name);
    return entry === undefined || this.isOver(entry, this.now()) ? undefined : entry;
  }

  /** The entry as it is when it has been read now. */
  access(entry: Entry): Entry {
    const accessed = { ...entry, accessedAtMs: this.now() };
    this.catalog.change(entry.name, accessed);
    this.#read.set(entry.name, accessed);
    return accessed;
  }

  isDue(entry: Entry, nowMs: number): boolean {
    const dueMs = this.dueMs(entry);
    return dueMs <= nowMs || (dueMs < Infinity && this.#due.has(entry.seq));
  }

  /** The same for whoever is told so: it stays so, whatever the clock says. */
  isOver(entry: Entry, nowMs: number): boolean {
    const isDue = this.isDue(entry, nowMs);
    if (isDue) {
      this.#due.set(entry.seq, entry.name);
      this.#foundDueMs = Math.max(this.#foundDueMs, nowMs);
    }
    return isDue;
  }

  /** All whose time is over, oldest first. Nobody is told. */
  due(nowMs: number): readonly Entry[] {
    const found = nowMs < this.#foundDueMs ? this.catalog.named(this.#due.values()) : [];
    return [...new Set([...this.catalog.dueBy(nowMs), ...found])]
      .filter((entry) => this.isDue(entry, nowMs))
      .sort((one, other) => one.seq - other.seq);
  }

  /** At least the last `count` of those whose time is not over, oldest first; fewer if these are all. */
  newest(count: number): readonly Entry[] {
    for (let asked = count; ; asked *= 2) {
      const entries = this.catalog.newest(asked);
      const living = this.living(entries);
      if (living.length >= count || entries.length < asked) return living;
    }
  }

  /** The first `count` of them with a greater seq; fewer if these are all. */
  following(seq: number, count: number): readonly Entry[] {
    const nowMs = this.now();
    const living: Entry[] = [];
    for (let after = seq; ;) {
      const entries = this.catalog.following(after, count);
      for (const entry of entries) {
        if (!this.isOver(entry, nowMs)) living.push(entry);
        if (living.length === count) return living;
        after = entry.seq;
      }
      if (entries.length < count) return living;
    }
  }

  /** Without those whose time is over. */
  count(): number {
    const nowMs = this.now();
    const over = this.due(nowMs).filter((entry) => this.isOver(entry, nowMs));
    return this.catalog.size - over.length;
  }

  living(entries: readonly Entry[]): readonly Entry[] {
    const nowMs = this.now();
    return entries.filter((entry) => !this.isOver(entry, nowMs));
  }

  /** The entries that were read since they were written. */
  read(): readonly Entry[] {
    const entries = this.catalog.named(this.#read.keys());
    const current = entries.filter(({ name, seq }) => this.#read.get(name)?.seq === seq);
    this.#read.clear();
    for (const entry of current) this.#read.set(entry.name, entry);
    return current;
  }

  /** Infinity for what is pinned or held. */
  dueMs(entry: Entry): number {
    const dueMs = dueMsOf(entry, this.#options.idleMs);
    return dueMs < Infinity && this.#options.holds.has(entry.name) ? Infinity : dueMs;
  }

  mayGo(entry: Entry): boolean {
    return !entry.pinned && !this.#options.holds.has(entry.name);
  }

  /** Metadata as it is now, without inputs that are long: many of them would not fit into one answer. */
  listed(names: readonly string[]): readonly VariableInfo[] {
    const known = names.flatMap((name) => this.#listedBefore(name) ?? []);
    const missing = names.filter((name) => this.#listedBefore(name) === undefined);
    const infos = missing.length === 0 ? known : [...known, ...this.rows.listed(missing)];
    if (names.length <= limits.maxListedVariables) {
      this.#listed = new Map(infos.map((info) => [info.name, { seq: this.#seqOf(info), info }]));
    }
    return infos
      .map((info) => this.#withAccess(info))
      .sort((one, other) => this.#seqOf(one) - this.#seqOf(other));
  }

  #listedBefore(name: string): VariableInfo | undefined {
    const listed = this.#listed.get(name);
    return listed?.seq === this.catalog.get(name)?.seq ? listed?.info : undefined;
  }

  /** In a transaction: what is not its value. */
  change(info: VariableInfo): void {
    const { name, pinned, expiresAt } = info;
    this.rows.change(info);
    this.#listed.delete(name);
    const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
    this.catalog.change(name, { pinned, expiresAtMs });
    this.tell({ kind: "updated", info });
  }

  info(name: string): VariableInfo | undefined {
    const info = this.rows.info(name);
    return info === undefined ? undefined : this.#withAccess(info);
  }

  /** The same without an input that is long: many of them may go at once. */
  shortInfo(name: string): VariableInfo | undefined {
    const [info] = this.rows.listed([name]);
    return info === undefined ? undefined : this.#withAccess(info);
  }

  /** The stored bytes of what is there now, and what is said of them. Close it. */
  open(entry: Entry): OpenValue | undefined {
    const info = this.info(entry.name);
    const stored = this.rows.stored(entry.name);
    if (info === undefined || stored === undefined) return undefined;
    return {
      info,
      read: (from, to) => this.bodies.read(stored.body, from, to),
      close: this.bodies.hold(stored.body),
    };
  }

  /** Undoes in memory what is rolled back in the rows. */
  atomically<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    if (this.#changes !== undefined) return work();
    const changes: Change[] = [];
    this.#changes = changes;
    try {
      return this.rows.transaction(() => {
        const result = work();
        // Last, so that nobody is told of what is rolled back after all.
        for (const change of changes) this.#options.onChange(change);
        return result;
      });
    } catch (error) {
      this.forget();
      throw error;
    } finally {
      this.#changes = undefined;
    }
  }

  /** What is in memory is read again when it is next needed. */
  forget(): void {
    this.cache.clear();
    this.#listed.clear();
    this.#newestSeq = this.#catalog?.newestSeq ?? this.#newestSeq;
    this.#catalog = undefined;
    this.#tombstones = undefined;
    this.#numbers = undefined;
    this.rows.forget();
  }

  /** In a transaction: removes variables and leaves tombstones. */
  evict(entries: readonly Entry[], reasonOf: (entry: Entry) => EvictionReason): Tombstone[] {
    const evicted: Tombstone[] = [];
    for (const entry of entries) {
      const info = this.shortInfo(entry.name);
      if (info === undefined) continue;
      const tombstone = this.#tombstoneOf(entry, info, reasonOf(entry));
      this.remove(entry.name);
      this.#bury(tombstone);
      evicted.push(tombstone);
      this.tell({ kind: "evicted", info, tombstone });
    }
    if (evicted.some(({ name }) => splitNumber(name) !== undefined)) this.saveNumbers();
    return evicted;
  }

  /** In a transaction: removes the row and what it names; its number stays used. */
  remove(name: string): void {
    const stored = this.rows.stored(name);
    if (stored !== undefined) this.bodies.release(stored.body);
    this.catalog.delete(name);
    this.rows.remove(name);
    this.cache.delete(name);
    this.numbers.note(name);
  }

  saveNumbers(): void {
    this.rows.saveNumbers(this.numbers.toJSON());
  }

  /** In a transaction. */
  unbury(name: string): void {
    if (this.tombstones.delete(name)) this.rows.removeTombstone(name);
  }

  /** Of a variable whose time is over, but that has not been evicted yet. */
  tombstoneOf(entry: Entry): Tombstone | undefined {
    const info = this.info(entry.name);
    return info === undefined ? undefined : this.#tombstoneOf(entry, info, this.dueReason(entry));
  }

  dueReason({ expiresAtMs, accessedAtMs }: Entry): EvictionReason {
    const isIdleFirst = (expiresAtMs ?? Infinity) > accessedAtMs + this.#options.idleMs;
    return isIdleFirst ? "idle" : "expired";
  }

  #tombstoneOf(entry: Entry, info: VariableInfo, reason: EvictionReason): Tombstone {
    const isDue = reason === "expired" || reason === "idle";
    const atMs = isDue ? this.dueMs(entry) : this.now();
    return tombstoneOf(info, { inputDigest: entry.inputDigest, reason, atMs });
  }

  tell(change: Change): void {
    this.#changes?.push(change);
  }

  #bury(tombstone: Tombstone): void {
    this.unbury(tombstone.name);
    this.tombstones.set(tombstone.name, tombstone);
    this.rows.addTombstone(tombstone);
    for (const oldest of this.tombstones.keys()) {
      if (this.tombstones.size <= limits.maxTombstones) break;
      this.unbury(oldest);
    }
  }

  #withAccess(info: VariableInfo): VariableInfo {
    const entry = this.catalog.get(info.name);
    return entry === undefined ? info : { ...info, accessedAt: toIso(entry.accessedAtMs) };
  }

  #seqOf({ name }: VariableInfo): number {
    return this.catalog.get(name)?.seq ?? 0;
  }
}
