import { limitExceeded } from "../errors.ts";
import { limits } from "../limits.ts";
import { clip, deepFreeze, type Json } from "../value/json.ts";
import { byteLength } from "./described.ts";
import type { Changes, Tombstone, VariableInfo, Write } from "./variable-store.ts";

/** What a write says about where its value comes from, as far as it says so. */
export function provenanceOf(write: Write): Provenance {
  const { description, tool, toolCallId, input } = write;
  return {
    ...(description === undefined ? {} : { description: keptDescription(description) }),
    ...(tool === undefined ? {} : { tool: tool.toWellFormed() }),
    ...(toolCallId === undefined ? {} : { toolCallId: toolCallId.toWellFormed() }),
    ...(input === undefined ? {} : { input: keptInput(input) }),
  };
}

type Provenance = Pick<VariableInfo, "description" | "tool" | "toolCallId" | "input">;

/** A copy: the caller may change its own. Throws `limit_exceeded`. */
function keptInput(input: Json): Json {
  const text = JSON.stringify(input);
  const bytes = byteLength(text);
  if (bytes > limits.maxInputBytes) {
    const advice = "Pass large data by reference.";
    throw limitExceeded("maxInputBytes", { maximum: limits.maxInputBytes, actual: bytes, advice });
  }
  return deepFreeze(JSON.parse(text) as Json);
}

/** A variable's metadata after a change. */
export function changed(info: VariableInfo, changes: Changes, nowMs: number): VariableInfo {
  const { expiresAt: before, ...rest } = info;
  const { ttlMs, pinned = info.pinned, description } = changes;
  const dueMs = ttlMs === undefined || ttlMs === null ? undefined : dueAt({ ttlMs }, nowMs);
  const expiresAt = ttlMs === undefined ? before : dueMs === undefined ? undefined : toIso(dueMs);
  return {
    ...rest,
    pinned,
    ...(description === undefined ? {} : { description: keptDescription(description) }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

function keptDescription(description: string): string {
  return clip(description, limits.maxDescriptionChars).toWellFormed();
}

/** When a write is due, in whole milliseconds; undefined if it stays. */
export function dueAt({ ttlMs }: Pick<Write, "ttlMs">, nowMs: number): number | undefined {
  if (ttlMs === undefined) return undefined;
  const dueMs = Math.ceil(nowMs + ttlMs);
  return dueMs <= MAX_DATE_MS ? dueMs : undefined;
}

/** The last moment that a Date can hold (ECMA-262, Time Values). */
const MAX_DATE_MS = 8.64e15;

/** What a reset forgets of variables, oldest first: all but the newest so many and the pinned. */
export function forgottenNames(
  variables: readonly VariableInfo[],
  keepLast: number,
): readonly string[] {
  const unpinned = variables.filter(({ pinned }) => !pinned);
  const forgotten = unpinned.slice(0, Math.max(unpinned.length - wholeCount(keepLast), 0));
  return forgotten.map(({ name }) => name);
}

/** A count that a caller gave as a whole number of at least 0 that SQLite takes. */
export function wholeCount(count: number): number {
  return Math.min(Math.max(Math.floor(count), 0), MAX_COUNT);
}

const MAX_COUNT = 1_000_000_000;

/** What is left of a variable whose time is over. */
export function tombstoneOf(info: VariableInfo, inputDigest?: string): Tombstone {
  const { name, version, tool, input, expiresAt, updatedAt } = info;
  return {
    name,
    version,
    ...(tool === undefined ? {} : { tool }),
    ...(input === undefined ? {} : { input }),
    ...(inputDigest === undefined ? {} : { inputDigest }),
    evictedAt: expiresAt ?? updatedAt,
    reason: "expired",
  };
}

export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
