import { limitExceeded } from "../errors.ts";
import { limits } from "../limits.ts";
import { clip, type Json } from "../value/json.ts";
import { byteLength } from "./described.ts";
import type { Tombstone, VariableInfo, Write } from "./variable-store.ts";

/** What a write says about where its value comes from, as far as it says so. */
export function provenanceOf(write: Write): Provenance {
  const { description, tool, toolCallId, input } = write;
  return {
    ...(description === undefined
      ? {}
      : { description: clip(description, limits.maxDescriptionChars).toWellFormed() }),
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
  return JSON.parse(text) as Json;
}

/** When a write is due, in whole milliseconds; undefined if it stays. */
export function dueAt(write: Write, nowMs: number): number | undefined {
  return write.ttlMs === undefined ? undefined : Math.ceil(nowMs + write.ttlMs);
}

/** What is left of a variable whose time is over. */
export function tombstoneOf(info: VariableInfo): Tombstone {
  const { name, version, tool, input, expiresAt, updatedAt } = info;
  return {
    name,
    version,
    ...(tool === undefined ? {} : { tool }),
    ...(input === undefined ? {} : { input }),
    evictedAt: expiresAt ?? updatedAt,
    reason: "expired",
  };
}

export function toIso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
