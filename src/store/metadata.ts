import { compact, deepFreeze, type Json, parsedJson } from "../value/json.ts";
import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import { byteLength } from "../value/encoding.ts";
import { dueAt } from "./eviction.ts";
import { flagged } from "./labels.ts";
import type { Entry } from "./rows/rows.ts";
import type { Changes } from "./variable-store.ts";
import type { EvictionReason, Tombstone, VariableInfo } from "./variable.ts";

/** Returns the provenance fields that a write sets. */
export function provenanceOf(write: Provenance): Provenance {
  const { description, tool, toolCallId, input } = write;
  return compact({
    description: description === undefined ? undefined : clippedDescription(description),
    tool: tool?.toWellFormed(),
    toolCallId: toolCallId?.toWellFormed(),
    input: input === undefined ? undefined : copiedInput(input),
  });
}

type Provenance = Pick<VariableInfo, "description" | "tool" | "toolCallId" | "input">;

/** Copies the input, because the caller may change its own. Throws `limit_exceeded`. */
function copiedInput(input: Json): Json {
  const text = JSON.stringify(input);
  requireAtMost("maxRecordBytes", byteLength(text), "Pass large data by reference.");
  return deepFreeze(parsedJson(text));
}

/** Returns a variable's metadata after a change. */
export function changedInfo(info: VariableInfo, changes: Changes, nowMs: number): VariableInfo {
  const { expiresAt: before, ...rest } = info;
  const { ttlMs, pinned = info.pinned, description } = changes;
  const dueMs = ttlMs === undefined || ttlMs === null ? undefined : dueAt({ ttlMs }, nowMs);
  const expiresAt = ttlMs === undefined ? before : dueMs === undefined ? undefined : toIso(dueMs);
  return {
    ...rest,
    metadataVersion: (info.metadataVersion ?? 0) + 1,
    pinned,
    ...(description === undefined ? {} : { description: clippedDescription(description) }),
    ...compact({ expiresAt }),
  };
}

/** The fields of an entry that its metadata does not have. */
interface OwnFields extends Pick<Entry, "seq" | "createdAtMs" | "run" | "inputDigest"> {
  readonly nowMs: number;
}

/** Returns the entry of a variable that is written now. */
export function entryOf(info: VariableInfo, { nowMs, ...own }: OwnFields): Entry {
  const { name, version, type, bytes, chars, expiresAt, pinned, visibility, tool, madeOf } = info;
  return {
    ...own,
    name,
    version,
    type,
    bytes,
    chars,
    accessedAtMs: nowMs,
    writtenAccessMs: nowMs,
    expiresAtMs: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    pinned,
    visibility,
    ...flagged(info.flags),
    tool,
    madeOf,
  };
}

/** Returns the entry after a change of its variable's metadata. */
export function changedEntry(entry: Entry, { pinned, expiresAt }: VariableInfo): Entry {
  const expiresAtMs = expiresAt === undefined ? undefined : Date.parse(expiresAt);
  return { ...entry, pinned, expiresAtMs };
}

function clippedDescription(description: string): string {
  return clip(description, limits.maxDescriptionChars).toWellFormed();
}

/** Creates the tombstone of an evicted variable. */
export function tombstoneOf(info: Evicted, eviction: Eviction): Tombstone {
  const { name, version, tool, input } = info;
  const { inputDigest, reason, atMs } = eviction;
  return {
    name,
    version,
    ...compact({ tool }),
    // All tombstones are in memory at the same time.
    ...(input === undefined || !isListed(input) ? {} : { input }),
    ...compact({ inputDigest }),
    ...(isRepeatable(info) && { isRepeatable: true }),
    evictedAt: toIso(atMs),
    reason,
  };
}

function isListed(input: Json): boolean {
  return byteLength(JSON.stringify(input)) <= limits.maxListedInputBytes;
}

type Evicted = Pick<
  VariableInfo,
  "name" | "version" | "tool" | "input" | "visibility" | "trusted" | "flags" | "madeOf"
> &
  Partial<Pick<VariableInfo, "scope">>;

/** A value that was edited or added to is made of itself. */
function isRepeatable(info: Evicted): boolean {
  const { name, tool, input, scope, visibility, trusted, flags = [], madeOf = {} } = info;
  const isWhole = scope !== "run" && !Object.hasOwn(madeOf, name);
  const isOpen = visibility === "model" && trusted && flags.length === 0;
  return isWhole && isOpen && tool !== undefined && input !== undefined && isListed(input);
}

interface Eviction {
  readonly inputDigest: string | undefined;
  readonly reason: EvictionReason;
  readonly atMs: number;
}

/** Formats milliseconds since 1970 as ISO 8601 in UTC. */
export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
