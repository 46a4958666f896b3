import type { Json, JsonType } from "../value/json.ts";
import type { Path, Reading } from "../value/path.ts";
import type { Work } from "../value/work.ts";
import type { Content } from "./bytes/content.ts";
import type { Holds } from "./holds.ts";
import type { Transfer } from "./transfer.ts";
import type { WriteMode } from "./write-mode.ts";

/** At once where that is possible; a promise where a bucket has to be asked. */
export type Awaitable<Result> = Result | Promise<Result>;

/**
 * Who may see a value (`docs/architecture.md` has the table). `sealed`: the model knows name, type and
 * count; `secret`: nobody sees it, and only tools that list it are given it.
 */
export type Visibility = "model" | "sealed" | "secret";

/**
 * `composed`: a model or code built a URL in the value, which therefore prints inert. `derived`: the value
 * was computed from a guarded one, so the model sees nothing but its name. `failed`: the value reports why
 * a call on guarded values failed; no tool takes it as input.
 */
export type Flag = "composed" | "derived" | "failed";

/** `run`: the variable ends with the run that made it. */
type Scope = "conversation" | "run";

/** Where the value lies: in its row, in rows of its own, or in the bucket. */
export type Location = "row" | "chunks" | "r2";

/** Everything that is known of a variable but its value. Times are ISO 8601. */
export interface VariableInfo {
  readonly name: string;
  /** Counts the writes under this name; for ETags and provenance, old versions are not kept. */
  readonly version: number;
  readonly type: JsonType | "bytes";
  /** Counts the changes of the metadata since the value was written; absent if there were none. */
  readonly metadataVersion?: number;
  /** Elements, keys, characters (code points) or bytes; 1 for the rest. */
  readonly count: number;
  /** Of the value as JSON text in UTF-8; of a string the text itself. */
  readonly bytes: number;
  /** Characters of the same text: what the value would cost in a prompt. */
  readonly chars: number;
  /** Of a secret the type alone. */
  readonly shape: string;
  /** Empty for a secret. */
  readonly preview: string;
  /** Of what was written: `application/json`, `text/plain`, or that of the bytes. */
  readonly mediaType: string;
  readonly description?: string;
  /** The tool whose result it is. */
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The tool's input as the model wrote it, references kept. */
  readonly input?: Json;
  /** Times are ISO 8601, in UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** When the value was last read or written. */
  readonly accessedAt: string;
  /** By its ttl; a variable that nobody uses goes earlier (`variableIdleMs`), a pinned one stays. */
  readonly expiresAt?: string;
  readonly pinned: boolean;
  readonly scope: Scope;
  readonly visibility: Visibility;
  /** Where the content came from, joined over all that it was made of: `caller`, `tool:get_weather` … */
  readonly sources: readonly string[];
  /** False if any source is not trusted. */
  readonly trusted: boolean;
  /** Absent if there are none. */
  readonly flags?: readonly Flag[];
  readonly location: Location;
}

/**
 * Why a variable went: its ttl, disuse, room for another one, or the end of its run; or it never came: a
 * secret is left out of what is moved.
 */
export type EvictionReason = "expired" | "idle" | "quota" | "run_ended" | "left_out";

/** What is left of a variable that was evicted, so that an error can say how to get it back. */
export interface Tombstone {
  readonly name: string;
  readonly version: number;
  readonly tool?: string;
  readonly input?: Json;
  /** With the tool it tells the same call, which gets the name again. */
  readonly inputDigest?: string;
  readonly evictedAt: string;
  readonly reason: EvictionReason;
}

/** How a name is found for a value that is saved without one. */
export interface AutomaticName {
  /** `get_weather_nyc`, or the tool's name alone if `numbered`. */
  readonly base: string;
  /** Every value gets a number: `list_orders_1`. */
  readonly numbered: boolean;
  /** Tells a repetition of the same call (a new version) from another call (a new name). */
  readonly inputDigest: string;
}

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

/** What is asked of a variable all the time. */
export interface Glance extends Pick<
  VariableInfo,
  "version" | "type" | "bytes" | "chars" | "visibility" | "flags"
> {
  /** The run with which it ends. */
  readonly run?: string | undefined;
}

/** What happened to the variables; never a value. */
export type Change =
  | { readonly kind: "saved" | "updated" | "deleted"; readonly info: VariableInfo }
  | { readonly kind: "evicted"; readonly info: VariableInfo; readonly tombstone: Tombstone };

/** A write whose waiting is done. Commit it or discard it. */
export interface PreparedWrite {
  /** All of it or nothing, at once. Throws `conflict` if what it extends has changed since. */
  commit(): VariableInfo;
  /** What was stored for it is swept. */
  discard(): void;
}

/** A value as bytes, for as long as it is open: also if it is replaced or deleted meanwhile. */
export interface OpenValue {
  readonly info: VariableInfo;
  /** The bytes from `from` to before `to`. */
  read(from: number, to: number): Awaitable<Uint8Array>;
  close(): void;
}

/**
 * Variables by name: read, list, write. A method that changes something does all of it, or throws and
 * changes nothing. Returned values are frozen and shared; values passed in are copied.
 */
export interface Variables {
  /**
   * Replaces, extends or creates, by mode; moves the variable to newest. Throws, or rejects with,
   * `bad_name`, `bad_value` (a mode or path that does not fit what is there), `conflict` or
   * `limit_exceeded`: over quota the least recently used give way, unless they are pinned or held.
   */
  save(write: Write): Awaitable<VariableInfo>;
  /** Several writes of which all happen or none. */
  saveAll(writes: readonly Write[]): Awaitable<readonly VariableInfo[]>;
  /** The same write in two halves, so that the second can be part of a larger transaction. */
  prepare(write: Write): Awaitable<PreparedWrite>;
  /** Changes metadata and counts the change; version and order stay. Undefined if there is no such variable. */
  update(name: string, changes: Changes): VariableInfo | undefined;
  /**
   * The value, frozen; undefined for what does not exist (any more). Throws, or rejects with,
   * `limit_exceeded` (more than `maxJsonBytes`: read a part) or `bad_value` (bytes: open it).
   */
  read(name: string): Awaitable<Json | undefined>;
  /**
   * What the path leads to. Of a large array or text only the part that is asked for is loaded. Throws, or
   * rejects with, `limit_exceeded` also when `work` is used up.
   */
  readPath(name: string, path: Path, work?: Work): Awaitable<Reading | undefined>;
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
