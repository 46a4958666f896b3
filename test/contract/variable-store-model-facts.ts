import { expect } from "vitest";
import * as limits from "../../src/limits.ts";
import type { VariableInfo } from "../../src/store/variable.ts";
import type { Json } from "../../src/value/json.ts";
import { type Path, readPath } from "../../src/value/path.ts";
import { iso } from "./variable-store-fixture.ts";
import type { Entry, Model } from "./variable-store-model.ts";
import { BYTES_TYPE, once, storedBytes, type Value } from "./variable-store-model-values.ts";

/** Metadata without shape, preview and what it was made of, which have tests of their own. */
export function about(info: VariableInfo | undefined) {
  if (info === undefined) return undefined;
  const { shape, preview, madeOf: _, ...others } = info;
  expect([typeof shape, typeof preview]).toEqual(["string", "string"]);
  if (info.visibility === "secret") expect([shape, preview]).toEqual([info.type, ""]);
  return others;
}

export function infoOf({ bounds }: Model, entry: Entry) {
  const { name, version, value, write, pinned, visibility, sources, trusted, description } = entry;
  const { run, description: _description, ...said } = write;
  const { createdMs, updatedMs, accessedMs, expiresMs } = entry;
  const times = {
    createdAt: iso(createdMs),
    updatedAt: iso(updatedMs),
    accessedAt: iso(accessedMs),
  };
  const due = expiresMs < Infinity && { expiresAt: iso(expiresMs) };
  const told = description !== undefined && { description };
  const labels = {
    visibility,
    sources,
    trusted,
    scope: run === undefined ? "conversation" : "run",
  };
  const location = locationOf(value, bounds.hasBucket);
  const flags = entry.isDerived && { flags: ["derived"] };
  const metadataVersion = entry.changes > 0 && { metadataVersion: entry.changes };
  return {
    ...said,
    name,
    version,
    pinned,
    ...labels,
    ...sizeOf(value),
    ...times,
    ...due,
    ...told,
    ...flags,
    ...metadataVersion,
    location,
  };
}

function locationOf(value: Value, hasBucket: boolean): string {
  const bytes = storedBytes(value).length;
  const limit = value instanceof Uint8Array ? limits.maxRowBytes : limits.maxChunkedBytes;
  if (hasBucket && bytes > limit) return "r2";
  return bytes > limits.maxRowBytes ? "chunks" : "row";
}

export const sizeOf = once((value: Value) => {
  const bytes = storedBytes(value).length;
  if (value instanceof Uint8Array)
    return { type: "bytes", count: bytes, bytes, chars: bytes, mediaType: BYTES_TYPE };
  const isText = typeof value === "string" && value.isWellFormed();
  const mediaType = isText ? "text/plain" : "application/json";
  const chars = isText ? value.length : storedBytes(value).toString().length;
  return { ...typeAndCount(value), bytes, chars, mediaType };
});

function typeAndCount(value: Json) {
  if (value === null) return { type: "null", count: 1 };
  if (Array.isArray(value)) return { type: "array", count: value.length };
  if (typeof value === "object") return { type: "object", count: Object.keys(value).length };
  return { type: typeof value, count: typeof value === "string" ? [...value].length : 1 };
}

/** Compares texts, because the difference of two large values is slow to find and to print. */
export function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the value at the path, if there is one. */
export function at(value: Json, path: Path): Json | undefined {
  const reading = readPath(value, path);
  return reading.found ? reading.value : undefined;
}
