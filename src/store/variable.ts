import type { Json, JsonType } from "../value/json.ts";

/**
 * Visibility of a value (table in `docs/architecture.md`). `sealed`: the model sees name, type and count. `secret`:
 * the value is shown to no one, and is passed only to tools that list it.
 */
export type Visibility = "model" | "sealed" | "secret";

/**
 * `composed`: a model or code built a URL in the value, so URLs in it print inert. `derived`: the value was
 * computed from a guarded one, so the model sees only its name.
 */
export type Flag = "composed" | "derived";

/** `run`: the variable is evicted when its run ends. */
type Scope = "conversation" | "run";

/** Location of the value: its row, chunk rows, the bucket, or the conversation's messages. */
type Location = "row" | "chunks" | "r2" | "messages";

/** A variable's metadata. Times are ISO 8601. */
export interface VariableInfo {
  readonly name: string;
  /** Counts the writes under this name, for ETags and provenance. Old versions are not stored. */
  readonly version: number;
  readonly type: JsonType | "bytes";
  /** Counts metadata changes since the value was written; absent if there were none. */
  readonly metadataVersion?: number;
  /** Elements, keys, characters (code points) or bytes; 1 for other types. */
  readonly count: number;
  /** Size as JSON in UTF-8; for a string, size of the text itself. */
  readonly bytes: number;
  /** Characters of the same text: the value's cost in a prompt. */
  readonly chars: number;
  /** The shape of the value. For a secret, only its type. */
  readonly shape: string;
  /** Empty for a secret. */
  readonly preview: string;
  /** Media type of the written value: `application/json`, `text/plain`, or that of the bytes. */
  readonly mediaType: string;
  /** The key of the text that the value was read from. Empty: the stored bytes are that text. */
  readonly textKey?: string;
  readonly description?: string;
  /** The tool that returned the value. */
  readonly tool?: string;
  readonly toolCallId?: string;
  /** The tool's input as the model wrote it, with references. */
  readonly input?: Json;
  /** Times are ISO 8601, in UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Time of the last read or write of the value. */
  readonly accessedAt: string;
  /** End of the ttl. An unused variable is evicted earlier (`variableIdleMs`); a pinned one does not expire. */
  readonly expiresAt?: string;
  readonly pinned: boolean;
  readonly scope: Scope;
  readonly visibility: Visibility;
  /** The sources of the content, and of everything that it was made of: `caller`, `tool:get_weather` … */
  readonly sources: readonly string[];
  /** False if any source is not trusted. */
  readonly trusted: boolean;
  /** Absent if there are none. */
  readonly flags?: readonly Flag[];
  /** The variables that the call read, as they were. A value that adds to an older one names itself. */
  readonly madeOf?: Sources;
  /** Set if the value, or one that it was made of, was made of versions that are not current. Computed when read. */
  readonly stale?: { readonly madeOf: readonly NewerSource[] };
  readonly location: Location;
  /** Set if the variable cannot be written. */
  readonly readOnly?: true;
}

/** Versions of variables, by name. 0: there was none. */
export type Sources = Readonly<Record<string, number>>;

/** A version, and the current one. */
export interface NewerSource extends Pick<VariableInfo, "name" | "version"> {
  readonly now: number;
}

/** How a metadata field is stored, validated and documented. */
export interface Field {
  readonly is: FieldType;
  /** False for a field computed from other columns. Default: a SQLite column with its name in snake case. */
  readonly hasColumn?: false;
  /** The field may be absent. Its column is then null. */
  readonly isOptional?: true;
  /** The field is exported. Other fields are computed on import. */
  readonly isMoved?: true;
  /** The field can change without a new version of the value. */
  readonly isChangeable?: true;
  /** The version of the SQL schema that adds the column, which must then be optional. Default: 2. */
  readonly since?: number;
  /** The description in the API documentation. */
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
  | "versions"
  | "stale"
  | { readonly oneOf: readonly string[] }
  | { readonly someOf: readonly string[] };

/**
 * The fields of `VariableInfo`. Rows, exports and API schemas are derived from this table. A new field
 * needs a line in the interface, one here, and a value where metadata is computed (`writer.ts`).
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
  mediaType: { is: "text", isMoved: true },
  textKey: { is: "text", isOptional: true, since: 5 },
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
  // Computed from the column `run`.
  scope: { is: { oneOf: ["conversation", "run"] }, hasColumn: false },
  visibility: { is: { oneOf: ["model", "sealed", "secret"] }, isMoved: true },
  sources: {
    is: "names",
    isMoved: true,
    about: "Where the content came from: caller, tool:get_weather …",
  },
  trusted: { is: "boolean", isMoved: true },
  // Stored in the column `visibility`.
  flags: {
    // Earlier versions wrote `failed`.
    is: { someOf: ["composed", "derived", "failed"] },
    hasColumn: false,
    isOptional: true,
    isMoved: true,
  },
  madeOf: {
    is: "versions",
    isOptional: true,
    isMoved: true,
    since: 7,
    about: "Versions of the variables that its call read",
  },
  stale: { is: "stale", hasColumn: false, isOptional: true, about: "Some of them are newer now" },
  location: { is: { oneOf: ["row", "chunks", "r2", "messages"] } },
  readOnly: { is: "boolean", hasColumn: false, isOptional: true, about: "It cannot be written" },
} as const satisfies { readonly [Name in keyof Required<VariableInfo>]: Field };

type Fields = typeof variableFields;
type MovedName = {
  [Name in keyof Fields]: Fields[Name] extends { readonly isMoved: true } ? Name : never;
}[keyof Fields];

/** The metadata of an exported variable. */
export type MovedInfo = Pick<VariableInfo, MovedName>;

/**
 * Why a variable was evicted: its ttl, disuse, the quota or the end of its run. `left_out`: the variable is
 * a secret and was not exported.
 */
export type EvictionReason = "expired" | "idle" | "quota" | "run_ended" | "left_out";

/** The record of an evicted variable. Lets an error explain how to get the value back. */
export interface Tombstone extends Pick<VariableInfo, "name" | "version" | "tool" | "input"> {
  /** Identifies the call together with the tool. A repetition of the call gets the name again. */
  readonly inputDigest?: string;
  /** Set if the call made the whole value, and it was trusted and not guarded. */
  readonly isRepeatable?: true;
  readonly evictedAt: string;
  readonly reason: EvictionReason;
}

/** Metadata that is needed often. */
export interface Glance extends Pick<
  VariableInfo,
  "version" | "type" | "bytes" | "chars" | "visibility" | "flags" | "readOnly"
> {
  /** The run at whose end the variable is evicted. */
  readonly run?: string | undefined;
}

/** A change of a variable. Never contains a value. */
export type Change =
  | { readonly kind: "updated" | "deleted"; readonly info: VariableInfo }
  /** `stale`: names of values that are made of an older version, if there are any. */
  | { readonly kind: "saved"; readonly info: VariableInfo; readonly stale?: readonly string[] }
  | { readonly kind: "evicted"; readonly info: VariableInfo; readonly tombstone: Tombstone };

/** A value as bytes. It stays readable until it is closed, even if the variable is replaced or deleted. */
export interface OpenValue {
  readonly info: VariableInfo;
  /** Reads the bytes from `from` up to, but not including, `to`. */
  read(from: number, to: number): Promise<Uint8Array>;
  /** Reads records in parts, each record as JSON. Absent for values that are not stored as records. */
  lines?(): AsyncIterable<readonly string[]>;
  close(): void;
}
