import type { Chunks } from "../bytes/chunks.ts";
import type { Stored } from "../bytes/content.ts";
import type { Garbage } from "../bytes/garbage.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

/** A variable as a row. */
export interface Row {
  readonly entry: Entry;
  readonly info: VariableInfo;
  readonly stored: Stored;
}

/** A replaced value of a variable, which can be restored. */
export interface KeptVersion {
  readonly info: VariableInfo;
  readonly stored: Stored;
  /** True if an undo replaced it. Another undo passes over it. */
  readonly isUndone: boolean;
}

/** A row without value and metadata. */
export interface KeptGlance {
  readonly name: string;
  readonly version: number;
  readonly bytes: number;
  readonly isUndone: boolean;
}

/** Earlier versions of variables. They are counted in the quota. */
export interface Versions {
  /** Oldest first, of each name. */
  all(): readonly KeptGlance[];
  get(name: string, version: number): KeptVersion | undefined;
  add(version: KeptVersion): void;
  remove(name: string, version: number): void;
}

/**
 * The storage of a store: SQLite or memory. All methods are synchronous. It makes no decisions about names,
 * modes, quotas or times; `variables.ts` does.
 */
export interface Rows {
  readonly chunks: Chunks;
  readonly garbage: Garbage;
  readonly versions: Versions;
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
  change(info: VariableInfo): void;
  remove(name: string): void;
  /** Writes access times. */
  touch(entries: readonly Entry[]): void;
  /** Oldest first. */
  tombstones(): readonly Tombstone[];
  /** There must be none of this name. */
  addTombstone(tombstone: Tombstone): void;
  removeTombstone(name: string): void;
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
