import type { Mark } from "../../value/marks.ts";
import type { Chunks } from "../bytes/chunks.ts";
import type { Body } from "../bytes/content.ts";
import type { Garbage } from "../bytes/garbage.ts";
import type { Tombstone, VariableInfo, Flag, Visibility } from "../variable.ts";

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

/** What is known of a variable to find it, to order it and to evict it. */
export interface Entry {
  readonly name: string;
  /** Orders the variables: the greatest was written last. */
  readonly seq: number;
  readonly version: number;
  readonly type: VariableInfo["type"];
  readonly bytes: number;
  readonly chars: number;
  readonly createdAtMs: number;
  readonly accessedAtMs: number;
  /** The same as its row has it. */
  readonly writtenAccessMs: number;
  readonly expiresAtMs: number | undefined;
  readonly pinned: boolean;
  readonly visibility: Visibility;
  readonly flags?: readonly Flag[];
  readonly run: string | undefined;
  readonly tool: string | undefined;
  readonly inputDigest: string | undefined;
}

/** Of the call that made a variable. */
export interface Call {
  readonly tool: string;
  readonly inputDigest: string;
}

/** Sums over all entries. */
export interface Sums {
  count: number;
  bytes: number;
  /** How many have a run. */
  ofRuns: number;
  lastAccessMs: number;
  /** None is due earlier. */
  dueMs: number;
}

/** Some of the entries, found without reading the others into memory. `limit`: at most `MAX_FOUND`. */
export interface Lookups {
  entry(name: string): Entry | undefined;
  /** Those with a greater seq, oldest first. */
  following(seq: number, limit: number): readonly Entry[];
  /** Newest first. */
  newest(limit: number): readonly Entry[];
  /** Those that are not pinned, by when they are due with this idle time. */
  soonest(idleMs: number, limit: number): readonly Entry[];
  ofRuns(): readonly Entry[];
  /** All that start so and that the call has made, and perhaps some that start otherwise. */
  ofCall(prefix: string, call: Call): readonly Entry[];
  sums(idleMs: number): Sums;
  /** Of the names that are the base, an underscore and a number; -1 if there is none. */
  highestNumber(base: string): number;
  couldBegin(prefix: string): boolean;
}

/** At once: some 200 bytes each, and at most 2 MB in what SQLite hands out. */
export const MAX_FOUND = 500;
