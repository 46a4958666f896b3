import type { Content } from "./bytes/content.ts";
import type { MovedInfo, OpenValue, Tombstone, VariableInfo } from "./variable.ts";

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
