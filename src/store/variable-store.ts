import type { Json } from "../value/json.ts";
import type { Path, Reading } from "../value/path.ts";
import type { Work } from "../value/work.ts";
import type { Content } from "./bytes/content.ts";
import type { Glance, OpenValue, Tombstone, VariableInfo, Visibility } from "./variable.ts";

/** How to choose a name for a value that is saved without one. */
export interface AutomaticName {
  /** `get_weather_nyc`, or the tool's name alone if `numbered`. */
  readonly base: string;
  /** Every value gets a number: `list_orders_1`. */
  readonly numbered: boolean;
  /** Distinguishes a repetition of the same call (a new version) from another call (a new name). */
  readonly inputDigest: string;
}

/** `new` never changes an existing variable: it writes `name_000`, `name_001` … */
export type WriteMode = "replace" | "append" | "merge" | "new";

/** A value to save, with its metadata. `madeOf` may have the variable's own name. */
export interface Write extends Pick<
  Partial<VariableInfo>,
  "description" | "flags" | "input" | "madeOf" | "pinned" | "sources" | "tool" | "toolCallId"
> {
  readonly value: Json | Content;
  /** A chosen name, or how to choose one. Default: `variable_1`, `variable_2` … */
  readonly name?: string | AutomaticName;
  /** A path inside the named variable, of keys and indices only. Missing objects on the path are created. */
  readonly path?: Path;
  /** How the write treats an existing value of the chosen name. Default: `replace`. */
  readonly mode?: WriteMode;
  /**
   * Keeps the replaced value as an earlier version, until there are too many of them, or the quota needs room.
   * Other writes drop the earlier versions. Never of a secret. Default: false.
   */
  readonly keepsVersion?: boolean;
  /**
   * Keeps the existing variable's description, ttl and pin unless the write sets them. Writes that extend a
   * value always do.
   */
  readonly keepsMetadata?: boolean;
  /** Time to live from now. Without one, or with one beyond the range of dates, the variable does not expire. */
  readonly ttlMs?: number;
  /** Default: the existing variable's visibility, else `model`. */
  readonly visibility?: Visibility;
  /** Default: true. */
  readonly trusted?: boolean;
  /** The run at whose end the variable is evicted. Names chosen automatically then end in `_<run>`. */
  readonly run?: string;
}

/** Metadata that can change without a new value. */
export interface Changes {
  /** From now. Null removes the time to live. */
  readonly ttlMs?: number | null;
  readonly pinned?: boolean;
  readonly description?: string;
}

/** Selects the variables to list. Default: all. */
export interface ListOptions {
  /** Lists only this many, the newest. */
  readonly last?: number;
  readonly names?: readonly string[];
}

export interface PageOptions {
  /** The value of `next` of an earlier page. */
  readonly after?: number;
  readonly limit: number;
}

/** One page of the list, oldest first. */
export interface Page {
  readonly variables: readonly VariableInfo[];
  /** Set if there are more variables. */
  readonly next?: number;
}

/** One or more writes that are ready to be saved. Commit or discard them. */
export interface PreparedWrite<Saved = VariableInfo> {
  /**
   * Saves everything or nothing, synchronously. Throws `limit_exceeded` (the quota), or `conflict` if a
   * value that it extends has changed: then prepare it again.
   */
  commit(): Saved;
  /** Releases bytes that were stored for the write. Idempotent; no effect after a commit. */
  discard(): void;
}

/**
 * Reads, lists and writes variables by name. A method that makes changes makes all of them, or throws and
 * makes none. Returned values are frozen and shared; passed values are copied.
 */
export interface Variables {
  /**
   * Replaces, extends or creates a variable, depending on the mode, and makes it the newest. Rejects with
   * `bad_name`, `bad_value` (a mode or path that does not fit the existing value), `conflict` or
   * `limit_exceeded`. Above the quota, the least recently used variables are evicted, unless they are
   * pinned or held.
   */
  save(write: Write): Promise<VariableInfo>;
  /** Saves several writes, or none of them. */
  saveAll(writes: readonly Write[]): Promise<readonly VariableInfo[]>;
  /**
   * Does the asynchronous part of `saveAll`: encodes the values, reads those that they extend, stores large bytes.
   * Rejects as `save` does. `commit` can then be part of a larger transaction.
   */
  prepareAll(writes: readonly Write[]): Promise<PreparedWrite<readonly VariableInfo[]>>;
  /** Receives a value from a stream, for a later save. Rejects with the errors of the meter of its media type. */
  receive(stream: AsyncIterable<Uint8Array>, mediaType: string): Promise<Content>;
  /**
   * Changes metadata and increments `metadataVersion`; version and order do not change. Returns undefined
   * if the variable does not exist.
   */
  update(name: string, changes: Changes): VariableInfo | undefined;
  /**
   * Reads the value, frozen; undefined if the variable does not exist (any more). Rejects with
   * `limit_exceeded` (more than `maxJsonBytes`: read a part) or `bad_value` (bytes: open it).
   */
  read(name: string): Promise<Json | undefined>;
  /**
   * Reads the value at a path. Large arrays and texts are loaded in parts, on request. Rejects with
   * `limit_exceeded` also when `work` is used up.
   */
  readPath(name: string, path: Path, work?: Work): Promise<Reading | undefined>;
  /** Opens the stored bytes of a value. Close it. */
  open(name: string): OpenValue | undefined;
  /** Returns frequently needed metadata from memory. The first call costs one row read. */
  glance(name: string): Glance | undefined;
  info(name: string): VariableInfo | undefined;
  /** Returns the tombstone of a variable that was evicted and not saved again. */
  tombstone(name: string): Tombstone | undefined;
  /** Lists metadata, oldest first. Never loads a value. */
  list(options?: ListOptions): readonly VariableInfo[];
  count(): number;
  /** True if the name of a variable or an evicted variable starts with the prefix. */
  couldBegin(prefix: string): boolean;
  /**
   * Restores the value before the last write, as a new version, if it was kept; a second call the one before
   * that. Returns undefined otherwise.
   */
  undo(name: string): VariableInfo | undefined;
  /** Deletes the variable and leaves no tombstone. False if it did not exist. */
  delete(name: string): boolean;
}

/**
 * A variable without rows of its own: its value is made from other data whenever it is read. It is listed and
 * read like any other. It cannot be written, evicted or exported, and no other variable gets its name.
 */
export interface ComputedVariable {
  /** Has `readOnly`. The sizes are those of the value as JSON. */
  readonly info: VariableInfo;
  /** Reads the value at a path, frozen, in parts. Rejects as `Variables.readPath` does. */
  readPath(path: Path, work: Work): Promise<Reading>;
  /** Opens the value as JSON. Reading rejects with `conflict` if its source was changed meanwhile. */
  open(): OpenValue;
}

/** A write of a user's value. It replaces the value, and has the labels of what it was made of. */
export interface UserWrite
  extends
    Required<Pick<Write, "visibility" | "sources" | "trusted">>,
    Pick<Write, "description" | "ttlMs" | "tool" | "flags"> {
  readonly name: string;
  readonly json: string;
}

/** The values of who asks, of which a turn loads all at once. Names are as in `user.address`. */
export interface UserVariables {
  /** Loads them, once. Rejects with `bad_request` or `unavailable`; the next use then tries again. */
  load(): Promise<void>;
  /** Undefined before they are loaded. */
  info(name: string): VariableInfo | undefined;
  /** The loaded ones, oldest first. */
  list(): readonly VariableInfo[];
  write(write: UserWrite): Promise<VariableInfo>;
}
