import type { Json } from "../value/json.ts";
import type { Path, Reading } from "../value/path.ts";
import type { Work } from "../value/work.ts";
import type { Content } from "./bytes/content.ts";
import type { Holds } from "./eviction.ts";
import type {
  Change,
  Flag,
  Glance,
  OpenValue,
  Tombstone,
  VariableInfo,
  Visibility,
  MovedInfo,
} from "./variable.ts";

/** How a name is found for a value that is saved without one. */
export interface AutomaticName {
  /** `get_weather_nyc`, or the tool's name alone if `numbered`. */
  readonly base: string;
  /** Every value gets a number: `list_orders_1`. */
  readonly numbered: boolean;
  /** Tells a repetition of the same call (a new version) from another call (a new name). */
  readonly inputDigest: string;
}

/** `new` never touches what is there: it writes `name_000`, `name_001` … */
export type WriteMode = "replace" | "append" | "merge" | "new";

/** A value that is to be saved, and what is said of it. */
export interface Write {
  readonly value: Json | Content;
  /** A name that somebody chose, or how to find one; without: `variable_1`, `variable_2` … */
  readonly name?: string | AutomaticName;
  /** A place inside the named variable; objects on the way there are made. Keys and indices only. */
  readonly path?: Path;
  /** What happens to a value that a chosen name has already. Default: `replace`. */
  readonly mode?: WriteMode;
  /** Keeps the existing variable's description, ttl and pin unless the write gives others, as extending does. */
  readonly keepsMetadata?: boolean;
  readonly description?: string;
  readonly tool?: string;
  readonly toolCallId?: string;
  readonly input?: Json;
  /** Time to live from now; without, or beyond the end of dates: the variable stays. */
  readonly ttlMs?: number;
  readonly pinned?: boolean;
  /** Default: as the variable has it already, else `model`. */
  readonly visibility?: Visibility;
  readonly sources?: readonly string[];
  /** Default: true. */
  readonly trusted?: boolean;
  readonly flags?: readonly Flag[];
  /** The run with which the variable is to end; names that are found for it end in `_<run>`. */
  readonly run?: string;
}

/** What can be changed of a variable without touching its value. */
export interface Changes {
  /** From now; null: it stays. */
  readonly ttlMs?: number | null;
  readonly pinned?: boolean;
  readonly description?: string;
}

/** Which variables are listed; without either, all. */
export interface ListOptions {
  /** Only the newest so many. */
  readonly last?: number;
  readonly names?: readonly string[];
}

export interface PageOptions {
  /** As an earlier page gave it in `next`. */
  readonly after?: number;
  readonly limit: number;
}

/** A part of the list, oldest first. */
export interface Page {
  readonly variables: readonly VariableInfo[];
  /** There are more. */
  readonly next?: number;
}

/** One write, or several, ready to be saved. Commit it or discard it. */
export interface PreparedWrite<Saved = VariableInfo> {
  /**
   * Saves all of it or nothing, synchronously. Throws `limit_exceeded` (the quota), or `conflict` if a value
   * that it extends has changed since: prepare it again.
   */
  commit(): Saved;
  /** Releases the bytes that were stored for it. Idempotent; does nothing after a commit. */
  discard(): void;
}

/**
 * Variables by name: read, list, write. A method that changes something does all of it, or throws and
 * changes nothing. Returned values are frozen and shared; values passed in are copied.
 */
export interface Variables {
  /**
   * Replaces, extends or creates, by mode; moves the variable to newest. Rejects with
   * `bad_name`, `bad_value` (a mode or path that does not fit what is there), `conflict` or
   * `limit_exceeded`: over quota the least recently used give way, unless they are pinned or held.
   */
  save(write: Write): Promise<VariableInfo>;
  /** Several writes of which all happen or none. */
  saveAll(writes: readonly Write[]): Promise<readonly VariableInfo[]>;
  /**
   * Does everything of a save that may have to wait: encodes the value, reads what it extends, stores large
   * bytes. Rejects as `save` does. `commit` can then be part of a larger transaction.
   */
  prepare(write: Write): Promise<PreparedWrite>;
  /** The same for several writes of which all happen or none; each extends what those before it wrote. */
  prepareAll(writes: readonly Write[]): Promise<PreparedWrite<readonly VariableInfo[]>>;
  /** Changes metadata and counts the change; version and order stay. Undefined if there is no such variable. */
  update(name: string, changes: Changes): VariableInfo | undefined;
  /**
   * The value, frozen; undefined for what does not exist (any more). Rejects with
   * `limit_exceeded` (more than `maxJsonBytes`: read a part) or `bad_value` (bytes: open it).
   */
  read(name: string): Promise<Json | undefined>;
  /**
   * What the path leads to. Of a large array or text only the part that is asked for is loaded. Rejects
   * with `limit_exceeded` also when `work` is used up.
   */
  readPath(name: string, path: Path, work?: Work): Promise<Reading | undefined>;
  /** The stored bytes of a value. Close it. */
  open(name: string): OpenValue | undefined;
  /** From memory; the first time at the cost of reading one row. */
  glance(name: string): Glance | undefined;
  info(name: string): VariableInfo | undefined;
  /** Set if the variable was evicted and has not been saved again. */
  tombstone(name: string): Tombstone | undefined;
  /** Oldest first; never loads a value. */
  list(options?: ListOptions): readonly VariableInfo[];
  count(): number;
  /** Does the name of a variable, or of an evicted one, start so? */
  couldBegin(prefix: string): boolean;
  /** It is then as if the variable had never been; false if there was none. */
  delete(name: string): boolean;
}

