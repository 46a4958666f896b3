import { ByrefError } from "../errors.ts";
import { clip } from "./characters.ts";
import {
  canonicalJson,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  type JsonArray,
  type JsonObject,
} from "./json.ts";

/** An operation of a JSON Patch (RFC 6902). */
export type PatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly path: string; readonly from: string };

/** The containers that a patch has made, which it may change. All others are shared with the given value. */
class Own {
  readonly #made = new Set<JsonArray | JsonObject>();
  readonly #spend: (chars: number) => void;

  constructor(spend: (chars: number) => void) {
    this.#spend = spend;
  }

  array(array: JsonArray): Json[] {
    // An array in this set is a copy.
    if (this.#made.has(array)) return array as Json[];
    this.#spend(array.length);
    const copy = [...array];
    this.#made.add(copy);
    return copy;
  }

  object(object: JsonObject): JsonObject {
    if (this.#made.has(object)) return object;
    const entries = Object.entries(object);
    this.#spend(KEY_CHARS * entries.length);
    const copy = Object.fromEntries(entries);
    this.#made.add(copy);
    return copy;
  }

  /**
   * Gives up what it made of the value, which will be in two places, of which only one may change. What is in a
   * container that it has not made is not its own either.
   */
  share(value: Json): void {
    if (isScalar(value) || !this.#made.delete(value)) return;
    Object.freeze(value);
    for (const inner of Object.values(value)) this.share(inner);
  }

  freeze(): void {
    for (const container of this.#made) Object.freeze(container);
  }
}

/** Cost of copying a key, in characters that are read. */
const KEY_CHARS = 100;

/** Watches a patch. What it throws ends the patch. */
export interface PatchWatcher {
  /** Called before containers are copied, with the cost in characters that are read. */
  spend(chars: number): void;
  /** Called after each operation. */
  check(after: Json, operation: PatchOperation): void;
}

/**
 * Returns the value after the operations. The given value is not changed; parts that stay are shared. A
 * container is copied once, however many operations change it, unless it is copied itself. Throws
 * `edit_not_found` for a path that leads nowhere, `edit_conflict` for a test that fails, and
 * `invalid_tool_input` for a text that is no JSON Pointer.
 */
export function patched(
  value: Json,
  operations: readonly PatchOperation[],
  watcher?: PatchWatcher,
): Json {
  const own = new Own((chars) => watcher?.spend(chars));
  let after = value;
  for (const operation of operations) {
    after = applied(after, operation, own);
    watcher?.check(after, operation);
  }
  own.freeze();
  return after;
}

function applied(value: Json, operation: PatchOperation, own: Own): Json {
  const path = pointerIn(operation.path);
  switch (operation.op) {
    case "add":
      return added(value, { path, own }, operation.value);
    case "replace":
      return changed(value, { path, own }, () => operation.value);
    case "remove":
      return removed(value, { path, own });
    case "test":
      requireEqual(found(value, path), operation);
      return value;
    case "copy": {
      const inner = found(value, pointerIn(operation.from));
      own.share(inner);
      return added(value, { path, own }, inner);
    }
    case "move":
      return moved(value, pointerIn(operation.from), { path, own });
  }
}

interface Place {
  readonly path: readonly string[];
  readonly own: Own;
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

function moved(value: Json, from: readonly string[], to: Place): Json {
  const { path, own } = to;
  const isInside = path.length > from.length && from.every((step, at) => step === path[at]);
  if (isInside) {
    const message = `A value cannot be moved into itself: ${pointer(from)} to ${pointer(path)}.`;
    throw new ByrefError("edit_conflict", message);
  }
  const inner = found(value, from);
  if (from.length === path.length && from.every((step, at) => step === path[at])) return value;
  return added(removed(value, { path: from, own }), to, inner);
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
function changed(value: Json, { path, own }: Place, change: (inner: Json) => Json): Json {
  const within = (outer: Json, at: number): Json => {
    if (at === path.length) return change(outer);
    const inner = within(child(outer, path, at), at + 1);
    const step = path[at] ?? "";
    if (isJsonArray(outer)) {
      const array = own.array(outer);
      array[Number(step)] = inner;
      return array;
    }
    return withKey(outer as JsonObject, step, { inner, own });
  };
  return within(value, 0);
}

function added(value: Json, { path, own }: Place, inner: Json): Json {
  const step = path.at(-1);
  if (step === undefined) return inner;
  const at = path.length - 1;
  return changed(value, { path: path.slice(0, -1), own }, (outer) => {
    if (isJsonObject(outer)) return withKey(outer, step, { inner, own });
    const isList = !isScalar(outer) && isJsonArray(outer);
    const length = isList ? outer.length : -1;
    const index = step === "-" ? length : (indexIn(step) ?? Infinity);
    if (!isList || index > length) throw missing(outer, path, at);
    const array = own.array(outer);
    array.splice(index, 0, inner);
    return array;
  });
}

function removed(value: Json, { path, own }: Place): Json {
  const step = path.at(-1);
  if (step === undefined) {
    throw new ByrefError("edit_conflict", "The whole value cannot be removed; replace it.");
  }
  const at = path.length - 1;
  return changed(value, { path: path.slice(0, -1), own }, (outer) => {
    child(outer, path, at);
    if (!isScalar(outer) && isJsonArray(outer)) {
      const array = own.array(outer);
      array.splice(Number(step), 1);
      return array;
    }
    const object = own.object(outer as JsonObject);
    Reflect.deleteProperty(object, step);
    return object;
  });
}

/** Keeps the place of an existing key. */
function withKey(
  value: JsonObject,
  key: string,
  { inner, own }: { readonly inner: Json; readonly own: Own },
): JsonObject {
  const object = own.object(value);
  // Defines own properties, so that a key named __proto__ stays a key.
  const property = { value: inner, writable: true, enumerable: true, configurable: true };
  return Object.defineProperty(object, key, property);
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
