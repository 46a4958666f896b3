import * as limits from "../limits.ts";
import { Bodies, type Bucket } from "./bytes/bodies.ts";
import { StoredValue } from "./bytes/read-part.ts";
import type { RecordsFormat } from "./bytes/receive.ts";
import { EarlierVersions } from "./earlier-versions.ts";
import type { Entry, Rows } from "./rows/rows.ts";
import { splitNumber } from "./names.ts";
import { tombstoneOf, toIso } from "./metadata.ts";
import { VariableIndex } from "./variable-index.ts";
import type { ComputedVariable } from "./variable-store.ts";
import type { OpenValue, Change, EvictionReason, Tombstone, VariableInfo } from "./variable.ts";
import { compact, type Json } from "../value/json.ts";
import { type Path, type Reading, readPath } from "../value/path.ts";
import { Recent } from "../value/recent.ts";
import { Work } from "../value/work.ts";

/** Variables whose metadata is kept: more than a prompt lists. */
const MAX_LISTED = 50;

export interface StoreOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly newId?: () => string;
  /** Default: none; large values stay in chunk rows. */
  readonly bucket?: Bucket;
  /** Formats that are read as records. Default: they are stored as bytes. */
  readonly csv?: RecordsFormat;
  /** Size of all values together. Default: `maxConversationBytes`. */
  readonly quotaBytes?: number;
  /** Earlier versions that are kept of each variable. Default: 2. */
  readonly keepVersions?: number;
  /** Time after which an unused variable is evicted. Default: `variableIdleMs`. */
  readonly idleMs?: number;
  /** Called when access times are waiting for `flushAccess`. */
  readonly onAccess?: () => void;
  /** Returns the variable that is computed, at once. Its name must be free. Default: there is none. */
  readonly computed?: () => ComputedVariable | undefined;
}

/**
 * The state of a store in memory: the index, the tombstones, the used numbers and the newest values. It
 * is read when it is first needed, and discarded when a transaction is rolled back.
 */
export class StoreState {
  readonly rows: Rows;
  readonly bodies: Bodies;
  readonly csv: RecordsFormat | undefined;
  readonly versions: EarlierVersions;
  /** Parsed, frozen values, by name; bounded by their stored bytes. */
  readonly cache = new Recent<Json>(limits.maxJsonBytes);
  readonly now: () => number;
  readonly idleMs: number;
  readonly quotaBytes: number;
  readonly index: VariableIndex;
  readonly holds = new Holds();
  readonly observers = new Set<(change: Change) => void>();
  readonly #computed: StoreOptions["computed"];
  /** Metadata that was listed lately, by name. Each model call requests the same list. */
  readonly #listed = new Recent<{ readonly seq: number; readonly info: VariableInfo }>(MAX_LISTED);
  #tombstones: Map<string, Tombstone> | undefined;
  #numbers: UsedNumbers | undefined;
  /** Changes of the current transaction. */
  #changes: Change[] | undefined;

  constructor(rows: Rows, options: StoreOptions) {
    const {
      bucket,
      newId = () => crypto.randomUUID(),
      keepVersions = limits.keptVersions,
    } = options;
    this.rows = rows;
    this.bodies = new Bodies(rows, bucket, newId);
    this.csv = options.csv;
    this.versions = new EarlierVersions(rows, this, keepVersions);
    this.now = options.now ?? Date.now;
    this.idleMs = options.idleMs ?? limits.variableIdleMs;
    this.quotaBytes = options.quotaBytes ?? limits.maxConversationBytes;
    this.index = new VariableIndex(rows);
    this.#computed = options.computed;
  }

  /** The size of all values together, with their earlier versions. */
  get bytes(): number {
    return this.index.bytes + this.versions.bytes;
  }