/** All variables of one conversation, and what concerns them as a whole. */
export interface VariableStore extends Variables {
  /** A value that arrives as a stream, to be saved. Rejects with what its media type's meter throws. */
  receive(stream: ReadableStream<Uint8Array>, mediaType: string): Promise<Content>;
  /** What `list` returns, in pages. */
  page(options: PageOptions): Page;
  /** All values together. */
  bytes(): number;
  /**
   * Deletes all but the newest `keepLast`; returns their names. The pinned, and what is a run's, stay and do
   * not count.
   */
  reset(keepLast: number): readonly string[];
  /** Evicts the variables of a run. */
  endRun(run: string): readonly Tombstone[];
  /** The runs that have variables. */
  runs(): readonly string[];
  /** The names of what a run has. */
  ofRun(run: string): readonly string[];
  /** What is held is not evicted. */
  readonly holds: Holds;
  /** All of it, out of here and into another store. */
  readonly transfer: Transfer;
  /** Evicts what is due at `nowMs`, leaves tombstones. At most `limit` of them in one call. */
  evictDue(nowMs: number, limit: number): readonly Tombstone[];
  /** When the next variable is due, in milliseconds since 1970; undefined if none is. */
  nextDueMs(): number | undefined;
  /** When any value was last read or written, in milliseconds since 1970. */
  lastAccessMs(): number | undefined;
  /** Writes back when variables were last read. */
  flushAccess(): void;
  /** Removes what no variable has any more, and what never came to be one; true if all is gone. */
  sweep(): Promise<boolean>;
  /** Gives up a received value that is not going to be saved. */
  discard(content: Content): void;
  /** Is there something to sweep? */
  hasGarbage(): boolean;
  /**
   * Tells of each change inside of the transaction that makes it, in order; what an observer throws rolls
   * that back. Returns how to stop it.
   */
  observe(observer: (change: Change) => void): () => void;
  /** What is in memory is read again: for whoever rolls back a transaction around this store's calls. */
  forget(): void;
}

/** A variable as another store takes it, without its value. */
export interface VariableRecord {
  readonly info: MovedInfo;
  /** The run with which it ends. */
  readonly run?: string;
  /** Of the call that made it: that call made again gets its name. */
  readonly inputDigest?: string;
}

/** A variable that leaves: its bytes are as they are until it is closed. */
export interface Departure extends OpenValue, Omit<VariableRecord, "info"> {}

/** What is known of names beside the variables themselves. */
export interface NameRecords {
  /** Oldest first. */
  readonly tombstones: readonly Tombstone[];
  /** The highest numbers that names have used, by base. */
  readonly numbers: Readonly<Record<string, number>>;
}

/** All variables of a store, one after the other, on the way into another one. */
export interface Transfer {
  /** Oldest first, without those whose time is over. */
  names(): readonly string[];
  nameRecords(): NameRecords;
  /** Not an access. Undefined for what does not exist (any more). Close it. */
  open(name: string): Departure | undefined;
  /**
   * A variable as it was elsewhere, behind those that are here; its idle time begins anew. No observer is
   * told. `content`: received by this store; it is saved, or given up. Rejects with `bad_name`, `conflict`
   * (the name is taken) or `limit_exceeded`: nothing gives way.
   */
  restore(record: VariableRecord, content: Content): Promise<VariableInfo>;
  /** In the place of what is known here. All of it or nothing. */
  restoreNames(records: NameRecords): void;
}
