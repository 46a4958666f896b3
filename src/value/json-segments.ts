import { isExactNumber } from "./exact-number.ts";
import { isJsonArray, isJsonObject, type Json, type JsonArray, type JsonObject } from "./json.ts";
import type { Segment } from "./segments.ts";

/**
 * Compares two values that share what is equal, and returns the difference of their texts, indented by two
 * spaces. Elements of arrays are compared from both ends. Cost: linear.
 */
export function* jsonSegments(before: Json, after: Json): Generator<Segment> {
  yield* compared({ before, after, indent: "", key: "", comma: { before: "", after: "" } });
}

interface Compared {
  readonly before: Json;
  readonly after: Json;
  readonly indent: string;
  /** The key with its colon; empty in arrays. */
  readonly key: string;
  readonly comma: { readonly before: string; readonly after: string };
}

function* compared({ before, after, indent, key, comma }: Compared): Generator<Segment> {
  const start = indent + key;
  if (isSame(before, after)) {
    yield { kind: "same", text: start + textOf(before, indent) };
  } else if (haveMembers(before, after)) {
    const [opening, closing] = isJsonArray(before) ? ["[", "]"] : ["{", "}"];
    yield { kind: "same", text: `${start}${opening}\n` };
    const total = { before: sizeOf(before), after: sizeOf(after) };
    yield* members(pairsOf(before, after), total, `${indent}  `);
    yield { kind: "same", text: indent + closing };
  } else {
    yield { kind: "same", text: start };
    yield { kind: "removed", text: textOf(before, indent) };
    yield { kind: "added", text: textOf(after, indent) };
  }
  if (comma.before === comma.after) yield { kind: "same", text: comma.before };
  else {
    yield { kind: "removed", text: comma.before };
    yield { kind: "added", text: comma.after };
  }
  yield { kind: "same", text: "\n" };
}

/** A member of both values, or of one. */
interface Pair {
  readonly key: string;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** The numbers of members of both values. */
interface Counts {
  readonly before: number;
  readonly after: number;
}

function* members(pairs: Iterable<Pair>, total: Counts, indent: string): Generator<Segment> {
  const left = { ...total };
  // Unchanged members that are the last ones in neither value.
  let run = "";
  for (const { key, before, after } of pairs) {
    if (before !== undefined) left.before--;
    if (after !== undefined) left.after--;
    const comma = { before: left.before > 0 ? "," : "", after: left.after > 0 ? "," : "" };
    const isPlain = isSame(before, after) && comma.before === "," && comma.after === ",";
    if (isPlain) run += `${indent}${key}${textOf(before ?? null, indent)},\n`;
    if (isPlain && run.length < MAX_RUN_CHARS) continue;
    if (run !== "") yield { kind: "same", text: run };
    run = "";
    if (isPlain) continue;
    if (before !== undefined && after !== undefined) {
      yield* compared({ before, after, indent, key, comma });
    } else if (before !== undefined) {
      const text = `${indent}${key}${textOf(before, indent)}${comma.before}\n`;
      yield { kind: "removed", text };
    } else if (after !== undefined) {
      yield { kind: "added", text: `${indent}${key}${textOf(after, indent)}${comma.after}\n` };
    }
  }
  if (run !== "") yield { kind: "same", text: run };
}

/** Text of unchanged members that is returned at once. */
const MAX_RUN_CHARS = 65_536;

function textOf(value: Json, indent: string): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent}`);
}

function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return (
    one === other || (isExactNumber(one) && isExactNumber(other) && one.rawJSON === other.rawJSON)
  );
}

/** True for two arrays or two objects that are not empty: an empty one is one line. */
function haveMembers(before: Json, after: Json): boolean {
  return [before, after].every(isFilledArray) || [before, after].every(isFilledObject);
}

function isFilledArray(value: Json): boolean {
  return Array.isArray(value) && value.length > 0;
}

function isFilledObject(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

function sizeOf(value: Json): number {
  return Array.isArray(value) ? value.length : Object.keys(value as JsonObject).length;
}

function pairsOf(before: Json, after: Json): Iterable<Pair> {
  return Array.isArray(before)
    ? pairsOfArrays(before, after as JsonArray)
    : pairsOfObjects(before as JsonObject, after as JsonObject);
}

function* pairsOfArrays(before: JsonArray, after: JsonArray): Generator<Pair> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end++;
  const pair = (one: Json | undefined, other: Json | undefined) => ({
    key: "",
    before: one,
    after: other,
  });
  const [oldEnd, newEnd] = [before.length - end, after.length - end];
  for (let at = 0; at < start; at++) yield pair(before[at], after[at]);
  if (oldEnd === newEnd) for (let at = start; at < oldEnd; at++) yield pair(before[at], after[at]);
  else {
    for (let at = start; at < oldEnd; at++) yield pair(before[at], undefined);
    for (let at = start; at < newEnd; at++) yield pair(undefined, after[at]);
  }
  for (let at = oldEnd; at < before.length; at++) yield pair(before[at], before[at]);
}

function pairsOfObjects(before: JsonObject, after: JsonObject): readonly Pair[] {
  const pairs: Pair[] = [];
  const oldKeys = Object.keys(before);
  const paired = new Set<string>();
  let at = 0;
  const add = (name: string, one: Json | undefined, other: Json | undefined) =>
    pairs.push({ key: `${JSON.stringify(name)}: `, before: one, after: other });
  for (const name of Object.keys(after)) {
    const isPaired = Object.hasOwn(before, name) && !paired.has(name);
    // Keys before it that are removed, or that come later now.
    const end = isPaired ? oldKeys.indexOf(name, at) : at;
    for (const other of oldKeys.slice(at, end)) {
      paired.add(other);
      add(other, before[other], undefined);
    }
    at = end;
    if (isPaired) {
      at++;
      paired.add(name);
    }
    add(name, isPaired ? before[name] : undefined, after[name]);
  }
  for (const name of oldKeys.slice(at)) add(name, before[name], undefined);
  return pairs;
}
