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
 * Returns the value after the operations. The given value is not changed; parts that stay are shared. A
 * container is copied once, however many operations change it, unless it is copied itself. Throws
 * `edit_not_found` for a path that leads nowhere, `edit_conflict` for a test that fails, and
 * `invalid_tool_input` for a text that is no JSON Pointer.
 */
export function patchJson(
  value: Json,
  operations: readonly PatchOperation[],
  watcher?: PatchWatcher,
): Json {
  const patcher = new Patcher((chars) => watcher?.spend(chars));
  let after = value;
  for (const operation of operations) {
    after = patcher.apply(after, operation);
    watcher?.check(after, operation);
  }
  patcher.freeze();
  return after;
}

/** Applies operations. It may change the containers that it has made; all others are shared with the given value. */
class Patcher {
  readonly #made = new Set<JsonArray | JsonObject>();
  readonly #spend: (chars: number) => void;

  constructor(spend: (chars: number) => void) {
    this.#spend = spend;
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
      case "copy": {
        const inner = found(value, pointerIn(operation.from));
        this.#share(inner);
        return this.#add(value, path, inner);
      }
      case "move":
        return this.#move(value, pointerIn(operation.from), path);
    }
  }

  freeze(): void {
    for (const container of this.#made) Object.freeze(container);
  }

  /** Replaces the value at an existing path. */
  #change(value: Json, path: readonly string[], change: (inner: Json) => Json, at = 0): Json {
    if (at === path.length) return change(value);
    const inner = this.#change(child(value, path, at), path, change, at + 1);
    const step = path[at] ?? "";
    if (!isJsonArray(value)) return this.#withKey(value as JsonObject, step, inner);
    const array = this.#array(value);
    array[Number(step)] = inner;
    return array;
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
      const array = this.#array(outer);
      array.splice(index, 0, inner);
      return array;
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
      if (isJsonArray(outer)) {
        const array = this.#array(outer);
        array.splice(Number(step), 1);
        return array;
      }
      const object = this.#object(outer as JsonObject);
      Reflect.deleteProperty(object, step);
      return object;
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

  /** Keeps the place of an existing key. */
  #withKey(value: JsonObject, key: string, inner: Json): JsonObject {
    // Defines own properties, so that a key named __proto__ stays a key.
    const property = { value: inner, writable: true, enumerable: true, configurable: true };
    return Object.defineProperty(this.#object(value), key, property);
  }

  #array(array: JsonArray): Json[] {
    // An array in this set is a copy.
    if (this.#made.has(array)) return array as Json[];
    this.#spend(array.length);
    const copy = [...array];
    this.#made.add(copy);
    return copy;
  }

  #object(object: JsonObject): JsonObject {
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
  #share(value: Json): void {
    if (isScalar(value) || !this.#made.delete(value)) return;
    Object.freeze(value);
    for (const inner of Object.values(value)) this.#share(inner);
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