  /** Oldest first. */
  get tombstones(): Map<string, Tombstone> {
    this.#tombstones ??= new Map(
      this.rows.tombstones().map((tombstone) => [tombstone.name, tombstone]),
    );
    return this.#tombstones;
  }

  get numbers(): UsedNumbers {
    this.#numbers ??= new UsedNumbers(this.rows.numbers(), this.index);
    return this.#numbers;
  }

  /** Returns the computed variable, if there is one. With a name, only if that is its name. */
  computed(name?: string): ComputedVariable | undefined {
    const computed = this.#computed?.();
    return name === undefined || computed?.info.name === name ? computed : undefined;
  }

  /** Returns the variable, unless it has expired. */
  alive(name: string): Entry | undefined {
    const entry = this.index.get(name);
    return entry === undefined || this.isDue(entry, this.now()) ? undefined : entry;
  }

  isDue(entry: Entry, nowMs: number): boolean {
    return this.dueMs(entry) <= nowMs;
  }

  /** Returns all expired entries, oldest first. */
  due(nowMs: number): readonly Entry[] {
    return this.index.values().filter((entry) => this.isDue(entry, nowMs));
  }

  /** Returns when the next entry is due; Infinity if none is. */
  nextDueMs(): number {
    return this.index.values().reduce((next, entry) => Math.min(next, this.dueMs(entry)), Infinity);
  }

  /** Returns the newest entries that have not expired, oldest first. Reads no more than it needs. */
  unexpired(count = Infinity): readonly Entry[] {
    const nowMs = this.now();
    const entries = this.index.values();
    const found: Entry[] = [];
    for (let at = entries.length - 1; at >= 0 && found.length < count; at--) {
      const entry = entries[at];
      if (entry !== undefined && !this.isDue(entry, nowMs)) found.push(entry);
    }
    return found.reverse();
  }

  /** Returns when the entry expires: at the end of its ttl, or after `idleMs` without use; Infinity if never. */
  dueMs(entry: Entry): number {
    if (!this.isEvictable(entry)) return Infinity;
    return Math.min(entry.expiresAtMs ?? Infinity, entry.accessedAtMs + this.idleMs);
  }

  /** False if the entry is pinned or held. */
  isEvictable({ name, pinned }: Entry): boolean {
    return !pinned && !this.holds.has(name);
  }

  /** Returns current metadata without long inputs, because many of them would not fit into one response. */
  listed(entries: readonly Entry[]): readonly VariableInfo[] {
    const missing = entries.flatMap(({ name, seq }) =>
      this.#listed.get(name)?.seq === seq ? [] : name,
    );
    const read = missing.length === 0 ? [] : this.rows.listed(missing);
    const infos = new Map(read.map((info) => [info.name, info]));
    const listed = entries.flatMap((entry) => {
      const { name, seq } = entry;
      const info = infos.get(name) ?? this.#listed.get(name)?.info;
      return info === undefined ? [] : { seq, info: this.#currently(info, entry) };
    });
    const isShort = entries.length <= limits.maxListedVariables;
    if (isShort) for (const one of listed) this.#listed.set(one.info.name, one);
    return listed.map(({ info }) => info);
  }

  /** Changes metadata only. Call it in a transaction. */
  change(info: VariableInfo): void {
    this.index.change(info);
    this.#listed.delete(info.name);
    this.queueChange({ kind: "updated", info });
  }

  info(name: string): VariableInfo | undefined {
    const entry = this.index.get(name);
    const info = entry === undefined ? undefined : this.rows.info(name);
    return entry && info && this.#currently(info, entry);
  }

  /** Like `info`, without a long input, because many variables may be evicted at once. */
  shortInfo(name: string): VariableInfo | undefined {
    const entry = this.index.get(name);
    return entry && this.listed([entry])[0];
  }

  /** Adds what the row does not have: the time of the last access, and what is newer than its sources. */
  #currently(info: VariableInfo, { name, accessedAtMs }: Entry): VariableInfo {
    const { stale: _, ...written } = info;
    const madeOf = this.index.newerThan(name);
    const stale = madeOf && { madeOf };
    return { ...written, accessedAt: toIso(accessedAtMs), ...compact({ stale }) };
  }

  /** Opens the current value: its metadata and stored bytes. Close it. */
  open(entry: Entry): OpenValue | undefined {
    const info = this.info(entry.name);
    const stored = this.rows.stored(entry.name);
    if (info === undefined || stored === undefined) return undefined;
    return new StoredValue(stored, this).open(info);
  }

  /** Reads what is at a path of the value. Large arrays and texts are loaded in parts; a whole value is cached. */
  async readPath(entry: Entry, path: Path, work = new Work()): Promise<Reading | undefined> {
    const { name, seq } = entry;
    const cached = this.cache.get(name);
    if (cached !== undefined) return readPath(cached, path, work);
    const stored = this.rows.stored(name);
    if (stored === undefined) return undefined;
    const value = new StoredValue(stored, this, work);
    if (value.hasPart(path)) return value.part(path);
    // The records of a table may be longer than its bytes.
    const size = Math.max(stored.bytes, entry.chars);
    this.cache.makeRoom(size);
    const whole = await value.whole(name);
    // A new version may have been written meanwhile.
    if (this.index.get(name)?.seq === seq) this.cache.set(name, whole, size);
    return readPath(whole, path, work);
  }

  /** Runs `work` in a transaction. Discards the state in memory if the transaction is rolled back. */
  atomically<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result {
    if (this.#changes !== undefined) return work();
    const changes: Change[] = [];
    this.#changes = changes;
    try {
      return this.rows.transaction(() => {
        const result = work();
        // Last, so that observers receive no changes that are rolled back.
        for (const change of changes) this.#notify(change);
        return result;
      });
    } catch (error) {
      this.forget();
      throw error;
    } finally {
      this.#changes = undefined;
    }
  }

  /** Discards the state in memory. It is read again when it is next needed. */
  forget(): void {
    this.cache.clear();
    this.#listed.clear();
    this.index.forget();
    this.#tombstones = undefined;
    this.#numbers = undefined;
    this.rows.forget();
  }

  /** Removes variables and writes their tombstones. Call it in a transaction. */
  evict(entries: readonly Entry[], reasonOf: (entry: Entry) => EvictionReason): Tombstone[] {
    const evicted: Tombstone[] = [];
    for (const entry of entries) {
      const info = this.shortInfo(entry.name);
      if (info === undefined) continue;
      const tombstone = this.#tombstoneOf(entry, info, reasonOf(entry));
      this.remove(entry.name);
      this.addTombstone(tombstone);
      evicted.push(tombstone);
      this.queueChange({ kind: "evicted", info, tombstone });
    }
    if (evicted.some(({ name }) => splitNumber(name) !== undefined)) this.saveNumbers();
    return evicted;
  }

  /** Removes the row and its body; the name's number stays used. Call it in a transaction. */
  remove(name: string): void {
    const stored = this.rows.stored(name);
    if (stored !== undefined) this.bodies.release(stored.body);
    this.versions.dropAll(name);
    this.index.remove(name);
    this.cache.delete(name);
    this.numbers.note(name);
  }

  saveNumbers(): void {
    this.rows.saveNumbers(this.numbers.toJSON());
  }

  /** Removes a tombstone, if there is one. Call it in a transaction. */
  removeTombstone(name: string): void {
    if (this.tombstones.delete(name)) this.rows.removeTombstone(name);
  }

  /** Creates the tombstone of an expired variable that has not been evicted yet. */
  tombstoneOf(entry: Entry): Tombstone | undefined {
    const info = this.info(entry.name);
    return info === undefined ? undefined : this.#tombstoneOf(entry, info, this.dueReason(entry));
  }

  dueReason({ expiresAtMs, accessedAtMs }: Entry): EvictionReason {
    const isIdleFirst = (expiresAtMs ?? Infinity) > accessedAtMs + this.idleMs;
    return isIdleFirst ? "idle" : "expired";
  }

  #tombstoneOf(entry: Entry, info: VariableInfo, reason: EvictionReason): Tombstone {
    const isDue = reason === "expired" || reason === "idle";
    const atMs = isDue ? this.dueMs(entry) : this.now();
    return tombstoneOf(info, { inputDigest: entry.inputDigest, reason, atMs });
  }

  #notify(change: Change): void {
    const stale = change.kind === "saved" ? this.index.staleBy(change.info.name) : undefined;
    for (const observer of this.observers) observer({ ...change, ...compact({ stale }) });
  }

  queueChange(change: Change): void {
    this.#changes?.push(change);
  }

  addTombstone(tombstone: Tombstone): void {
    this.removeTombstone(tombstone.name);
    this.tombstones.set(tombstone.name, tombstone);
    this.rows.addTombstone(tombstone);
    for (const oldest of this.tombstones.keys()) {
      if (this.tombstones.size <= limits.maxItems) break;
      this.removeTombstone(oldest);
    }
  }
}

