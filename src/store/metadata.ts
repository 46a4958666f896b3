import { compact, deepFreeze, type Json, parsedJson } from "../value/json.ts";
import { requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import { clip } from "../value/characters.ts";
import { byteLength } from "../value/encoding.ts";
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
  const expiresAt = ttlMs === undefined ? before : expiryOf(ttlMs, nowMs);
  return {
    ...rest,
    metadataVersion: (info.metadataVersion ?? 0) + 1,
    pinned,
    ...(description === undefined ? {} : { description: clippedDescription(description) }),
    ...compact({ expiresAt }),
  };
}

/** Returns when a value that is written now expires; undefined if it does not. */
export function expiryOf(ttlMs: number | null | undefined, nowMs: number): string | undefined {
  const dueMs = Math.ceil(nowMs + (ttlMs ?? Infinity));
  return dueMs <= MAX_DATE_MS ? toIso(dueMs) : undefined;
}

/** The latest time that a Date can represent (ECMA-262, Time Values). */
const MAX_DATE_MS = 8.64e15;

function clippedDescription(description: string): string {
  return clip(description, limits.maxDescriptionChars).toWellFormed();
}

/** Creates the tombstone of an evicted variable. */
export function tombstoneOf(info: Evicted, { inputDigest, reason, atMs }: Eviction): Tombstone {
  const { name, version, tool } = info;
  // All tombstones are in memory at the same time.
  const input = isListed(info.input) ? info.input : undefined;
  const isRepeatable = input !== undefined && isMadeByCall(info) ? (true as const) : undefined;
  const known = compact({ tool, input, inputDigest, isRepeatable });
  return { name, version, ...known, evictedAt: toIso(atMs), reason };
}

/** False for a long input: many variables are listed at once. */
export function isListed(input: Json | undefined): boolean {
  return input === undefined || byteLength(JSON.stringify(input)) <= limits.maxListedInputBytes;
}

type Evicted = Pick<
  VariableInfo,
  "name" | "version" | "tool" | "input" | "visibility" | "trusted" | "flags" | "madeOf"
> &
  Partial<Pick<VariableInfo, "scope">>;

/** True if a repeated call makes the same. A value that was edited or added to is made of itself. */
function isMadeByCall(info: Evicted): boolean {
  const { name, tool, scope, visibility, trusted, flags = [], madeOf = {} } = info;
  const isWhole = scope !== "run" && !Object.hasOwn(madeOf, name);
  return isWhole && visibility === "model" && trusted && flags.length === 0 && tool !== undefined;
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
