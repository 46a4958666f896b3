import { ByrefError } from "../errors.ts";
import { clip } from "./characters.ts";
import {
  canonicalJson,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonObject,
} from "./json.ts";

/** An operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/**
 * Returns the value after the operations, each of which copies the containers on its path: the given value is not
 * changed. `check` is called after each operation; what it throws ends the patch. Throws
 * `edit_not_found` for a path that leads nowhere, `edit_conflict` for a test that fails, and
 * `invalid_tool_input` for a text that is no JSON Pointer.
 */
export function patched(
  value: Json,
  operations: readonly PatchOperation[],
  check: (after: Json, operation: PatchOperation) => void = () => undefined,
): Json {
  let after = value;
  for (const operation of operations) {
    after = applied(after, operation);
    check(after, operation);
  }
  return after;
}

function applied(value: Json, operation: PatchOperation): Json {
  const path = pointerIn(operation.path);
  switch (operation.op) {
    case "add":
      return added(value, path, operation.value);
    case "replace":
      return changed(value, path, () => operation.value);
    case "remove":
      return removed(value, path);
    case "test":
      requireEqual(found(value, path), operation);
      return value;
    case "copy":
      return added(value, path, found(value, pointerIn(operation.from)));
    case "move":
      return moved(value, pointerIn(operation.from), path);
  }
}

/** The unescaped steps of a JSON Pointer (RFC 6901). */
function pointerIn(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.startsWith("/") || /~(?![01])/.test(text)) {
    const message = `"${clip(text, 80)}" is not a JSON Pointer; write e.g. /orders/0/total.`;
    throw new ByrefError("invalid_tool_input", message);
  }
  return text
    .slice(1)
    .split("/")
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function moved(value: Json, from: readonly string[], path: readonly string[]): Json {
  const isWithin = from.every((step, at) => step === path[at]);
  if (isWithin && path.length > from.length) {
    const message = `A value cannot be moved into itself: ${pointer(from)} to ${pointer(path)}.`;
    throw new ByrefError("edit_conflict", message);
  }
  const inner = found(value, from);
  return isWithin && path.length === from.length ? value : added(removed(value, from), path, inner);
}

function found(value: Json, path: readonly string[]): Json {
  let inner = value;
  for (const at of path.keys()) inner = child(inner, path, at);
  return inner;
}

/** The member that `path[at]` names. Throws `edit_not_found`. */
function child(value: Json, path: readonly string[], at: number): Json {
  const step = path[at] ?? "";
  const inner = isScalar(value)
    ? undefined
    : isJsonArray(value)
      ? value[indexIn(step) ?? -1]
      : member(value, step);
  if (inner === undefined) throw missing(value, path, at);
  return inner;
}

function member(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function indexIn(step: string): number | undefined {
  return /^(?:0|[1-9]\d{0,15})$/.test(step) ? Number(step) : undefined;
}

/** Replaces the value at an existing path. */
function changed(value: Json, path: readonly string[], change: (inner: Json) => Json): Json {
  const within = (outer: Json, at: number): Json => {
    if (at === path.length) return change(outer);
    const inner = within(child(outer, path, at), at + 1);
    const step = path[at] ?? "";
    if (isJsonArray(outer)) return outer.with(Number(step), inner);
    return withKey(outer as JsonObject, step, inner);
  };
  return within(value, 0);
}

function added(value: Json, path: readonly string[], inner: Json): Json {
  const step = path.at(-1);
  if (step === undefined) return inner;
  return changed(value, path.slice(0, -1), (outer) => {
    if (isJsonObject(outer)) return withKey(outer, step, inner);
    const length = isJsonArray(outer) ? outer.length : -1;
    const index = step === "-" ? length : (indexIn(step) ?? Infinity);
    if (!isJsonArray(outer) || index > length) throw missing(outer, path, path.length - 1);
    return outer.toSpliced(index, 0, inner);
  });
}

function removed(value: Json, path: readonly string[]): Json {
  const step = path.at(-1);
  if (step === undefined) {
    throw new ByrefError("edit_conflict", "The whole value cannot be removed; replace it.");
  }
  return changed(value, path.slice(0, -1), (outer) => {
    child(outer, path, path.length - 1);
    if (isJsonArray(outer)) return outer.toSpliced(Number(step), 1);
    const { [step]: _, ...others } = outer as JsonObject;
    return others;
  });
}

/** Keeps the place of an existing key. A computed key named __proto__ stays a key. */
function withKey(value: JsonObject, key: string, inner: Json): JsonObject {
  return { ...value, [key]: inner };
}

function requireEqual(actual: Json, { path, value }: { path: string; value: Json }): void {
  if (actual === value || canonicalJson(actual) === canonicalJson(value)) return;
  const message = `The test of ${path || "the whole value"} failed: it has another value. Read it first.`;
  throw new ByrefError("edit_conflict", message, { path });
}

function missing(value: Json, path: readonly string[], at: number): ByrefError {
  const place = at === 0 ? "The value" : pointer(path.slice(0, at));
  const message = `${pointer(path.slice(0, at + 1))} leads nowhere. ${place} ${contentsOf(value)}.`;
  return new ByrefError("edit_not_found", message, { path: pointer(path) });
}

const MAX_KEYS = 20;

function contentsOf(value: Json): string {
  if (isScalar(value)) return "is neither an object nor an array";
  if (isJsonArray(value)) return `has ${value.length} elements`;
  const keys = Object.keys(value).slice(0, MAX_KEYS);
  // As they are written in a path.
  const shown = keys.map((key) => clip(pointer([key]).slice(1), 60)).join(", ");
  return `has the keys ${shown || "(none)"}`;
}

function pointer(path: readonly string[]): string {
  const written = path.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`);
  return clip(written.join(""), 200);
}
