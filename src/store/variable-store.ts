import type { Json, JsonType } from "../value/json.ts";
import type { WriteMode } from "./write-mode.ts";

export type Visibility = "model" | "sealed" | "secret";

/** Everything that is known of a variable but its value. Times are ISO 8601. */
export interface VariableInfo {
  readonly name: string;
  /** Counts the writes under this name; for ETags and provenance, old versions are not kept. */
  readonly version: number;
  readonly type: JsonType | "bytes";
  /** Elements, keys, characters (code points) or bytes; 1 for the rest. */
  readonly count: number;
  /** Of the value as JSON text in UTF-8; of a string the text itself. */
  readonly bytes: number;
  /** Characters of the same text: what the value would cost in a prompt. */
  readonly chars: number;
  readonly shape: string;
  readonly preview: string;
  readonly description?: string;
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The tool's input as the model wrote it, references kept. */
  readonly input?: Json;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly expiresAt?: string;
  readonly pinned: boolean;
  readonly visibility: Visibility;
  readonly location: "row" | "chunks";
}

/** What is left of a variable that was evicted, so that an error can say how to get it back. */
export interface Tombstone {
  readonly name: string;
  readonly version: number;
  readonly tool?: string;
  readonly input?: Json;
  /** With the tool it tells the same call, which gets the name again. */
  readonly inputDigest?: string;
  readonly evictedAt: string;
  readonly reason: "expired";
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

export interface Write {
  readonly value: Json;
  /** A name that somebody chose, or how to find one; without: `variable_1`, `variable_2` … */
  readonly name?: string | AutomaticName;
  /** What happens to a value that a chosen name has already. Default: `replace`. */
  readonly mode?: WriteMode;
  readonly description?: string;
  readonly tool?: string;
  readonly toolCallId?: string;
  readonly input?: Json;
  /** Time to live from now; without, or beyond the end of dates: the variable stays. */
  readonly ttlMs?: number;
  readonly pinned?: boolean;
}

/** What can be changed of a variable without touching its value. */
export interface Changes {
  /** From now; null: it stays. */
  readonly ttlMs?: number | null;
  readonly pinned?: boolean;
  readonly description?: string;
}

export interface ListOptions {
  /** Only the newest so many. */
  readonly last?: number;
  readonly names?: readonly string[];
}

/**
 * The variables of one conversation. Every method is synchronous and atomic: it happens as a whole, or
 * throws and changes nothing. Values handed out are frozen and shared; values handed in are copied.
 * Nothing here is scoped by tenant or conversation: a store is one conversation's.
 */
export interface VariableStore {
  /**
   * Replaces, extends or creates, by mode; moves the variable to newest. Throws `bad_name`, `bad_value`
   * (a mode that does not fit what is there) or `limit_exceeded`.
   */
  save(write: Write): VariableInfo;
  /** Changes metadata: the version and the order stay. Undefined for what does not exist (any more). */
  update(name: string, changes: Changes): VariableInfo | undefined;
  /** The value, frozen; undefined for what does not exist (any more). */
  read(name: string): Json | undefined;
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
  /** Deletes all but the newest `keepLast` and the pinned, which do not count; returns their names. */
  reset(keepLast: number): readonly string[];
  /** Evicts what is due at `nowMs`, leaves tombstones. At most `limit` of them in one call. */
  evictExpired(nowMs: number, limit: number): readonly Tombstone[];
  /** When the next variable is due, in milliseconds since 1970; undefined if none is. */
  nextDueMs(): number | undefined;
}
