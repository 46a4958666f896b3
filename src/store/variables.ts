import { compact, type Json } from "../value/json.ts";
import * as limits from "../limits.ts";
import { type Path, type Reading, readPath } from "../value/path.ts";
import { Work } from "../value/work.ts";
import { Batch, only } from "./batch.ts";
import { Bodies, type Bucket } from "./bytes/bodies.ts";
import { type Content, isStored } from "./bytes/content.ts";
import type { Entry, Rows, Stored } from "./rows/rows.ts";
import { Holds } from "./eviction.ts";
import { splitNumber } from "./names.ts";
import { changedInfo } from "./metadata.ts";
import { selectsPart, readPart, readWhole, type Source } from "./bytes/read-part.ts";
import {
  receive,
  receiveRecords,
  type ReadingOptions,
  type RecordsFormat,
} from "./bytes/receive.ts";
import { StoreState } from "./store-state.ts";
import { StoreTransfer } from "./store-transfer.ts";
import type {
  Transfer,
  Changes,
  ListOptions,
  Page,
  PageOptions,
  PreparedWrite,
  VariableStore,
  Write,
} from "./variable-store.ts";
import type { OpenValue, Change, Glance, Tombstone, VariableInfo } from "./variable.ts";
import { Writer } from "./writer.ts";

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
  /** Time after which an unused variable is evicted. Default: `variableIdleMs`. */
  readonly idleMs?: number;
  /** Called when access times are waiting for `flushAccess`. */
  readonly onAccess?: () => void;
}

/** The variables of one conversation, stored in any kind of rows. Subclasses: `MemoryStore`, `SqlStore`. */
export class Variables implements VariableStore {
  readonly holds = new Holds();
  readonly transfer: Transfer;
  readonly #state: StoreState;
  readonly #bodies: Bodies;
  readonly #writer: Writer;
  readonly #csv: RecordsFormat | undefined;
  readonly #idleMs: number;
  readonly #onAccess: () => void;
  readonly #observers = new Set<(change: Change) => void>();

  constructor(rows: Rows, options: StoreOptions) {
    const { now = Date.now, newId = () => crypto.randomUUID(), bucket } = options;
    this.#csv = options.csv;
    this.#idleMs = options.idleMs ?? limits.variableIdleMs;
    this.#onAccess = options.onAccess ?? (() => undefined);
    this.#bodies = new Bodies(rows, bucket, newId);
    this.#state = new StoreState({
      rows,
      bodies: this.#bodies,
      holds: this.holds,
      now,
      idleMs: this.#idleMs,
      onChange: (change) => {
        for (const observer of this.#observers) observer(change);
      },
    });
    this.#writer = new Writer(this.#state, options.quotaBytes ?? limits.maxConversationBytes);
    this.transfer = new StoreTransfer(this.#state, this.#writer);
  }

  async save(write: Write): Promise<VariableInfo> {
    return only(await this.saveAll([write]));
  }

  saveAll(writes: readonly Write[]): Promise<readonly VariableInfo[]> {
    return this.#batch(writes).save(this);
  }

  async prepare(write: Write): Promise<PreparedWrite> {
    const { commit, discard } = await this.prepareAll([write]);
    return { commit: () => only(commit()), discard };
  }

  async prepareAll(writes: readonly Write[]): Promise<PreparedWrite<readonly VariableInfo[]>> {
    const batch = this.#batch(writes);
    await batch.prepare();
    return { commit: () => batch.commit(), discard: () => batch.settle() };
  }

