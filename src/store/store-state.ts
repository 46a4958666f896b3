import * as limits from "../limits.ts";
import { Bodies, type Bucket } from "./bytes/bodies.ts";
import { StoredValue } from "./bytes/read-part.ts";
import type { RecordsFormat } from "./bytes/receive.ts";
import { EarlierVersions } from "./earlier-versions.ts";
import type { Entry, Rows } from "./rows/rows.ts";
import { splitNumber } from "./names.ts";
import { tombstoneOf } from "./metadata.ts";
import { VariableIndex } from "./variable-index.ts";
import type { ComputedVariable } from "./variable-store.ts";
import type { OpenValue, Change, EvictionReason, Tombstone, VariableInfo } from "./variable.ts";
import { compact, type Json } from "../value/json.ts";
import { type Path, type Reading, readPath } from "../value/path.ts";
import { Recent } from "../value/recent.ts";
import { Work } from "../value/work.ts";

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
 * What the parts of a store share: its rows, and what is in memory of them, which is discarded when a transaction is
 * rolled back.
 */
export class StoreState {
  readonly rows: Rows;
  readonly index: VariableIndex;
  readonly versions: EarlierVersions;
  readonly bodies: Bodies;
  readonly csv: RecordsFormat | undefined;
  /** Parsed, frozen values, by name; bounded by their stored bytes. */
  readonly cache = new Recent<Json>(limits.maxJsonBytes);
  readonly now: () => number;
  readonly idleMs: number;
  readonly quotaBytes: number;
  readonly holds = new Holds();
  readonly observers = new Set<(change: Change) => void>();
  readonly #computed: StoreOptions["computed"];
  /** Changes of the current transaction. */
  #changes: Change[] | undefined;

  constructor(rows: Rows, options: StoreOptions) {
    const newId = options.newId ?? (() => crypto.randomUUID());
    this.rows = rows;
    this.index = new VariableIndex(rows);
    this.bodies = new Bodies(rows, options.bucket, newId);
    this.csv = options.csv;
    this.versions = new EarlierVersions(rows, this, options.keepVersions ?? limits.keptVersions);
    this.now = options.now ?? Date.now;
    this.idleMs = options.idleMs ?? limits.variableIdleMs;
    this.quotaBytes = options.quotaBytes ?? limits.maxConversationBytes;
    this.#computed = options.computed;
  }

  /** The size of all values together, with their earlier versions. */
  get bytes(): number {
    return this.index.bytes + this.versions.bytes;
  }

  /** Returns the computed variable, if there is one. With a name, only if that is its name. */
  computed(name?: string): ComputedVariable | undefined {
    const computed = this.#computed?.();
    return name === undefined || computed?.info.name === name ? computed : undefined;
  }

  /** Returns the variable, unless it has expired. */
  alive(name: string): Entry | undefined {
    const entry = this.index.get(name);
    return entry === undefined || this.isDue(entry) ? undefined : entry;
  }

  isDue(entry: Entry, nowMs = this.now()): boolean {
    return this.dueMs(entry) <= nowMs;
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

  /** Opens the current value: its metadata and stored bytes. Close it. */
  open({ name }: Entry): OpenValue | undefined {
    const info = this.index.info(name);
    const stored = this.rows.stored(name);
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
    if (value.hasPart(path)) return value.readPath(path, name);
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
    this.index.forget();
    this.versions.forget();
    this.rows.forget();
  }

  /**
   * Removes variables; each that `reasonOf` returns a reason for leaves a tombstone, which is returned. Numbers of names
   * stay used. Call it in a transaction.
   */
  remove(entries: readonly Entry[], reasonOf?: (entry: Entry) => EvictionReason): Tombstone[] {
    const evicted: Tombstone[] = [];
    // Long inputs are left out, because many variables may be removed at once.
    const infos = new Map(this.index.listed(entries).map((info) => [info.name, info]));
    for (const entry of entries) {
      const { name } = entry;
      const info = infos.get(name);
      const stored = this.rows.stored(name);
      if (info === undefined || stored === undefined) continue;
      const tombstone = reasonOf && this.tombstoneOf(entry, info, reasonOf(entry));
      this.bodies.release(stored.body);
      this.versions.drop(this.versions.of(name));
      this.index.remove(name);
      this.cache.delete(name);
      if (tombstone === undefined) {
        this.queueChange({ kind: "deleted", info });
        continue;
      }
      this.index.addTombstone(tombstone);
      evicted.push(tombstone);
      this.queueChange({ kind: "evicted", info, tombstone });
    }
    if (entries.some(({ name }) => splitNumber(name) !== undefined)) this.index.saveNumbers();
    return evicted;
  }

  dueReason({ expiresAtMs, accessedAtMs }: Entry): EvictionReason {
    const isIdleFirst = (expiresAtMs ?? Infinity) > accessedAtMs + this.idleMs;
    return isIdleFirst ? "idle" : "expired";
  }

  tombstoneOf(entry: Entry, info: VariableInfo, reason: EvictionReason): Tombstone {
    const isDue = reason === "expired" || reason === "idle";
    const atMs = isDue ? this.dueMs(entry) : this.now();
    return tombstoneOf(info, { inputDigest: entry.inputDigest, reason, atMs });
  }

  queueChange(change: Change): void {
    this.#changes?.push(change);
  }

  #notify(change: Change): void {
    const stale = change.kind === "saved" ? this.index.staleBy(change.info.name) : undefined;
    for (const observer of this.observers) observer({ ...change, ...compact({ stale }) });
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
