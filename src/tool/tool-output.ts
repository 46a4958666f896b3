import { limits } from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content } from "../store/content.ts";
import type { VariableInfo, Write } from "../store/variable-store.ts";
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

/** What the model, the history and the client see of a small result: the value itself. */
export interface ShownValue {
  readonly $var: string;
  readonly value: Json;
  readonly unresolved?: readonly Unresolved[];
}

/** What they see of a large one. At most `maxHandleChars` as JSON, notes not counted. */
export interface Handle {
  readonly $var: string;
  readonly type: VariableInfo["type"];
  readonly count: number;
  readonly bytes: number;
  readonly shape: string;
  readonly preview: string;
  /** References to parts, each of which exists. */
  readonly try: readonly string[];
  readonly unresolved?: readonly Unresolved[];
}

/** What they see of a guarded one: of a sealed value what it is, of a secret that it is there. */
export interface GuardedHandle {
  readonly $var: string;
  readonly visibility: "sealed" | "secret";
  readonly type?: VariableInfo["type"];
  readonly count?: number;
  readonly unresolved?: readonly Unresolved[];
}

/** What they see of a result that could not be kept: there is nothing to refer to. */
export interface NotKept {
  readonly notKept: string;
  readonly type?: VariableInfo["type"];
  readonly count?: number;
  readonly shape?: string;
  readonly preview?: string;
}

const MAX_NOTES = 5;

export type ToolOutput = ShownValue | Handle | GuardedHandle | NotKept;

/** The output that stands for a saved value; nothing else of a large value is shown anywhere. */
export function toolOutput(
  info: VariableInfo,
  value: Json,
  unresolved: readonly Unresolved[],
): ToolOutput {
  const note = unresolved.length === 0 ? {} : { unresolved: unresolved.slice(0, MAX_NOTES) };
  if (info.visibility !== "model") return { ...guardedHandle(info), ...note };
  // As JSON a text may be far longer than it is.
  const isShort = info.chars <= limits.maxShownResultChars;
  const isSmall = isShort && JSON.stringify(value).length <= limits.maxShownResultChars;
  return isSmall ? { $var: info.name, value, ...note } : { ...handleOf(info, value), ...note };
}

function guardedHandle({ name, type, count, visibility }: VariableInfo): GuardedHandle {
  return visibility === "sealed"
    ? { $var: name, visibility, type, count }
    : { $var: name, visibility: "secret" };
}

/** The output for a result that the store refused, `why` being what it said. */
export function notKept({ value, visibility = "model" }: Write, why: string): NotKept {
  const said = `This result was not kept as a variable: ${why}`;
  if (visibility !== "model" || value instanceof Content) return { notKept: said };
  const shown = { type: typeOfJson(value), count: countOf(value), shape: shapeOf(value) };
  return { notKept: said, ...shown, preview: previewOf(value) };
}

function handleOf(info: VariableInfo, value: Json): Handle {
  const { name, type, count, bytes, shape, preview } = info;
  const paths = tryPaths(name, value);
  const handle = { $var: name, type, count, bytes, shape, preview, try: paths };
  // Quotes count twice as JSON: the preview gives way, then the shape.
  const excess = () => JSON.stringify(handle).length - limits.maxHandleChars;
  for (let chars = preview.length; excess() > 0 && chars > 20;) {
    chars = Math.max(20, chars - Math.max(excess(), 10));
    handle.preview = previewOf(value, chars);
  }
  while (excess() > 0 && paths.length > 0) paths.pop();
  if (excess() > 0) handle.shape = previewOf(shape, Math.max(shape.length - excess() * 2, 20));
  return handle;
}

/** Paths that lead somewhere: to a first element's field, to all of them, to a key. */
function tryPaths(name: string, value: Json): string[] {
  return candidatePaths(value)
    .filter((path) => readPath(value, path).found)
    .slice(0, limits.maxTryPaths)
    .map((path) => `$${name}${formatPath(path)}`);
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
