import type { Flag, VariableInfo, Visibility } from "../variable.ts";

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
