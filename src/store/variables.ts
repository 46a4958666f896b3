import { compact, type Json } from "../value/json.ts";
import { type Path, type Reading, valueIn } from "../value/path.ts";
import { Work } from "../value/work.ts";
import { StoredValue } from "./bytes/read-part.ts";
import { Content, isStored, storedOf } from "./bytes/content.ts";
import type { EarlierVersion } from "./earlier-versions.ts";
import type { Entry, KeptGlance, Rows } from "./rows/rows.ts";
import { readOnly } from "./names.ts";
import { changedInfo } from "./metadata.ts";
import { receive, receiveTable, type ReadingOptions } from "./bytes/receive.ts";
import { type Holds, type StoreOptions, StoreState } from "./store-state.ts";
import { StoreTransfer } from "./store-transfer.ts";
import type {
  Changes,
  ListOptions,
  Page,
  PageOptions,
  PreparedWrite,
  UserVariables,
  Variables,
  Write,
} from "./variable-store.ts";
import type { OpenValue, Change, Glance, Tombstone, VariableInfo } from "./variable.ts";
import { Batch, only, undoWrite } from "./writer.ts";

/**
 * All variables of one conversation, stored in any kind of rows, with operations on the whole set. Subclasses:
 * `MemoryStore`, `SqlStore`.
 */
export class VariableStore implements Variables {
  /** The values of who asks, where an agent may use them (`withUser`). */
  readonly user: AskingUser | undefined;
  /** Variables that must not be evicted. */
  readonly holds: Holds;
  /** Exports all variables, or imports them from another store. */
  readonly transfer: StoreTransfer;
  readonly #state: StoreState;
  readonly #onAccess: () => void;

