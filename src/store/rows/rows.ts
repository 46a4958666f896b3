import type { Mark } from "../../value/marks.ts";
import type { Chunks } from "../bytes/chunks.ts";
import type { Body } from "../bytes/content.ts";
import type { Entry, Lookups } from "./entry.ts";
import type { Garbage } from "../bytes/garbage.ts";
import type { Tombstone, VariableInfo } from "../variable.ts";

/** Where a value is and how it is read. */
export interface Stored {
  readonly mediaType: string;
  readonly bytes: number;
  readonly count: number;
  readonly marks: readonly Mark[];
  /** In the row itself, or elsewhere. */
  readonly body: Body;
}

/** One variable as a row. */
export interface Row {
  readonly entry: Entry;
  readonly info: VariableInfo;
  readonly stored: Stored;
}

/**
 * What the store keeps its variables in: SQLite, or memory. All is synchronous. Nothing here decides
 * anything: names, modes, quotas and times are the store's (`variables.ts`).
 */
export interface Rows {
  readonly chunks: Chunks;
  readonly garbage: Garbage;
  /** In any order; reads no value. */
  entries(): readonly Entry[];
  /** Without them all entries are read at once. */
  readonly lookups?: Lookups;
  /** Nothing was ever written here, until `forget`: whoever asks before it writes need not ask. */
  readonly isNew?: boolean;
  info(name: string): VariableInfo | undefined;
  /** Those that exist, in any order, without an input of more than `maxListedInputBytes`; reads no value. */
  listed(names: readonly string[]): readonly VariableInfo[];
  stored(name: string): Stored | undefined;
  /** Inserts or replaces. */
  put(row: Row): void;
  change(info: VariableInfo): void;
  remove(name: string): void;
  /** Writes access times, in milliseconds since 1970, by name. */
  touch(times: ReadonlyMap<string, number>): void;
  /** Oldest first. */
  tombstones(): readonly Tombstone[];
  addTombstone(tombstone: Tombstone): void;
  removeTombstone(name: string): void;
  /** The numbers that names have used, by base. */
  numbers(): Readonly<Record<string, number>>;
  saveNumbers(numbers: Readonly<Record<string, number>>): void;
  /** One atomic commit, rolled back if `work` throws. One inside another is part of it. */
  transaction<Result>(work: () => Result extends PromiseLike<unknown> ? never : Result): Result;
  /** What is known of the tables is looked up again. */
  forget(): void;
}
