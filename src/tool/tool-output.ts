import * as limits from "../limits.ts";
import type { Unresolved } from "../reference/expand.ts";
import { Content, describeValue, RECORDS_TYPE, valueIn } from "../store/bytes/content.ts";
import type { AutomaticName, Variables, Write } from "../store/variable-store.ts";
import type { VariableInfo } from "../store/variable.ts";
import { isJsonArray, isJsonObject, isObject, type Json, plainJson } from "../value/json.ts";
import { formatPath, isPlainKey, type Path } from "../value/path.ts";
import { previewOf } from "../value/preview.ts";
import { isShortJson } from "../value/strict-json.ts";
import { byteLength } from "../value/encoding.ts";
import { parseRecords } from "../value/records-text.ts";
import { parseShape, type Shape, type ShapeKey } from "../value/parse-shape.ts";
import { strictestVisibility } from "../store/labels.ts";
import type { Place } from "./save-target.ts";

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
  /** A reference to the call's input, if the model wrote a long one: it can be edited and sent again by this name. */
  readonly _input?: string;
}

/** The output for a large result. At most `maxHandleChars` as JSON, notes excluded. */
export interface Handle extends ResultNotes {
  /** The variable's name. */
  readonly $var: string;
  readonly type: VariableInfo["type"];
  /** Elements, keys, characters or bytes, as in `VariableInfo`. */
  readonly count: number;
  readonly bytes: number;
  /** About how many tokens the whole value would cost if it were read. Absent for bytes. */
  readonly tokens?: number;
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
  /** A value of more characters is not shown. Default: `maxShownResultChars`. */
  readonly inlineChars?: number | undefined;
  /** The variable that keeps the call's input. */
  readonly keptInput?: string | undefined;
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
    inlineChars = limits.maxShownResultChars,
    keptInput,
  }: OutputOptions = {},
): ToolOutput {
  const place = path.length === 0 ? {} : { path: formatPath(path) };
  const { name, type, count, trusted } = info;
  const guarded = guardedView(info);
  const input = keptInput === undefined ? {} : { _input: `$${keptInput}` };
  if (guarded !== undefined) return { $var: name, ...guarded, ...place, ...input };
  const details = {
    ...place,
    ...input,
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
  const isShort = value !== undefined && info.chars <= inlineChars;
  return isShort && isShortJson(value, inlineChars)
    ? { $var: name, value: plainJson(value), ...note }
    : { ...handleOf(info, { value, path }), ...note };
}

/** Returns the fields of a guarded variable that a model may see beside its name; undefined if it is not guarded. */
export function guardedView(
  info: Pick<VariableInfo, "visibility" | "type" | "count" | "flags">,
): Pick<GuardedHandle, "visibility" | "type" | "count"> | undefined {
  const { visibility, type, count, flags } = info;
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
  return { ...info, ...describeValue(value), bytes: byteLength(text), chars: text.length };
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
  const about = { notKept: message, ...describeValue(value) };
  return trusted ? about : { ...about, untrusted: true };
}

function handleOf(
  info: VariableInfo,
  { value, path }: { readonly value: Json | undefined; readonly path: Path },
): Handle {
  const { name, type, count, bytes, chars, shape, preview } = info;
  // Rounded to two digits, because it is an estimate.
  const tokens = Number((chars / CHARS_PER_TOKEN).toPrecision(2));
  const cost = type === "bytes" ? {} : { tokens };
  const place = `$${name}${formatPath(path)}`;
  const paths = tryPaths(info).map(({ path: inner, type: innerType }) => {
    const typed = innerType === undefined ? "" : `: ${innerType}`;
    return `${place}${formatPath(inner)}${typed}`;
  });
  // The other records of an array are similar: the shape has their keys, and the count their number.
  const [first] = value !== undefined && isJsonArray(value) ? value : [];
  const begun = first !== undefined && isJsonObject(first) ? first : (value ?? preview);
  const most = Math.max(MAX_SHOWN_CHARS - shape.length, MIN_PREVIEW_CHARS);
  const start = preview.length <= most ? preview : previewOf(begun, most);
  const handle = { $var: name, type, count, bytes, ...cost, shape, preview: start, try: paths };
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

/** An estimate: tokenizers differ. English text and JSON have 3 to 5. */
export const CHARS_PER_TOKEN = 4;

/** A handle is sent again with each call. The longer the shape is, which has the keys, the shorter the preview. */
const MAX_SHOWN_CHARS = 120;
const MIN_PREVIEW_CHARS = 60;

/** Returns the variable's name from an output; undefined for any other value. */
export function variableIn(output: unknown): string | undefined {
  if (typeof output !== "object" || output === null || !("$var" in output)) return undefined;
  return typeof output.$var === "string" ? output.$var : undefined;
}

/** How deep in an output handles are. `run_code` lists those of several variables. */
const HANDLE_DEPTH = 2;

/** The handles that an output is or contains. */
export function handlesIn(
  output: unknown,
  depth = HANDLE_DEPTH,
): readonly Readonly<Record<string, unknown>>[] {
  if (typeof output !== "object" || output === null) return [];
  if (isObject(output) && variableIn(output) !== undefined) return [output];
  return depth === 0 ? [] : Object.values(output).flatMap((part) => handlesIn(part, depth - 1));
}

// What a plan shows of a result, and keeps of it.

/** True if the value is shown in full. */
export function isShort(value: Json): boolean {
  return isShortJson(value, limits.maxShownResultChars);
}

/**
 * The result of a plan's call for people: the value if it is short, else its handle. Of a guarded value only
 * the variable's name and its visibility.
 */
export function shownResult(info: VariableInfo, value: Json | undefined): Json {
  const { name, visibility } = info;
  if (visibility !== "model") return { $var: name, visibility };
  if (value !== undefined && isShort(value)) return plainJson(value);
  // An output is an object.
  const output = outputJson(toolOutput(info, value)) as { readonly [key: string]: Json };
  const { type = null, count = null, bytes = null, shape = null, preview = null } = output;
  return { $var: name, type, count, bytes, shape, preview };
}

/** Returns the short form of an output that is not a variable. */
export function shortOutput(output: Json): Json {
  return isShort(output) ? plainJson(output) : describeValue(output);
}

interface Keeping {
  readonly call: { readonly keepAs?: AutomaticName };
  readonly places: readonly Pick<Place, "name">[];
  /** Undefined for a value that is not in memory. */
  readonly value: Json | undefined;
}

/**
 * The write that keeps a plan's result which is not shown in full: one that is too long, and each guarded one,
 * whatever its size. It is pinned, as guarded as the places that the result is written to.
 */
export function keptWrite(
  { run: _run, path: _path, mode: _mode, ...write }: Write,
  { call: { keepAs }, places, value }: Keeping,
  store: Variables,
): Write | undefined {
  if (keepAs === undefined) return undefined;
  const guards = places.map(({ name }) => store.glance(name)?.visibility ?? "model");
  const visibility = strictestVisibility([write.visibility ?? "model", ...guards]);
  const isShown = visibility === "model" && value !== undefined && isShort(value);
  return isShown ? undefined : { ...write, name: keepAs, visibility, pinned: true };
}

/** Returns a value that is in memory; streamed records, if there are few. */
export function jsonOf(value: Json | Content | undefined): Json | undefined {
  if (!(value instanceof Content)) return value;
  const { about, body } = value;
  const isSmall = about.mediaType === RECORDS_TYPE && about.chars <= limits.maxBlockChars;
  return isSmall && typeof body === "string" ? parseRecords(body) : valueIn(value);
}

// The paths that a handle suggests.

/** A path that exists. `type`: if it is simple; a slice has the type of the whole. */
export interface TypedPath {
  readonly path: Path;
  readonly type?: string | undefined;
}

/**
 * Returns paths for a next call, by the value's shape: of records the first column, a numeric one, and a slice; keys of an
 * object; the start of a text.
 */
export function tryPaths(
  info: Pick<VariableInfo, "type" | "count" | "shape">,
): readonly TypedPath[] {
  const { type, count, shape } = info;
  if (count === 0) return [];
  if (type === "string") return [{ path: [{ to: 500 }] }];
  const keys = keysOf(parseShape(shape));
  if (type !== "array")
    return keys
      .slice(0, MAX_PATHS)
      .map((one) => ({ path: [{ key: one.key }], type: typeOf(one.shape) }));
  const elements = elementsOf(parseShape(shape));
  // The keys that all records have.
  const shared = keysOf(elements).filter(({ isOptional }) => !isOptional);
  const isNumber = (one: ShapeKey) => textOf(one.shape) === "number";
  const number = shared.slice(1).findLast(isNumber) ?? shared.slice(1).at(-1);
  const columns = [shared[0] ?? [], number ?? []].flat().map((one) => ({
    path: [{ each: true } as const, { key: one.key }],
    type: typeOf([{ elements: one.shape }]),
  }));
  const first = { path: [{ index: 0 }], type: typeOf(elements) };
  return [...(columns.length === 0 ? [first] : columns), { path: [{ to: 10 }] }];
}

function elementsOf([kind, ...others]: Shape): Shape {
  const isList = typeof kind === "object" && others.length === 0 && "elements" in kind;
  return isList ? kind.elements : [];
}

/** Lists plain keys, which need no quotes, first. A reference cannot contain a key that is too long or has a line break. */
function keysOf([kind, ...others]: Shape): readonly ShapeKey[] {
  if (typeof kind !== "object" || others.length > 0 || !("keys" in kind)) return [];
  const keys = kind.keys.filter(
    ({ key }) => key.length <= limits.maxNameChars && !/[\n\r]/.test(key),
  );
  const isPlain = ({ key }: ShapeKey) => isPlainKey(key);
  return [...keys.filter(isPlain), ...keys.filter((one) => !isPlain(one))];
}

/** The type in words, if it is simple. */
function typeOf(shape: Shape): string | undefined {
  const text = textOf(shape);
  return SIMPLE_TYPE.test(text) ? text : undefined;
}

const SIMPLE_TYPE = /^[a-z ()|[\]]{1,40}$/u;

/** Empty if it is unknown. */
function textOf(shape: Shape = []): string {
  const kinds = shape.map((kind) => {
    if (typeof kind === "string") return kind;
    if ("keys" in kind) return "object";
    const inner = textOf(kind.elements);
    return inner === "" ? "?" : `${kind.elements.length > 1 ? `(${inner})` : inner}[]`;
  });
  return kinds.join(" | ");
}

/** Paths that a handle suggests. */
const MAX_PATHS = 4;
