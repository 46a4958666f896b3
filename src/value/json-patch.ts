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

/** Watches a patch. What it throws ends the patch. */
export interface PatchWatcher {
  /** Called before containers are copied, with the cost in characters that are read. */
  spend(chars: number): void;
  /** Called after each operation. */
  check(after: Json, operation: PatchOperation): void;
}

/**
 * Returns the value after the operations. The given value is not changed: each operation copies the containers above
 * what it changes, and shares all other parts. Throws `edit_not_found` for a path that leads nowhere, `edit_conflict` for a test that fails, and
 * `invalid_tool_input` for a text that is no JSON Pointer.
 */
export function patchJson(
  value: Json,
  operations: readonly PatchOperation[],
  watcher?: PatchWatcher,
): Json {
  const patcher = new Patcher(watcher);
  let after = value;
  for (const operation of operations) {
    after = patcher.apply(after, operation);
    watcher?.check(after, operation);
  }
  return after;
}

class Patcher {
  readonly #watcher: PatchWatcher | undefined;

  constructor(watcher: PatchWatcher | undefined) {
    this.#watcher = watcher;
  }

  apply(value: Json, operation: PatchOperation): Json {
    const path = pointerIn(operation.path);
    switch (operation.op) {
      case "add":
        return this.#add(value, path, operation.value);
      case "replace":
        return this.#change(value, path, () => operation.value);
      case "remove":
        return this.#remove(value, path);
      case "test":
        requireEqual(found(value, path), operation);
        return value;
      case "copy":
        return this.#add(value, path, found(value, pointerIn(operation.from)));
      case "move":
        return this.#move(value, pointerIn(operation.from), path);
    }
  }

  /** Replaces the value at an existing path. */
  #change(value: Json, path: readonly string[], change: (inner: Json) => Json, at = 0): Json {
    if (at === path.length) return change(value);
    const inner = this.#change(child(value, path, at), path, change, at + 1);
    const step = path[at] ?? "";
    return isJsonArray(value)
      ? this.#spliced(value, Number(step), 1, inner)
      : this.#withKey(value as JsonObject, step, inner);
  }

  #add(value: Json, path: readonly string[], inner: Json): Json {
    const step = path.at(-1);
    if (step === undefined) return inner;
    const at = path.length - 1;
    return this.#change(value, path.slice(0, -1), (outer) => {
      if (isJsonObject(outer)) return this.#withKey(outer, step, inner);
      const isList = isJsonArray(outer);
      const length = isList ? outer.length : -1;
      const index = step === "-" ? length : (indexIn(step) ?? Infinity);
      if (!isList || index > length) throw missing(outer, path, at);
      return this.#spliced(outer, index, 0, inner);
    });
  }

  #remove(value: Json, path: readonly string[]): Json {
    const step = path.at(-1);
    if (step === undefined) {
      throw new ByrefError("edit_conflict", "The whole value cannot be removed; replace it.");
    }
    const at = path.length - 1;
    return this.#change(value, path.slice(0, -1), (outer) => {
      child(outer, path, at);
      if (isJsonArray(outer)) return this.#spliced(outer, Number(step), 1);
      const { [step]: _, ...rest } = outer as JsonObject;
      this.#watcher?.spend(KEY_CHARS * Object.keys(rest).length);
      return Object.freeze(rest);
    });
  }

  #move(value: Json, from: readonly string[], path: readonly string[]): Json {
    const startsThere = from.every((step, at) => step === path[at]);
    if (startsThere && path.length > from.length) {
      const message = `A value cannot be moved into itself: ${pointer(from)} to ${pointer(path)}.`;
      throw new ByrefError("edit_conflict", message);
    }
    const inner = found(value, from);
    if (startsThere && path.length === from.length) return value;
    return this.#add(this.#remove(value, from), path, inner);
  }

  /** Keeps the place of an existing key. A key named __proto__ stays a key. */
  #withKey(value: JsonObject, key: string, inner: Json): JsonObject {
    this.#watcher?.spend(KEY_CHARS * Object.keys(value).length);
    return Object.freeze({ ...value, [key]: inner });
  }

  #spliced(array: JsonArray, at: number, removed: number, ...inner: readonly Json[]): JsonArray {
    this.#watcher?.spend(array.length);
    return Object.freeze(array.toSpliced(at, removed, ...inner));
  }
}

/** Cost of copying a key, in characters that are read. */
const KEY_CHARS = 100;

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
