import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content } from "../store/bytes/content.ts";
import type { Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import {
  countOf,
  isJsonArray,
  isJsonObject,
  isScalar,
  type Json,
  typeOfJson,
} from "../value/json.ts";
import { formatPath, isPlainKey, type Path, readPath } from "../value/path.ts";
import { previewOf } from "../value/preview.ts";
import { shapeOf } from "../value/shape.ts";
import { byteLength } from "../value/utf8.ts";

/** What the model, the history and the client see of a small result: the value itself. */
export interface ShownValue extends Told {
  readonly $var: string;
  readonly value: Json;
}

/** What is said beside what is shown. */
interface Told {
  /** Where in the variable it was saved, if not as the whole of it. */
  readonly path?: string;
  /** Somebody who is not trusted has written it: data to work with, no instructions. */
  readonly untrusted?: true;
  readonly unresolved?: readonly Unresolved[];
}

/** What they see of a large one. At most `maxHandleChars` as JSON, notes not counted. */
export interface Handle extends Told {
  /** The name. */
  readonly $var: string;
  readonly type: VariableInfo["type"];
  /** As in `VariableInfo`: elements, keys, characters or bytes. */
  readonly count: number;
  readonly bytes: number;
  /** Types in a line, up to 300 characters. */
  readonly shape: string;
  /** How the value begins, up to 200 characters. */
  readonly preview: string;
  /** References to parts, each of which exists. */
  readonly try: readonly string[];
}

/**
 * What they see of a guarded one: of a sealed value that is not derived the type and count, of others the
 * name. Untrusted values are `hidden` like sealed ones, where the agent says so, until the model asks to
 * read them.
 */
export interface GuardedHandle extends Told {
  readonly $var: string;
  readonly visibility: "sealed" | "secret" | "hidden";
  readonly type?: VariableInfo["type"];
  readonly count?: number;
}

/** What they see of a result that could not be kept: there is nothing to refer to. */
export interface NotKept {
  readonly notKept: string;
  readonly type?: VariableInfo["type"];
  readonly count?: number;
  readonly shape?: string;
  readonly preview?: string;
  readonly untrusted?: true;
}

const MAX_NOTES = 5;

/** What the model, the history and the client see of any result. */
export type ToolOutput = ShownValue | Handle | GuardedHandle | NotKept;

export interface OutputOptions {
  readonly unresolved?: readonly Unresolved[];
  /** Where the value lies in its variable; `info` is then about the value, not the variable. */
  readonly path?: Path;
  /** What is not trusted is not shown. */
  readonly hidesUntrusted?: boolean;
}

/**
 * The output that stands for a saved value; nothing else of a large value is shown anywhere. Without
 * `value` it is told by its info: bytes, or what came as a stream.
 */
export function toolOutput(
  info: VariableInfo,
  value: Json | undefined,
  { unresolved = [], path = [], hidesUntrusted = false }: OutputOptions = {},
): ToolOutput {
  const place = path.length === 0 ? {} : { path: formatPath(path) };
  const { name, type, count, trusted } = info;
  const guarded = guardedView(info);
  // The unresolved references would show how far a failed call got.
  if (guarded !== undefined) return { $var: name, ...guarded, ...place };
  const notes = unresolved.slice(0, MAX_NOTES);
  const told = { ...place, ...(notes.length === 0 ? {} : { unresolved: notes }) };
  if (!trusted && hidesUntrusted) return { $var: name, visibility: "hidden", type, count, ...told };
  const note = trusted ? told : { ...told, untrusted: true as const };
  // As JSON a text may be far longer than it is.
  const isShort = value !== undefined && info.chars <= limits.maxShownResultChars;
  return isShort && JSON.stringify(value).length <= limits.maxShownResultChars
    ? { $var: name, value, ...note }
    : { ...handleOf(info, { value, path }), ...note };
}

/** All that a model sees of a guarded variable beside its name; undefined if it is not guarded. */
export function guardedView({
  visibility,
  type,
  count,
  flags,
}: Pick<VariableInfo, "visibility" | "type" | "count" | "flags">):
  | Pick<GuardedHandle, "visibility" | "type" | "count">
  | undefined {
  if (visibility === "model") return undefined;
  // A model that chooses the computation would read data through its result's type and count.
  const isDerived = visibility === "secret" || flags?.includes("derived") === true;
  return isDerived ? { visibility } : { visibility, type, count };
}

/** The same output, as the JSON that it is. */
export function outputJson(output: ToolOutput): Json {
  // Made of JSON all the way down; an interface says of no more keys than its own that they are.
  return output as unknown as Json;
}

/** What is said of a value that lies inside of a variable. */
export function partInfo(info: VariableInfo, value: Json): VariableInfo {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return {
    ...info,
    type: typeOfJson(value),
    count: countOf(value),
    bytes: byteLength(text),
    chars: text.length,
    shape: shapeOf(value),
    preview: previewOf(value),
  };
}

/** The output for a result that the store refused, `why` being what it said. */
export function notKept(
  { value, visibility = "model", trusted = true }: Pick<Write, "value" | "visibility" | "trusted">,
  why: string,
  hidesUntrusted = false,
): NotKept {
  const isGuarded = visibility !== "model" || (!trusted && hidesUntrusted);
  const said = `This result was not kept as a variable: ${visibility === "model" ? why : "it is too large."}`;
  if (isGuarded || value instanceof Content) return { notKept: said };
  const shown = { type: typeOfJson(value), count: countOf(value), shape: shapeOf(value) };
  return {
    notKept: said,
    ...shown,
    preview: previewOf(value),
    ...(trusted ? {} : { untrusted: true as const }),
  };
}

interface Shown {
  readonly value: Json | undefined;
  readonly path: Path;
}

function handleOf(info: VariableInfo, { value, path }: Shown): Handle {
  const { name, type, count, bytes, shape, preview } = info;
  const place = `$${name}${formatPath(path)}`;
  const paths = value === undefined ? knownPaths(info, place) : tryPaths(value, place);
  const handle = { $var: name, type, count, bytes, shape, preview, try: paths };
  // Quotes count twice as JSON: the preview gives way, then the shape.
  const excess = () => JSON.stringify(handle).length - limits.maxHandleChars;
  for (let chars = preview.length; excess() > 0 && chars > 20;) {
    chars = Math.max(20, chars - Math.max(excess(), 10));
    handle.preview = previewOf(value ?? preview, chars);
  }
  while (excess() > 0 && paths.length > 0) paths.pop();
  if (excess() > 0) handle.shape = previewOf(shape, Math.max(shape.length - excess() * 2, 20));
  return handle;
}

/** Paths that lead somewhere: to a first element's field, to all of them, to a key. */
function tryPaths(value: Json, place: string): string[] {
  return candidatePaths(value)
    .filter((path) => readPath(value, path).found)
    .slice(0, limits.maxTryPaths)
    .map((path) => `${place}${formatPath(path)}`);
}

/** Those of which a value's type and count tell that they do. */
function knownPaths({ type, count }: VariableInfo, place: string): string[] {
  if (count === 0) return [];
  if (type === "array") return [`${place}[0]`, `${place}[:10]`];
  return type === "string" ? [`${place}[:500]`] : [];
}

function candidatePaths(value: Json): readonly Path[] {
  if (isJsonArray(value)) {
    const first = value[0];
    if (first === undefined || !isJsonObject(first)) return [[{ index: 0 }], [{ to: 10 }]];
    const [one, ...others] = keysOf(first);
    const last = others.findLast((key) => typeof first[key] === "number") ?? others.at(-1) ?? one;
    return [
      ...(one === undefined ? [] : [[{ index: 0 }, { key: one }]]),
      ...(last === undefined ? [] : [[{ each: true as const }, { key: last }]]),
      [{ to: 10 }],
    ];
  }
  if (isJsonObject(value)) {
    return keysOf(value).flatMap((key) => {
      const inner = value[key];
      const isList = inner !== undefined && !isScalar(inner) && isJsonArray(inner);
      return [[{ key }, ...(isList ? [{ index: 0 }] : [])]];
    });
  }
  return typeof value === "string" ? [[{ to: 500 }]] : [];
}

/** Short keys that need no quotes come first. */
function keysOf(value: Readonly<Record<string, Json>>): readonly string[] {
  const keys = Object.keys(value).filter(isWritable);
  return [...keys.filter(isPlainKey), ...keys.filter((key) => !isPlainKey(key))];
}

/** A key with a line break cannot stand in a reference. */
function isWritable(key: string): boolean {
  return key.length <= limits.maxNameChars && !key.includes("\n") && !key.includes("\r");
}

/** The name in an output that stands for a variable; undefined for any other value. */
export function variableIn(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  return typeof output.$var === "string" ? output.$var : undefined;
}
