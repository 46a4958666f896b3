import { codeOf } from "../../errors.ts";
import { answerFrom } from "../../reference/lookup-in.ts";
import type { Variables } from "../../store/variable-store.ts";
import type { VariableInfo } from "../../store/variable.ts";
import { codePointCount, sliceCodePoints } from "../../value/characters.ts";
import { isJsonArray, isScalar, type Json } from "../../value/json.ts";
import {
  type Bounds,
  isSlice,
  type Path,
  readPath,
  type Segment,
  sliceBounds,
} from "../../value/path.ts";
import { Work } from "../../value/work.ts";
import { valueOf } from "../store-lookup.ts";
import { problemFrom } from "../../reference/reference-problem.ts";
import type { Found, Missing } from "../../reference/lookup.ts";
import { existing, readable, referenceTo, type Target } from "./variable-target.ts";

/** An array or a text whose parts can be loaded without the rest. */
export interface Sequence {
  readonly type: "array" | "string";
  /** Elements or characters (code points). */
  readonly count: number;
  /** Average length of an element or character as JSON, as far as known. */
  readonly averageChars: number;
  /** Returns an array for an array, a string for a string. `from` and `to` are between 0 and `count`. */
  slice(from: number, to: number): Promise<Json>;
  /** Returns the path of an element in the variable. */
  pathOf(index: number): Promise<Path>;
  /** Returns the path of a slice. Not valid for a path with `[*]`, where a slice has no single place. */
  pathOfSlice(from: number, to: number): Path;
}

/** The value of a target: a sequence, or a value of another kind. */
export type Part = { readonly sequence: Sequence } | { readonly value: Json };

/** Reads the value of a target, if the reader may have it. */
export type ReadTarget = (store: Variables, target: Target) => Promise<Json>;

/**
 * Returns the value of a target. A value that is stored as a sequence is not loaded. `read` decides what may be
 * read. Default: what a model may see.
 */
export async function partAt(
  store: Variables,
  target: Target,
  read: ReadTarget = valueAt,
): Promise<Part> {
  const info = existing(store, target.name);
  const bounds = sliceOf(info, target.path);
  if (bounds !== undefined) return { sequence: stored(store, info, { bounds, read }) };
  const value = await read(store, target);
  if (isJsonArray(value)) return { sequence: inArray(store, target, value) };
  return typeof value === "string" ? { sequence: inText(value, target) } : { value };
}

/**
 * Reads the value. Checks as `readable` does for each piece, because another call may have sealed the
 * variable meanwhile. Also throws the errors of `resolveReferences`, which list no keys of an untrusted variable.
 */
export async function valueAt(store: Variables, target: Target): Promise<Json> {
  const { name, trusted } = readable(store, target.name);
  const answer = await answerAt(store, target);
  if (answer.found || answer.reason !== "path" || trusted) return valueOf(target, answer);
  const message = `${referenceTo(target)} leads nowhere. read_variable shows what ${name} has.`;
  throw problemFrom(referenceTo(target), { found: false, reason: "path", message });
}

/** Reads the value whatever its visibility. Throws the errors of `resolveReferences`. */
export async function anyValueAt(store: Variables, target: Target): Promise<Json> {
  return valueOf(target, await answerAt(store, target));
}

async function answerAt(store: Variables, target: Target): Promise<Found | Missing> {
  const reading = await store.readPath(target.name, target.path);
  if (reading !== undefined) return answerFrom(target, reading);
  existing(store, target.name);
  return { found: true, value: null };
}

/** Returns the bounds of a stored array or text, or of one slice of it, which need no load. */
function sliceOf({ type, count }: VariableInfo, path: Path): Bounds | undefined {
  if (type !== "array" && type !== "string") return undefined;
  const [first, ...rest] = path;
  if (first === undefined) return { from: 0, to: count };
  return rest.length === 0 && isSlice(first) ? sliceBounds(first, count) : undefined;
}

function stored(
  store: Variables,
  info: VariableInfo,
  { bounds, read }: { readonly bounds: Bounds; readonly read: ReadTarget },
): Sequence {
  const type = info.type === "array" ? "array" : "string";
  return {
    type,
    count: bounds.to - bounds.from,
    averageChars: info.chars / Math.max(info.count, 1),
    slice: async (from, to) => {
      if (from >= to) return type === "array" ? [] : "";
      const path = [{ from: bounds.from + from, to: bounds.from + to }];
      return read(store, { name: info.name, path });
    },
    pathOf: async (index) => [{ index: bounds.from + index }],
    pathOfSlice: (from, to) => [{ from: bounds.from + from, to: bounds.from + to }],
  };
}

function inArray(store: Variables, target: Target, elements: readonly Json[]): Sequence {
  return {
    type: "array",
    count: elements.length,
    averageChars: 1,
    slice: async (from, to) => elements.slice(from, to),
    pathOf: (index) => pathOfElement(store, target, index),
    pathOfSlice: (from, to) => [...target.path, { from, to }],
  };
}

function inText(text: string, { path }: Target): Sequence {
  return {
    type: "string",
    count: codePointCount(text),
    averageChars: 1,
    slice: async (from, to) => sliceCodePoints(text, { from, to }),
    pathOf: async () => path,
    pathOfSlice: (from, to) => [...path, { from, to }],
  };
}

/** Behind `[*]`, an index would apply to each element, so the element itself is located. */
async function pathOfElement(store: Variables, target: Target, index: number): Promise<Path> {
  const { name, path } = target;
  const at = path.findIndex((segment) => "each" in segment);
  if (at < 0) return [...path, { index }];
  const above = path.slice(0, at);
  const rest = path.slice(at + 1);
  const part = await partAt(store, { name, path: above });
  const children = "sequence" in part ? part.sequence : undefined;
  const work = new Work();
  let left = index;
  for await (const { path: step, value } of childrenOf(part)) {
    if (!readPath(value, rest, work).found) continue;
    if (left-- > 0) continue;
    const isElement = children !== undefined && "index" in step;
    return [...(isElement ? await children.pathOf(step.index) : [...above, step]), ...rest];
  }
  return path;
}

export interface Child {
  readonly path: Segment;
  readonly value: Json;
}

/** Yields the elements of an array, or the values of an object, loaded in batches. */
export async function* childrenOf(part: Part, first = 0): AsyncGenerator<Child> {
  if ("value" in part) {
    if (isScalar(part.value)) return;
    for (const [key, value] of Object.entries(part.value).slice(first)) {
      yield { path: { key }, value };
    }
    return;
  }
  const { sequence } = part;
  const { count, averageChars } = sequence;
  let size = Math.max(Math.floor(BATCH_CHARS / Math.max(averageChars, 1)), 1);
  for (let from = first; from < count;) {
    const to = Math.min(from + size, count);
    let elements: Json;
    try {
      elements = await sequence.slice(from, to);
    } catch (error) {
      // They are too many to load at once. A single one that is too large throws.
      if (codeOf(error) !== "limit_exceeded" || to - from <= 1) throw error;
      size = Math.max(Math.floor((to - from) / 2), 1);
      continue;
    }
    const batch = isScalar(elements) || !isJsonArray(elements) ? [] : elements;
    for (const [index, value] of batch.entries()) yield { path: { index: from + index }, value };
    from = to;
  }
}

/** About 256 KiB at a time, which the store loads anyway to find one element. */
const BATCH_CHARS = 262_144;