  receive(stream: ReadableStream<Uint8Array>, mediaType: string): Promise<Content> {
    return receive(stream, mediaType, this.#bodies);
  }

  async receiveRecords(
    stream: ReadableStream<Uint8Array>,
    mediaType: string,
    reading: ReadingOptions = {},
  ): Promise<Content | undefined> {
    const conversion = this.#csv?.begin(mediaType, reading);
    return conversion && receiveRecords(stream, conversion, this.#bodies);
  }

  update(name: string, changes: Changes): VariableInfo | undefined {
    const before = this.info(name);
    if (before === undefined) return undefined;
    const info = changedInfo(before, changes, this.#state.now());
    this.#state.atomically(() => this.#state.change(info));
    return info;
  }

  async read(name: string): Promise<Json | undefined> {
    return valueIn(await this.readPath(name, []));
  }

  async readPath(name: string, path: Path, work?: Work): Promise<Reading | undefined> {
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    this.#access(entry);
    return this.#readPath(entry, path, work);
  }

  open(name: string): OpenValue | undefined {
    const entry = this.#state.alive(name);
    if (entry === undefined) return undefined;
    this.#access(entry);
    return this.#state.open(entry);
  }

  glance(name: string): Glance | undefined {
    return this.#state.alive(name);
  }

  info(name: string): VariableInfo | undefined {
    return this.#state.alive(name) === undefined ? undefined : this.#state.info(name);
  }

  tombstone(name: string): Tombstone | undefined {
    const entry = this.#state.catalog.get(name);
    if (entry === undefined) return this.#state.tombstones.get(name);
    return this.#state.alive(name) === undefined ? this.#state.tombstoneOf(entry) : undefined;
  }

  list({ last = Infinity, names }: ListOptions = {}): readonly VariableInfo[] {
    const count = wholeCount(last);
    const entries = names === undefined ? this.#state.newest(count) : this.#named(names);
    const listed = entries.slice(Math.max(entries.length - count, 0));
    return this.#state.listed(listed);
  }

  page({ after = 0, limit }: PageOptions): Page {
    const count = wholeCount(limit);
    const entries = this.#state.following(after, count + 1);
    const shown = entries.slice(0, count);
    const next = entries.length > count ? shown.at(-1)?.seq : undefined;
    return { variables: this.#state.listed(shown), ...compact({ next }) };
  }

  count(): number {
    return this.#state.count();
  }

  bytes(): number {
    return this.#state.catalog.bytes;
  }

  couldBegin(prefix: string): boolean {
    if (this.#state.catalog.couldBegin(prefix)) return true;
    for (const name of this.#state.tombstones.keys()) if (name.startsWith(prefix)) return true;
    return false;
  }

  delete(name: string): boolean {
    const existed = this.#state.alive(name) !== undefined;
    this.#state.atomically(() => {
      this.#state.removeTombstone(name);
      this.#remove([name]);
    });
    return existed;
  }

  reset(keepLast: number): readonly string[] {
    const removable = this.#state
      .newest(Infinity)
      .filter(({ pinned, run }) => !pinned && run === undefined);
    const count = Math.max(removable.length - wholeCount(keepLast), 0);
    const names = removable.slice(0, count).map(({ name }) => name);
    this.#state.atomically(() => this.#remove(names));
    return names;
  }

  endRun(run: string): readonly Tombstone[] {
    const ended = this.#state.catalog.ofRuns().filter((entry) => entry.run === run);
    if (ended.length === 0) return [];
    return this.#state.atomically(() => this.#state.evict(ended, () => "run_ended"));
  }

  runs(): readonly string[] {
    return [...new Set(this.#state.catalog.ofRuns().flatMap(({ run }) => run ?? []))];
  }

  ofRun(run: string): readonly string[] {
    return this.#state.catalog.ofRuns().flatMap((entry) => (entry.run === run ? entry.name : []));
  }

  evictDue(nowMs: number, limit: number): readonly Tombstone[] {
    const due = this.#state.due(nowMs).slice(0, wholeCount(limit));
    if (due.length === 0) return [];
    return this.#state.atomically(() =>
      this.#state.evict(due, (entry) => this.#state.dueReason(entry)),
    );
  }

  nextDueMs(): number | undefined {
    const next = this.#state.catalog.nextDueMs(this.holds.all());
    return next === Infinity ? undefined : next;
  }

  lastAccessMs(): number | undefined {
    const { size, lastAccessMs } = this.#state.catalog;
    return size === 0 ? undefined : lastAccessMs;
  }

  discard({ body }: Content): void {
    if (isStored(body)) this.#bodies.drop(body);
  }

  flushAccess(): void {
    const { catalog } = this.#state;
    const unwritten = catalog.accessed().filter((entry) => this.#isUnwritten(entry));
    if (unwritten.length > 0) this.#state.atomically(() => catalog.touch(unwritten));
  }

  hasGarbage(): boolean {
    return this.#bodies.hasGarbage();
  }

  sweep(): Promise<boolean> {
    return this.#bodies.sweep();
  }

  observe(observer: (change: Change) => void): () => void {
    this.#observers.add(observer);
    return () => this.#observers.delete(observer);
  }

  forget(): void {
    this.#state.forget();
  }

  /** Returns the entries that have not expired, oldest first. */
  #named(names: readonly string[]): readonly Entry[] {
    const entries = this.#state.catalog.named(new Set(names));
    return this.#state.unexpired(entries).toSorted((one, other) => one.seq - other.seq);
  }

  async #readPath(entry: Entry, path: Path, work = new Work()): Promise<Reading | undefined> {
    const cached = this.#state.cache.get(entry.name);
    if (cached !== undefined) return readPath(cached, path, work);
    const stored = this.#state.rows.stored(entry.name);
    if (stored === undefined) return undefined;
    if (selectsPart(stored, path)) {
      return this.#holding({ stored, work }, (source) => readPart(source, path));
    }
    return readPath(await this.#load(entry, stored, work), path, work);
  }

  #batch(writes: readonly Write[]): Batch {
    return new Batch(writes, {
      state: this.#state,
      writer: this.#writer,
      // Does not count as an access: a rejected write leaves no trace.
      read: async (entry) => valueIn(await this.#readPath(entry, [])),
    });
  }

  /** Loads the whole value and caches it. */
  async #load(entry: Entry, stored: Stored, work: Work): Promise<Json> {
    this.#state.cache.makeRoom(stored.bytes);
    const value = await this.#holding({ stored, work }, (source) => readWhole(entry.name, source));
    // A new version may have been written meanwhile.
    const isCurrent = this.#state.catalog.get(entry.name)?.seq === entry.seq;
    if (isCurrent) this.#state.cache.set(entry.name, value, stored.bytes);
    return value;
  }

  /** Reads a body and protects it from the sweep until it is read. */
  async #holding<Result>(
    { stored, work }: Pick<Source, "stored" | "work">,
    use: (source: Source) => Promise<Result>,
  ): Promise<Result> {
    const release = this.#bodies.hold(stored.body);
    try {
      const read = async (from: number, to: number) => {
        work.spend(to - from);
        return this.#bodies.read(stored.body, from, to);
      };
      return await use({ stored, work, read });
    } finally {
      release();
    }
  }

  /** Records an access in memory. The row is updated only when its time is older by a small part of the idle time. */
  #access(entry: Entry): void {
    const accessed = this.#state.catalog.access(entry, this.#state.now());
    if (this.#isUnwritten(accessed) && !this.#isUnwritten(entry)) this.#onAccess();
  }

  #isUnwritten({ accessedAtMs, writtenAccessMs }: Entry): boolean {
    return accessedAtMs - writtenAccessMs >= this.#idleMs / ACCESS_STEPS;
  }

  /** Removes variables. Call it in a transaction. */
  #remove(names: readonly string[]): void {
    let hasNumbered = false;
    for (const name of names) {
      const info = this.#state.shortInfo(name);
      if (info === undefined) continue;
      this.#state.remove(name);
      hasNumbered ||= splitNumber(name) !== undefined;
      this.#state.queueChange({ kind: "deleted", info });
    }
    if (hasNumbered) this.#state.saveNumbers();
  }
}

/** How often the access time of a constantly read variable is written within its idle time. */
const ACCESS_STEPS = 24;

/** Converts a caller's count to a whole number that SQLite accepts, at least 0. */
function wholeCount(count: number): number {
  return Math.min(Math.max(Math.floor(count), 0), MAX_COUNT);
}

const MAX_COUNT = 1_000_000_000;

function valueIn(reading: Reading | undefined): Json | undefined {
  return reading?.found === true ? reading.value : undefined;
}
