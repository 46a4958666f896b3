import { limits } from "../limits.ts";
import type { Tombstone, VariableInfo, Write } from "./variable-store.ts";

/** What a write says about where its value comes from, as far as it says so. */
export function provenanceOf(write: Write) {
  const { description, tool, toolCallId, input } = write;
  return {
    ...(description === undefined
      ? {}
      : { description: description.slice(0, limits.maxDescriptionChars) }),
    ...(tool === undefined ? {} : { tool }),
    ...(toolCallId === undefined ? {} : { toolCallId }),
    ...(input === undefined ? {} : { input }),
  };
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
