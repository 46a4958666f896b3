import type { Stored } from "./bytes/content.ts";
import { toIso } from "./metadata.ts";
import { flagged } from "./labels.ts";
import { splitNumber } from "./names.ts";
import type { Entry, Rows } from "./rows/rows.ts";
import type { NewerSource, Tombstone, VariableInfo } from "./variable.ts";
import * as limits from "../limits.ts";
import { compact } from "../value/json.ts";
import { Recent } from "../value/recent.ts";

/** Keeps the seqs of one millisecond below those of the next. A seq has at most 15 digits. */
const SEQS_PER_MS = 100;

/** Variables whose metadata is kept: more than a prompt lists. */
const MAX_LISTED = 50;

/** What an entry has, and metadata has not. */
type OwnFields = Pick<Entry, "run" | "inputDigest">;

/**
 * What is needed to find, name, order and evict the variables of a conversation, in memory: entries, tombstones and
 * used numbers. Each is loaded from the rows when it is first used, and again after a rollback. Changes are written
 * to the rows at once; times of reads are not, until `touch`. Call methods that change something in a transaction.
 */
export class VariableIndex {
  readonly #rows: Rows;
  /** By name, oldest first. */
  #entries: Map<string, Entry> | undefined;
  #bytes = 0;
  #lastAccessMs = 0;
  /** The newest seq of all writes, including rolled back ones. */
  #newestSeq = 0;
  /** The entries before a rollback, which does not undo reads. */
  #forgotten: ReadonlyMap<string, Entry> | undefined;
  #tombstones: Map<string, Tombstone> | undefined;
  /** The highest number used for each base, and those that the rows have: of names that were removed. */
  #numbers: { readonly used: Map<string, number>; readonly saved: Map<string, number> } | undefined;
  /** Metadata that was listed lately, by name. Each model call requests the same list. */
  readonly #listed = new Recent<VariableInfo>(MAX_LISTED);
  /** Values that are made of older versions, until a write. */
  #stale: ReadonlyMap<string, readonly NewerSource[]> | undefined;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  /** By name, oldest first. */
  get entries(): ReadonlyMap<string, Entry> {
    return this.#load();
  }

  /** The size of all values together. */
  get bytes(): number {
    this.#load();
    return this.#bytes;
  }

  /** Time of the last read or write of any variable; undefined without variables. Does not decrease when one is deleted. */
  get lastAccessMs(): number | undefined {
    return this.#load().size === 0 ? undefined : this.#lastAccessMs;
  }

  get(name: string): Entry | undefined {
    return this.#load().get(name);
  }