  constructor(rows: Rows, options: StoreOptions) {
    this.#state = new StoreState(rows, options);
    this.#onAccess = options.onAccess ?? (() => undefined);
    this.holds = this.#state.holds;
    this.transfer = new StoreTransfer(this.#state);
  }

  async save(write: Write): Promise<VariableInfo> {
    return only(await this.saveAll([write]));
  }

  saveAll(writes: readonly Write[]): Promise<readonly VariableInfo[]> {
    return new Batch(writes, this.#state).save(this);
  }

  /** `prepareAll` for one write. */
  async prepare(write: Write): Promise<PreparedWrite> {
    const { commit, discard } = await this.prepareAll([write]);
    return { commit: () => only(commit()), discard };
  }

  async prepareAll(writes: readonly Write[]): Promise<PreparedWrite<readonly VariableInfo[]>> {
    const batch = new Batch(writes, this.#state);
    await batch.prepare();
    return { commit: () => batch.commit(), discard: () => batch.settle() };
  }

  receive(stream: AsyncIterable<Uint8Array>, mediaType: string): Promise<Content> {
    return receive(stream, mediaType, this.#state.bodies);
  }

  /**
   * Receives a CSV as records. Returns undefined, without reading the stream, if the store does not read the
   * media type as records. Rejects with `bad_value`, `limit_exceeded` or `unsupported_media_type`.
   */
  async receiveRecords(
    stream: AsyncIterable<Uint8Array>,
    mediaType: string,
    reading: ReadingOptions = {},
  ): Promise<Content | undefined> {
    const { csv } = this.#state;
    const meter = csv?.begin(mediaType, reading);
    if (meter === undefined) return undefined;
    const content = await receiveTable(stream, meter, this.#state.bodies);
    if (isStored(content.body) || content.body instanceof Uint8Array) return content;
    return new Content({
      ...content,
      value: await new StoredValue(storedOf(content), this.#state).whole(""),
    });
  }

  update(name: string, changes: Changes): VariableInfo | undefined {
    const before = this.info(name);
    if (before === undefined) return undefined;
    if (before.readOnly === true) throw readOnly(name);
    const info = changedInfo(before, changes, this.#state.now());
    this.#state.atomically(() => {
      this.#state.index.change(info);
      this.#state.queueChange({ kind: "updated", info });
    });
    return info;
  }

  async read(name: string): Promise<Json | undefined> {
    return valueIn(await this.readPath(name, []));
  }

  async readPath(name: string, path: Path, work?: Work): Promise<Reading | undefined> {
    const computed = this.#state.computed(name);
    if (computed !== undefined) return computed.readPath(path, work ?? new Work());
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    this.#access(entry);
    return this.#state.readPath(entry, path, work);
  }

  open(name: string): OpenValue | undefined {
    const computed = this.#state.computed(name);
    if (computed !== undefined) return computed.open();
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    this.#access(entry);
    return this.#state.open(entry);
  }

  glance(name: string): Glance | undefined {
    return this.#state.computed(name)?.info ?? this.#state.alive(name);
  }

  info(name: string): VariableInfo | undefined {
    const entry = this.#state.alive(name);
    return entry === undefined ? this.#state.computed(name)?.info : this.#state.index.info(name);
  }

  tombstone(name: string): Tombstone | undefined {
    const { index } = this.#state;
    const entry = index.get(name);
    if (entry === undefined) return index.tombstones.get(name);
    if (this.#state.alive(name) !== undefined) return undefined;
    // It has expired, and was not evicted yet.
    const info = index.info(name);
    return info && this.#state.tombstoneOf(entry, info, this.#state.dueReason(entry));
  }

  list({ last = Infinity, names }: ListOptions = {}): readonly VariableInfo[] {
    const count = wholeCount(last);
    const named = [...new Set(names)].flatMap((name) => this.#state.alive(name) ?? []);
    const entries =
      names === undefined ? this.#state.unexpired(count) : named.toSorted((a, b) => a.seq - b.seq);
    const listed = entries.slice(Math.max(entries.length - count, 0));
    const { info } = this.#state.computed() ?? {};
    const isFirst = info && listed.length < count && names?.includes(info.name) !== false;
    return [...(isFirst ? [info] : []), ...this.#state.index.listed(listed)];
  }

  /** Returns the variables of `list` in pages. */
  page({ after = 0, limit }: PageOptions): Page {
    const { info } = (after === 0 ? this.#state.computed() : undefined) ?? {};
    const first = info === undefined ? [] : [info];
    const count = Math.max(wholeCount(limit) - first.length, 0);
    const entries = this.#state.unexpired().filter(({ seq }) => seq > after);
    const shown = entries.slice(0, count);
    // A page of the computed variable alone ends before the first entry.
    const last = shown.at(-1)?.seq ?? (info && (entries[0]?.seq ?? 1) - 1);
    const next = entries.length > count ? last : undefined;
    return { variables: [...first, ...this.#state.index.listed(shown)], ...compact({ next }) };
  }

  count(): number {
    return this.#state.unexpired().length + (this.#state.computed() === undefined ? 0 : 1);
  }

  /** The size of all values together, with their earlier versions. */
  bytes(): number {
    return this.#state.bytes;
  }

  couldBegin(prefix: string): boolean {
    const { index } = this.#state;
    if (this.#state.computed()?.info.name.startsWith(prefix) === true) return true;
    for (const names of [index.entries.keys(), index.tombstones.keys()])
      for (const name of names) if (name.startsWith(prefix)) return true;
    return false;
  }

  undo(name: string): VariableInfo | undefined {
    if (this.#state.alive(name) === undefined) return undefined;
    return this.#state.atomically(() => undoWrite(name, this.#state));
  }

  /** The earlier versions that are kept of a variable, oldest first. */
  earlierVersions(name: string): readonly KeptGlance[] {
    return this.#state.versions.of(name);
  }

  /** Returns an earlier version that is kept. */
  earlier(name: string, version: number): EarlierVersion | undefined {
    const isAlive = this.#state.alive(name) !== undefined;
    return isAlive ? this.#state.versions.earlier(name, version) : undefined;
  }

  delete(name: string): boolean {
    if (this.#state.computed(name) !== undefined) throw readOnly(name);
    const existed = this.#state.alive(name) !== undefined;
    this.#state.atomically(() => {
      this.#state.index.removeTombstone(name);
      this.#state.remove([this.#state.index.get(name) ?? []].flat());
    });
    return existed;
  }

  /**
   * Deletes all but the newest `keepLast` variables and returns the deleted names. Pinned variables and
   * those of runs are not deleted and do not count.
   */
  reset(keepLast: number): readonly string[] {
    const removable = this.#state
      .unexpired()
      .filter(({ pinned, run }) => !pinned && run === undefined);
    const count = Math.max(removable.length - wholeCount(keepLast), 0);
    const removed = removable.slice(0, count);
    this.#state.atomically(() => this.#state.remove(removed));
    return removed.map(({ name }) => name);
  }

  /** Evicts the variables of a run. */
  endRun(run: string): readonly Tombstone[] {
    const ended = this.#state.index.ofRuns().filter((entry) => entry.run === run);
    if (ended.length === 0) return [];
    return this.#state.atomically(() => this.#state.remove(ended, () => "run_ended"));
  }

  /** The runs that have variables. */
  runs(): readonly string[] {
    return [...new Set(this.#state.index.ofRuns().flatMap(({ run }) => run ?? []))];
  }

  /** The names of a run's variables. */
  ofRun(run: string): readonly string[] {
    return this.#state.index.ofRuns().flatMap((entry) => (entry.run === run ? entry.name : []));
  }

  /** Evicts variables that are due at `nowMs`, at most `limit` per call, and writes tombstones. */
  evictDue(nowMs: number, limit: number): readonly Tombstone[] {
    const state = this.#state;
    const due = state.index.values().filter((entry) => state.isDue(entry, nowMs));
    const chosen = due.slice(0, wholeCount(limit));
    if (chosen.length === 0) return [];
    return state.atomically(() => state.remove(chosen, (entry) => state.dueReason(entry)));
  }

  /** Time at which the next variable is due, in milliseconds since 1970; undefined if none is. */
  nextDueMs(): number | undefined {
    let next = Infinity;
    for (const entry of this.#state.index.entries.values())
      next = Math.min(next, this.#state.dueMs(entry));
    return next === Infinity ? undefined : next;
  }

  /** Time of the last read or write of any value, in milliseconds since 1970. */
  lastAccessMs(): number | undefined {
    return this.#state.index.lastAccessMs;
  }

  /** Discards a received value that will not be saved. */
  discard({ body }: Content): void {
    if (isStored(body)) this.#state.bodies.drop(body);
  }

  /** Writes pending access times to the rows. */
  flushAccess(): void {
    const { index } = this.#state;
    const unwritten = index.values().filter((entry) => this.#isUnwritten(entry));
    if (unwritten.length > 0) this.#state.atomically(() => index.touch(unwritten));
  }

  /** True if there are bytes to sweep. */
  hasGarbage(): boolean {
    return this.#state.bodies.hasGarbage();
  }

  /** Removes stored bytes that belong to no variable, or never did. True if none are left. */
  sweep(): Promise<boolean> {
    return this.#state.bodies.sweep();
  }

  /**
   * Calls the observer for each change, in order, inside the transaction that makes it. An error that the
   * observer throws rolls the transaction back. Returns a function that removes the observer.
   */
  observe(observer: (change: Change) => void): () => void {
    this.#state.observers.add(observer);
    return () => this.#state.observers.delete(observer);
  }

  /** Discards the state in memory. Call it after rolling back a transaction around this store's calls. */
  forget(): void {
    this.#state.forget();
  }

  /** Records an access in memory. The row is updated only when its time is older by a small part of the idle time. */
  #access(entry: Entry): void {
    const accessed = this.#state.index.access(entry, this.#state.now());
    if (this.#isUnwritten(accessed) && !this.#isUnwritten(entry)) this.#onAccess();
  }

  #isUnwritten({ accessedAtMs, writtenAccessMs }: Entry): boolean {
    return accessedAtMs - writtenAccessMs >= this.#state.idleMs / ACCESS_STEPS;
  }
}

interface AskingUser {
  readonly scope: UserVariables;
  readonly isWritable: boolean;
  /** The store without them. */
  readonly conversation: VariableStore;
}

/** How often the access time of a constantly read variable is written within its idle time. */
const ACCESS_STEPS = 24;

/** Converts a caller's count to a whole number, at least 0. */
function wholeCount(count: number): number {
  return Math.max(Math.floor(count), 0);
}
