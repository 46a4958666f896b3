import type { Json, JsonType } from "../value/json.ts";

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

/** How a field of the metadata is stored, checked and described. */
export interface Field {
  readonly is: FieldType;
  /** False: computed from other columns. Default: its column in SQLite has its name in snake case. */
  readonly hasColumn?: false;
  /** Absent where it does not apply; null in its column. */
  readonly isOptional?: true;
  /** Part of an exported variable. The others are computed when it is imported. */
  readonly isMoved?: true;
  /** Changes without a new version of the value. */
  readonly isChangeable?: true;
  /** The version of the SQL schema that adds the column, which is optional then. Default: the second. */
  readonly since?: number;
  /** For the API's documentation. */
  readonly about?: string;
}

/** `name`: 1 to 255 characters; `order`: a count from 1; `time`: ISO 8601, milliseconds in SQLite. */
export type FieldType =
  | "name"
  | "text"
  | "names"
  | "json"
  | "count"
  | "order"
  | "boolean"
  | "time"
  | { readonly oneOf: readonly string[] }
  | { readonly someOf: readonly string[] };

/**
 * The fields of `VariableInfo`. Rows, exports and the API's schemas are derived from this table. A new field
 * is a line in the interface and one here, and a value where the metadata is computed (`writer.ts`).
 */
export const variableFields = {
  name: { is: "name", isMoved: true },
  version: { is: "order", isMoved: true, about: "Counts the writes under this name" },
  metadataVersion: {
    is: "order",
    isOptional: true,
    isMoved: true,
    isChangeable: true,
    since: 4,
    about: "Counts changes of the metadata since that write",
  },
  type: { is: { oneOf: ["string", "number", "boolean", "null", "array", "object", "bytes"] } },
  count: { is: "count", about: "Elements, keys, characters or bytes; 1 for the rest" },
  bytes: {
    is: "count",
    isMoved: true,
    about: "Of the value as JSON text; of a string the text itself",
  },
  chars: { is: "count" },
  shape: { is: "text" },
  preview: { is: "text" },
  mediaType: { is: "name", isMoved: true },
  description: { is: "text", isOptional: true, isMoved: true, isChangeable: true },
  tool: { is: "text", isOptional: true, isMoved: true },
  toolCallId: { is: "text", isOptional: true, isMoved: true },
  input: {
    is: "json",
    isOptional: true,
    isMoved: true,
    about: "The tool's input as the model wrote it",
  },
  createdAt: { is: "time", isMoved: true },
  updatedAt: { is: "time", isMoved: true },
  accessedAt: { is: "time" },
  expiresAt: { is: "time", isOptional: true, isMoved: true, isChangeable: true },
  pinned: { is: "boolean", isMoved: true, isChangeable: true },
  // Made of the column `run`.
  scope: { is: { oneOf: ["conversation", "run"] }, hasColumn: false },
  visibility: { is: { oneOf: ["model", "sealed", "secret"] }, isMoved: true },
  sources: {
    is: "names",
    isMoved: true,
    about: "Where the content came from: caller, tool:get_weather …",
  },
  trusted: { is: "boolean", isMoved: true },
  // In the column `visibility`.
  flags: {
    is: { someOf: ["composed", "derived", "failed"] },
    hasColumn: false,
    isOptional: true,
    isMoved: true,
  },
  location: { is: { oneOf: ["row", "chunks", "r2"] } },
} as const satisfies { readonly [Name in keyof Required<VariableInfo>]: Field };

type Fields = typeof variableFields;
type MovedName = {
  [Name in keyof Fields]: Fields[Name] extends { readonly isMoved: true } ? Name : never;
}[keyof Fields];

/** The metadata of a variable in an export. */
export type MovedInfo = Pick<VariableInfo, MovedName>;

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

/** A value as bytes, for as long as it is open: also if it is replaced or deleted meanwhile. */
export interface OpenValue {
  readonly info: VariableInfo;
  /** The bytes from `from` to before `to`. */
  read(from: number, to: number): Promise<Uint8Array>;
  close(): void;
}