  /** Returns all entries, oldest first. */
  values(): readonly Entry[] {
    return [...this.#load().values()];
  }

  /** Returns the entries of runs, oldest first. */
  ofRuns(): readonly Entry[] {
    return this.values().filter(({ run }) => run !== undefined);
  }

  /** Inserts a variable, or replaces one and makes it the newest. */
  put(info: VariableInfo, stored: Stored, own: OwnFields): void {
    const accessedAtMs = Date.parse(info.accessedAt);
    const entry = entryOf(info, own, this.#nextSeq(accessedAtMs));
    this.#drop(info.name);
    this.#add(entry);
    this.#rows.put({ entry, info, stored });
    raise(this.#loadNumbers().used, info.name);
  }

  /** Removes a variable. The number in its name stays used. */
  remove(name: string): void {
    this.#drop(name);
    this.#rows.remove(name);
    this.noteNumber(name);
  }

  /** Changes metadata only. */
  change(info: VariableInfo): void {
    const entry = this.get(info.name);
    if (entry === undefined) return;
    const changed = { ...entry, pinned: info.pinned, ...expiryIn(info) };
    this.#load().set(info.name, changed);
    this.#listed.delete(info.name);
    this.#rows.change(info, changed);
  }

  /** Records an access in memory and returns the changed entry. */
  access(entry: Entry, nowMs: number): Entry {
    const after = { ...entry, accessedAtMs: nowMs };
    this.#load().set(entry.name, after);
    this.#lastAccessMs = Math.max(this.#lastAccessMs, nowMs);
    return after;
  }

  /** Writes access times to the rows. */
  touch(entries: readonly Entry[]): void {
    const touched = entries.map((entry) => ({ ...entry, writtenAccessMs: entry.accessedAtMs }));
    for (const entry of touched) this.#load().set(entry.name, entry);
    this.#rows.touch(touched);
  }

  /** Returns the current metadata of a variable. */
  info(name: string): VariableInfo | undefined {
    const entry = this.get(name);
    const info = entry && this.#rows.info(name);
    return entry && info && this.#currently(info, entry);
  }

  /** Returns current metadata without long inputs, because many of them would not fit into one response. */
  listed(entries: readonly Entry[]): readonly VariableInfo[] {
    const infos = new Map<string, VariableInfo>();
    for (const { name } of entries) {
      const info = this.#listed.get(name);
      if (info !== undefined) infos.set(name, info);
    }
    const missing = entries.flatMap(({ name }) => (infos.has(name) ? [] : name));
    const read = missing.length === 0 ? [] : this.#rows.listed(missing);
    for (const info of read) {
      infos.set(info.name, info);
      if (read.length <= limits.maxListedVariables) this.#listed.set(info.name, info);
    }
    return entries.flatMap((entry) => {
      const info = infos.get(entry.name);
      return info === undefined ? [] : this.#currently(info, entry);
    });
  }

  /** The first names of the variables that are made of an older version of this one; undefined if none is. */
  staleBy(name: string): readonly string[] | undefined {
    const entries = this.values();
    // The usual case, at which nothing is computed.
    if (!entries.some(({ madeOf = {} }) => Object.hasOwn(madeOf, name))) return undefined;
    const names = entries.flatMap((entry) =>
      this.#newerThan(entry.name)?.some((source) => source.name === name) ? entry.name : [],
    );
    return names.length === 0 ? undefined : names.slice(0, limits.maxListedVariables);
  }

  /** By name, oldest first. */
  get tombstones(): ReadonlyMap<string, Tombstone> {
    return this.#graves;
  }

  /** Writes a tombstone, and drops the oldest ones above `maxItems`. */
  addTombstone(tombstone: Tombstone): void {
    this.removeTombstone(tombstone.name);
    this.#graves.set(tombstone.name, tombstone);
    this.#rows.tombstones.put({ name: tombstone.name }, tombstone);
    for (const oldest of this.#graves.keys()) {
      if (this.#graves.size <= limits.maxItems) break;
      this.removeTombstone(oldest);
    }
  }

  removeTombstone(name: string): void {
    if (this.#graves.delete(name)) this.#rows.tombstones.remove({ name });
  }

  /** The highest number used for each base. Numbers are not reused, even after a delete. */
  get numbers(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#loadNumbers().used);
  }

  /** The highest used number of the base; -1 if none. */
  highestNumber(base: string): number {
    return this.#loadNumbers().used.get(base) ?? -1;
  }

  /** Counts the number of a name without a variable as used. `saveNumbers` writes it. */
  noteNumber(name: string): void {
    const { used, saved } = this.#loadNumbers();
    raise(used, name);
    raise(saved, name);
    // They are in one row. A conversation of years may use the oldest again.
    for (const base of saved.keys()) {
      if (saved.size <= limits.maxEntries) break;
      saved.delete(base);
    }
  }

  saveNumbers(): void {
    this.#rows.saveNumbers(Object.fromEntries(this.#loadNumbers().saved));
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#forgotten = this.#entries ?? this.#forgotten;
    this.#entries = undefined;
    this.#tombstones = undefined;
    this.#numbers = undefined;
    this.#stale = undefined;
    this.#listed.clear();
  }

  #load(): Map<string, Entry> {
    if (this.#entries !== undefined) return this.#entries;
    // If this throws, the next use loads again.
    const entries = this.#rows.entries();
    this.#entries = new Map();
    this.#bytes = 0;
    this.#lastAccessMs = 0;
    for (const entry of entries) {
      const { seq, accessedAtMs } = this.#forgotten?.get(entry.name) ?? entry;
      const isRead = seq === entry.seq && accessedAtMs > entry.accessedAtMs;
      this.#add(isRead ? { ...entry, accessedAtMs } : entry);
    }
    this.#forgotten = undefined;
    return this.#entries;
  }

  get #graves(): Map<string, Tombstone> {
    this.#tombstones ??= new Map(this.#rows.tombstones.all().map((one) => [one.name, one]));
    return this.#tombstones;
  }

  #loadNumbers() {
    if (this.#numbers !== undefined) return this.#numbers;
    const saved = new Map(Object.entries(this.#rows.numbers()));
    const used = new Map(saved);
    for (const name of this.#load().keys()) raise(used, name);
    return (this.#numbers = { used, saved });
  }

  /** Returns a seq greater than every other. It follows the clock, so that this holds after deletes and restarts too. */
  #nextSeq(nowMs: number): number {
    this.#load();
    this.#newestSeq = Math.max(this.#newestSeq + 1, nowMs * SEQS_PER_MS);
    return this.#newestSeq;
  }

  #add(entry: Entry): void {
    this.#load().set(entry.name, entry);
    this.#stale = undefined;
    this.#bytes += entry.bytes;
    this.#newestSeq = Math.max(this.#newestSeq, entry.seq);
    this.#lastAccessMs = Math.max(this.#lastAccessMs, entry.accessedAtMs);
  }

  #drop(name: string): void {
    this.#listed.delete(name);
    this.#stale = undefined;
    this.#bytes -= this.get(name)?.bytes ?? 0;
    this.#load().delete(name);
  }

  /** Adds what the row does not have: the time of the last access, and what is newer than its sources. */
  #currently(info: VariableInfo, { name, accessedAtMs }: Entry): VariableInfo {
    const { stale: _, ...written } = info;
    const madeOf = this.#newerThan(name);
    const stale = madeOf && { madeOf };
    return { ...written, accessedAt: toIso(accessedAtMs), ...compact({ stale }) };
  }

  /** What is newer than the versions that the variable is made of, directly or not; undefined if nothing is. */
  #newerThan(name: string): readonly NewerSource[] | undefined {
    this.#stale ??= staleIn(this.#load());
    return this.#stale.get(name);
  }
}

/** Returns the entry of a variable that is written now. */
function entryOf(info: VariableInfo, { run, inputDigest }: OwnFields, seq: number): Entry {
  const { name, version, type, bytes, chars, pinned, visibility, flags, tool, madeOf } = info;
  const accessedAtMs = Date.parse(info.accessedAt);
  return {
    seq,
    name,
    version,
    type,
    bytes,
    chars,
    createdAtMs: Date.parse(info.createdAt),
    accessedAtMs,
    writtenAccessMs: accessedAtMs,
    ...expiryIn(info),
    pinned,
    visibility,
    ...flagged(flags),
    run,
    inputDigest,
    tool,
    madeOf,
  };
}

function expiryIn({ expiresAt }: VariableInfo): Pick<Entry, "expiresAtMs"> {
  return { expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt) };
}

/** Notes the number at the end of a name, if it is the highest of its base. */
function raise(numbers: Map<string, number>, name: string): void {
  const { base = "", number = -1 } = splitNumber(name) ?? {};
  if (number > (numbers.get(base) ?? -1)) numbers.set(base, number);
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
