import { ByrefError } from "../errors.ts";
import type { VariableInfo, Write } from "./variable-store.ts";
import { isJsonArray, isJsonObject, type Json, typeOfJson } from "../value/json.ts";

/** `new` never touches what is there: it writes `name_000`, `name_001` … */
export type WriteMode = "replace" | "append" | "merge" | "new";

/**
 * What a variable holds after a write. `append` joins texts and adds elements to an array; `merge` puts
 * an object's keys into another's, at any depth. Without a value there, each is `replace`. Throws
 * `bad_value` for any other pair; then nothing is to be written.
 */
export function valueAfter(mode: WriteMode, existing: Json | undefined, value: Json): Json {
  if (existing === undefined || mode === "replace" || mode === "new") return value;
  return mode === "append" ? appended(existing, value) : merged(existing, value);
}

function appended(existing: Json, value: Json): Json {
  if (isJsonArray(existing)) return [...existing, ...(isJsonArray(value) ? value : [value])];
  if (typeof existing === "string" && typeof value === "string") return existing + value;
  throw mismatch("append to", existing, value);
}

function merged(existing: Json, value: Json): Json {
  if (isJsonObject(existing) && isJsonObject(value)) return mergedObjects(existing, value);
  throw mismatch("merge into", existing, value);
}

function mergedObjects(
  existing: Readonly<Record<string, Json>>,
  value: Readonly<Record<string, Json>>,
) {
  const entries = new Map(Object.entries(existing));
  for (const [key, inner] of Object.entries(value)) {
    const before = entries.get(key);
    const areObjects = before !== undefined && isJsonObject(before) && isJsonObject(inner);
    entries.set(key, areObjects ? merged(before, inner) : inner);
  }
  // Defines own properties, so that a key named __proto__ stays a key.
  return Object.fromEntries(entries);
}

function mismatch(verb: string, existing: Json, value: Json): ByrefError {
  const kinds = `${typeOfJson(existing)} here, ${typeOfJson(value)} given`;
  const message = `Cannot ${verb} this variable (${kinds}): use mode=replace, or give what fits.`;
  return new ByrefError("bad_value", message);
}

/** True for a write that adds to what is there. */
export function isExtension({ mode, name }: Pick<Write, "mode" | "name">): boolean {
  return (mode === "append" || mode === "merge") && typeof name === "string";
}

/** The write with what it does not say taken from the variable that it extends. */
export function extending(write: Write, existing: VariableInfo, nowMs: number): Write {
  const { pinned, description, expiresAt } = existing;
  return {
    pinned,
    ...(description === undefined ? {} : { description }),
    ...(expiresAt === undefined ? {} : { ttlMs: Date.parse(expiresAt) - nowMs }),
    ...write,
  };
}

/** The first of `name_000`, `name_001` … above every number that was used. */
export function newName(name: string, highestNumber: number): string {
  return `${name}_${String(highestNumber + 1).padStart(3, "0")}`;
}