/** Variables that are in use and must not be evicted, such as those of a running turn or a waiting plan. */
export class Holds {
  readonly #byOwner = new Map<string, Set<string>>();

  hold(owner: string, name: string): void {
    const names = this.#byOwner.get(owner);
    if (names === undefined) this.#byOwner.set(owner, new Set([name]));
    else names.add(name);
  }

  /** Returns the names that the owner holds. */
  names(owner: string): readonly string[] {
    return [...(this.#byOwner.get(owner) ?? [])];
  }

  release(owner: string): void {
    this.#byOwner.delete(owner);
  }

  has(name: string): boolean {
    for (const names of this.#byOwner.values()) if (names.has(name)) return true;
    return false;
  }
}

const NO_NUMBER = -1;

/** The highest number used for each base. Numbers are not reused, even after a delete. */
class UsedNumbers {
  readonly #highest: Map<string, number>;
  readonly #index: VariableIndex;
  readonly #counted = new Set<string>();

  /** Existing names in the index count, noted or not. */
  constructor(highest: Readonly<Record<string, number>>, index: VariableIndex) {
    this.#highest = new Map(Object.entries(highest));
    this.#index = index;
  }

  /** The highest used number of the base; -1 if none. */
  highest(base: string): number {
    if (!this.#counted.has(base)) {
      this.#counted.add(base);
      this.#raise(base, this.#index.highestNumber(base));
    }
    return this.#highest.get(base) ?? NO_NUMBER;
  }

  note(name: string): void {
    const split = splitNumber(name);
    if (split !== undefined) this.#raise(split.base, split.number);
  }

  #raise(base: string, number: number): void {
    if (number > (this.#highest.get(base) ?? NO_NUMBER)) this.#highest.set(base, number);
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries(this.#highest);
  }
}
