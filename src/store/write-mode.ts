import { compact, isJsonArray, isJsonObject, type Json, typeOfJson } from "../value/json.ts";
import { ByrefError } from "../errors.ts";
import type { Write, WriteMode } from "./variable-store.ts";
import type { Entry } from "./rows/rows.ts";
import type { VariableInfo } from "./variable.ts";
import { formatPath, type Path } from "../value/path.ts";
import { flagged, joinedLabels, madeOfAll } from "./labels.ts";

/**
 * Returns a variable's value after a write. `append` joins texts and adds elements to an array; `merge`
 * puts an object's keys into another's, at any depth. Without an existing value, each is `replace`. Throws
 * `bad_value` for any other combination; then nothing must be written.
 */
function valueAfter(mode: WriteMode, existing: Json | undefined, value: Json): Json {
  if (existing === undefined || mode === "replace" || mode === "new") return value;
  return mode === "append" ? appended(existing, value) : merged(existing, value);
}

/**
 * The same for a path inside a value. Missing objects on the path are created; elements of arrays must
 * exist. Throws `bad_value` for any other value on the path, `bad_path` for a path that is not a single
 * place.
 */
export function valueWithin(
  existing: Json | undefined,
  path: Path,
  write: { readonly mode: WriteMode; readonly value: Json },
): Json {
  const [segment, ...rest] = path;
  if (segment === undefined) return valueAfter(write.mode, existing, write.value);
  if ("key" in segment) {
    if (existing !== undefined && !isJsonObject(existing)) throw inTheWay(existing, path);
    const entries = new Map(Object.entries(existing ?? {}));
    entries.set(segment.key, valueWithin(entries.get(segment.key), rest, write));
    return Object.fromEntries(entries);
  }
  if (!("index" in segment)) {
    throw new ByrefError("bad_path", `${formatPath(path)} is not a single place to write to.`);
  }
  if (existing === undefined || !isJsonArray(existing)) throw inTheWay(existing ?? null, path);
  const index = segment.index < 0 ? existing.length + segment.index : segment.index;
  const element = existing[index];
  if (element === undefined) {
    const message = `There is no element at ${formatPath(path)} (${existing.length} are here); append to the array with mode=append.`;
    throw new ByrefError("bad_value", message);
  }
  return existing.with(index, valueWithin(element, rest, write));
}

function inTheWay(existing: Json, path: Path): ByrefError {
  const message = `Cannot write to ${formatPath(path)}: ${typeOfJson(existing)} is in the way. Write one level above it, or elsewhere.`;
  return new ByrefError("bad_value", message);
}

function appended(existing: Json, value: Json): Json {
  if (isJsonArray(existing)) return [...existing, ...(isJsonArray(value) ? value : [value])];
  if (typeof existing === "string" && typeof value === "string") return existing + value;
  throw mismatch("append to", existing, value);
}

function merged(existing: Json, value: Json): Json {
  if (!isJsonObject(existing) || !isJsonObject(value))
    throw mismatch("merge into", existing, value);
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
  const message = `Cannot ${verb} this variable (${kinds}): use mode=replace, or give a value that fits.`;
  return new ByrefError("bad_value", message);
}

/** True for a write whose result depends on the existing value. */
export function isExtension({ mode, name, path = [] }: Write): boolean {
  const dependsOnIt = mode === "append" || mode === "merge" || path.length > 0;
  return dependsOnIt && typeof name === "string";
}

/** Completes a write with pin, description and ttl of the existing variable where the write sets none. */
export function keepingMetadata(write: Write, existing: VariableInfo, nowMs: number): Write {
  const { pinned, description, expiresAt } = existing;
  return {
    pinned,
    ...compact({ description }),
    ...(expiresAt === undefined ? {} : { ttlMs: Date.parse(expiresAt) - nowMs }),
    ...write,
  };
}

/** Returns a write that extends the variable, with the labels of both. */
export function extending(write: Write, existing: VariableInfo, nowMs: number): Write {
  const { trusted = true, visibility = "model", toolCallId } = write;
  const own = { ...write, sources: sourcesOf(write), trusted, visibility };
  const labels = joinedLabels([existing, own]);
  // A call that adds to a guarded value derives a new one from it.
  const isDerived = toolCallId !== undefined && labels.visibility !== "model";
  return {
    ...keepingMetadata(write, existing, nowMs),
    // The existing content keeps its sources and labels.
    ...labels,
    ...(isDerived ? flagged([...(labels.flags ?? []), "derived"]) : {}),
  };
}

/**
 * Returns what the variable is made of after a write. One that adds to the existing value is made of what that is made
 * of; a call that repeats it would not make the whole value, so the value names itself.
 */
export function madeOfAfter(write: Write, name: string, previous: Made = { version: 0 }) {
  const { madeOf, tool } = write;
  const readsOwn = Object.hasOwn(madeOf ?? {}, name) && madeOf?.[name] !== 0;
  if (!isExtension(write) && !readsOwn) return madeOfAll([madeOf]);
  const { [name]: _, ...others } = madeOfAll([previous.madeOf, madeOf]).madeOf ?? {};
  return madeOfAll([tool === undefined ? undefined : { [name]: previous.version }, others]);
}

type Made = Pick<Entry, "version"> & Partial<Pick<Entry, "madeOf">>;

/** Returns the sources that a write sets; by default its tool, or the caller. */
export function sourcesOf({ sources, tool }: Pick<Write, "sources" | "tool">): readonly string[] {
  return sources ?? [tool === undefined ? "caller" : `tool:${tool}`];
}
