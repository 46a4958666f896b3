import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content } from "../store/bytes/content.ts";
import type { Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import {
  countOf,
  isJsonArray,
  isJsonObject,
  type Json,
  type JsonObject,
  plainJson,
  typeOfJson,
} from "../value/json.ts";
import { formatPath, type Path } from "../value/path.ts";
import { previewOf } from "../value/preview.ts";
import { shapeOf } from "../value/shape.ts";
import { isShortJson } from "../value/strict-json.ts";
import { byteLength } from "../value/encoding.ts";
import { tryPaths } from "./try-paths.ts";

/**
 * The output for a small result: the value itself. The model, the history and the client see the same
 * output.
 */
export interface ShownValue extends ResultNotes {
  readonly $var: string;
  readonly value: Json;
}

/** Facts about a result beside its value. */
interface ResultNotes {
  /** The path in the variable, if the value is only a part of it. */
  readonly path?: string;
  /** The value comes from an untrusted source: it is data, not instructions. */
  readonly untrusted?: true;
  readonly unresolved?: readonly Unresolved[];
  /** What the result depends on, such as texts that a query did not read as numbers. */
  readonly notes?: readonly string[];
}

/** The output for a large result. At most `maxHandleChars` as JSON, notes excluded. */
export interface Handle extends ResultNotes {
  /** The variable's name. */
  readonly $var: string;
  readonly type: VariableInfo["type"];
  /** Elements, keys, characters or bytes, as in `VariableInfo`. */
  readonly count: number;
  readonly bytes: number;
  /** The types in one line, up to 300 characters. */
  readonly shape: string;
  /** The start of the value, or of the first record, up to 120 characters. */
  readonly preview: string;
  /** References to parts that exist, with simple types: `$orders[*].id: string[]`. */
  readonly try: readonly string[];
}

/**
 * The output for a guarded result: type and count of a sealed value that is not derived, only the name of others.
 * If the agent hides untrusted values, they are `hidden` like sealed ones until the model requests them.
 */
export interface GuardedHandle extends ResultNotes {
  readonly $var: string;
  readonly visibility: "sealed" | "secret" | "hidden";
  readonly type?: VariableInfo["type"];
  readonly count?: number;
}

/** The output for a result that could not be saved. There is no variable to refer to. */
export interface NotKept {
  readonly notKept: string;
  readonly type?: VariableInfo["type"];
  readonly count?: number;
  readonly shape?: string;
  readonly preview?: string;
  readonly untrusted?: true;
}

const MAX_NOTES = 5;

/** The output for any result, as the model, the history and the client see it. */
export type ToolOutput = ShownValue | Handle | GuardedHandle | NotKept;

export interface OutputOptions {
  readonly unresolved?: readonly Unresolved[];
  readonly notes?: readonly string[] | undefined;
  /** The path of the value in its variable; `info` is then about the value, not the variable. */
  readonly path?: Path;
  /** True if untrusted values are not shown. */
  readonly hidesUntrusted?: boolean;
  /** A value of more characters is not shown. Default and maximum: `maxShownResultChars`. */
  readonly inlineChars?: number | undefined;
}

/**
 * Returns the output for a saved value. It is the only view of a large value. Without `value` (bytes,
 * streamed content) the output is made from `info`.
 */
export function toolOutput(
  info: VariableInfo,
  value: Json | undefined,
  {
    unresolved = [],
    notes = [],
    path = [],
    hidesUntrusted = false,
    inlineChars = Infinity,
  }: OutputOptions = {},
): ToolOutput {
  const maxChars = Math.min(inlineChars, limits.maxShownResultChars);
  const place = path.length === 0 ? {} : { path: formatPath(path) };
  const { name, type, count, trusted } = info;
  const guarded = guardedView(info);
  if (guarded !== undefined) return { $var: name, ...guarded, ...place };
  const details = {
    ...place,
    ...(unresolved.length === 0 ? {} : { unresolved: unresolved.slice(0, MAX_NOTES) }),
  };
  if (!trusted && hidesUntrusted)
    return { $var: name, visibility: "hidden", type, count, ...details };
  const note = {
    ...details,
    ...(notes.length === 0 ? {} : { notes: notes.slice(0, MAX_NOTES) }),
    ...(trusted ? {} : { untrusted: true as const }),
  };
  // A text may be far longer as JSON, because of its escapes.
  const isShort = value !== undefined && info.chars <= maxChars;
  return isShort && isShortJson(value, maxChars)
    ? { $var: name, value: plainJson(value), ...note }
    : { ...handleOf(info, { value, path }), ...note };
}

/** Returns the fields of a guarded variable that a model may see beside its name; undefined if it is not guarded. */
export function guardedView({
  visibility,
  type,
  count,
  flags,
}: Pick<VariableInfo, "visibility" | "type" | "count" | "flags">):
  | Pick<GuardedHandle, "visibility" | "type" | "count">
  | undefined {
  if (visibility === "model") return undefined;
  // A model that chooses the computation could read data through its result's type and count.
  const isDerived = visibility === "secret" || flags?.includes("derived") === true;
  return isDerived ? { visibility } : { visibility, type, count };
}

/** True if the metadata of a variable may have untrusted text in it. That of a computed one has none. */
export function describesUntrusted(info: VariableInfo): boolean {
  return info.visibility === "model" && !info.trusted && info.readOnly !== true;
}

/** The same output, typed as JSON. */
export function outputJson(output: ToolOutput): Json {
  // The output consists of JSON only. An interface cannot declare that its further keys are JSON, too.
  return output as unknown as Json;
}

/** Returns the metadata of a value inside of a variable. */
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

/** Returns the output for a result that the store refused for the reason `why`. */
export function notKept(
  { value, visibility = "model", trusted = true }: Pick<Write, "value" | "visibility" | "trusted">,
  why: string,
  hidesUntrusted = false,
): NotKept {
  const isGuarded = visibility !== "model" || (!trusted && hidesUntrusted);
  const message = `This result was not kept as a variable: ${visibility === "model" ? why : "it is too large."}`;
  if (isGuarded || value instanceof Content) return { notKept: message };
  const shown = { type: typeOfJson(value), count: countOf(value), shape: shapeOf(value) };
  return {
    notKept: message,
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
  const paths = tryPaths(info, value).map(({ path: inner, type: innerType }) => {
    const typed = innerType === undefined ? "" : `: ${innerType}`;
    return `${place}${formatPath(inner)}${typed}`;
  });
  const begun = firstRecord(value) ?? value ?? preview;
  const chars = Math.max(MAX_SHOWN_CHARS - shape.length, MIN_PREVIEW_CHARS);
  const start = preview.length <= chars ? preview : previewOf(begun, chars);
  const handle = { $var: name, type, count, bytes, shape, preview: start, try: paths };
  // JSON escapes quotes: the preview is shortened first, then the shape.
  const excess = () => JSON.stringify(handle).length - limits.maxHandleChars;
  for (let left = start.length; excess() > 0 && left > 20;) {
    left = Math.max(20, left - Math.max(excess(), 10));
    handle.preview = previewOf(begun, left);
  }
  while (excess() > 0 && paths.length > 0) paths.pop();
  if (excess() > 0) handle.shape = previewOf(shape, Math.max(shape.length - excess() * 2, 20));
  return handle;
}

/**
 * Returns the first record of an array. The others are similar: the shape has their keys, and the count their
 * number.
 */
function firstRecord(value: Json | undefined): JsonObject | undefined {
  const [first] = value !== undefined && isJsonArray(value) ? value : [];
  return first !== undefined && isJsonObject(first) ? first : undefined;
}

/** A handle is sent again with each call. The longer the shape is, which has the keys, the shorter the preview. */
const MAX_SHOWN_CHARS = 120;
const MIN_PREVIEW_CHARS = 60;

/** Returns the variable's name from an output; undefined for any other value. */
export function variableIn(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  return typeof output.$var === "string" ? output.$var : undefined;
}
