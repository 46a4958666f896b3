import type { Stored, StoredBody } from "../bytes/content.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

/** A variable as a row. */
export interface Row {
  readonly entry: Entry;
  readonly info: VariableInfo;
  readonly stored: Stored;
}

/** A replaced value of a variable, which can be restored: what is listed of it. */
export interface KeptGlance {
  readonly name: string;
  readonly version: number;
  readonly bytes: number;
  /** True if an undo replaced it. Another undo passes over it. */
  readonly isUndone: boolean;
}

/** The same with its value and metadata. */
export interface KeptVersion extends KeptGlance {
  readonly info: VariableInfo;
  readonly stored: Stored;
}

/** The columns that identify a row, with their values. */
export type Key = Readonly<Record<string, string | number>>;

/** Rows of one kind. */
export interface Table<Row, Listed = Row> {
  /** Oldest first. */
  all(): readonly Listed[];
  get(key: Key): Row | undefined;
  /** Inserts or replaces. */
  put(key: Key, row: Row): void;
  remove(key: Key): void;
}

/**
 * Stores long values in rows of at most `maxRecordBytes`, each under its id and the offset of its first
 * byte, so that a range is found without reading the rest.
 */
export interface Chunks {
  /** Appends bytes. The id must be new, or `start` must be the end of its last bytes. */
  write(id: string, start: number, bytes: Uint8Array): void;
  /** Reads the bytes from `from` up to, but not including, `to`, or as many of them as exist. */
  read(id: string, from: number, to: number): Uint8Array;
  remove(id: string): void;
}

/**
 * The storage of a store: SQLite or memory. All methods are synchronous. It makes no decisions about names,
 * modes, quotas or times; `variables.ts` does.
 */
export interface Rows {
  readonly chunks: Chunks;
  /**
   * Bodies without a variable, by `id`. One is here from before its first byte is stored until the row that refers to it
   * is committed, and from the transaction that removes that row until the bytes are deleted. After a crash, the bodies
   * here have to be swept.
   */
  readonly garbage: Table<StoredBody>;
  /** Earlier versions of variables, by `name` and `version`. They are counted in the quota. */
  readonly versions: Table<KeptVersion, KeptGlance>;
  /** By `name`, of which each may be put once until it is removed. */
  readonly tombstones: Table<Tombstone>;
  /** Returns the entries of all variables, oldest first, with the access times of their rows. Reads no values. */
  entries(): readonly Entry[];
  info(name: string): VariableInfo | undefined;
  /**
   * Returns the metadata of the variables that exist, in any order, without inputs of more than
   * `maxListedInputBytes`. Reads no values.
   */
  listed(names: readonly string[]): readonly VariableInfo[];
  stored(name: string): Stored | undefined;
  /** Inserts or replaces. */
  put(row: Row): void;
  /** Writes changed metadata of a variable, and its entry. */
  change(info: VariableInfo, entry: Entry): void;
  remove(name: string): void;
  /** Writes access times. */
  touch(entries: readonly Entry[]): void;
  /** The highest numbers used in names, by base. */
  numbers(): Readonly<Record<string, number>>;
  saveNumbers(numbers: Readonly<Record<string, number>>): void;
  /** Runs `work` as one atomic commit, rolled back if `work` throws. A nested transaction is part of the outer one. */
  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result;
  /** Discards cached knowledge of the tables. */
  forget(): void;
}

/** The metadata needed to find, order and evict a variable. */
export interface Entry extends Pick<
  VariableInfo,
  "bytes" | "chars" | "flags" | "name" | "pinned" | "type" | "version" | "visibility"
> {
  /** Orders the variables: the greatest seq was written last. */
  readonly seq: number;
  readonly createdAtMs: number;
  readonly accessedAtMs: number;
  /** The access time in the row. */
  readonly writtenAccessMs: number;
  readonly expiresAtMs: number | undefined;
  readonly run: string | undefined;
  readonly tool: string | undefined;
  readonly inputDigest: string | undefined;
  readonly madeOf: VariableInfo["madeOf"] | undefined;
}
