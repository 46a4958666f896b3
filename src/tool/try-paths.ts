import * as limits from "../limits.ts";
import type { VariableInfo } from "../store/variable.ts";
import { isJsonArray, isJsonObject, isScalar, type Json } from "../value/json.ts";
import { parseShape, type Shape } from "../value/parse-shape.ts";
import { isPlainKey, type Path, readPath } from "../value/path.ts";
import { shapeOf } from "../value/shape.ts";

/** A path that exists. `type`: if it is simple; a slice has the type of the whole. */
export interface TypedPath {
  readonly path: Path;
  readonly type?: string | undefined;
}

/**
 * Returns paths for a next call: of records a column that finds one, a numeric one, and a slice; keys of an
 * object; the start of a text. Without the value the columns are those that its shape has.
 */
export function tryPaths(
  { type, count, shape }: Pick<VariableInfo, "type" | "count" | "shape">,
  value: Json | undefined,
): readonly TypedPath[] {
  const paths =
    value === undefined
      ? pathsInShape({ type, count }, parseShape(shape))
      : candidatePaths(value).flatMap((path) => {
          const read = readPath(value, path);
          return read.found ? { path, type: typeAt(path, read.value) } : [];
        });
  return paths.slice(0, MAX_PATHS);
}

const FIRST: Path = [{ index: 0 }];
const START: Path = [{ to: 10 }];
const TEXT_START: Path = [{ to: 500 }];

function typeAt(path: Path, value: Json): string | undefined {
  if (path === START || path === TEXT_START) return undefined;
  return simpleType(shapeOf(value).replaceAll(/\{.*\}/gu, "object"));
}

function simpleType(text: string): string | undefined {
  return SIMPLE_TYPE.test(text) ? text : undefined;
}

const SIMPLE_TYPE = /^[a-z ()|[\]]{1,40}$/u;

function candidatePaths(value: Json): readonly Path[] {
  if (isJsonArray(value)) {
    const first = value[0];
    if (first === undefined || !isJsonObject(first)) return [FIRST, START];
    const keys = keysOf(Object.keys(first));
    return [...columnsOf(keys, (key) => typeof first[key] === "number").map(columnPath), START];
  }
  if (isJsonObject(value)) {
    return keysOf(Object.keys(value)).flatMap((key) => {
      const inner = value[key];
      const isList = inner !== undefined && !isScalar(inner) && isJsonArray(inner);
      return [[{ key }, ...(isList ? [{ index: 0 }] : [])]];
    });
  }
  return typeof value === "string" ? [TEXT_START] : [];
}

/** The paths that exist by type and count, and the columns that every record seen has. */
function pathsInShape(
  { type, count }: Pick<VariableInfo, "type" | "count">,
  shape: Shape,
): readonly TypedPath[] {
  if (count === 0) return [];
  if (type === "string") return [{ path: TEXT_START }];
  if (type !== "array") return [];
  const records = recordsIn(shape);
  if (records.size === 0) return [{ path: FIRST }, { path: START }];
  const isNumber = (key: string) => textOf(records.get(key)) === "number";
  const columns = columnsOf(keysOf([...records.keys()]), isNumber).map((key) => ({
    path: columnPath(key),
    type: simpleType(textOf([{ elements: records.get(key) ?? [] }])),
  }));
  return [...columns, { path: START }];
}

/** The keys that all records of a list have. */
function recordsIn(shape: Shape): ReadonlyMap<string, Shape> {
  const elements = onlyOf(onlyOf(shape, "elements")?.elements ?? [], "keys");
  const keys = elements?.keys.filter(({ isOptional }) => !isOptional) ?? [];
  return new Map(keys.map((one) => [one.key, one.shape]));
}

/** The one kind of a shape, if it is of this sort. */
function onlyOf<Key extends "elements" | "keys">([kind, ...others]: Shape, key: Key) {
  const isOnly = typeof kind === "object" && others.length === 0 && key in kind;
  return isOnly ? (kind as Extract<typeof kind, Record<Key, unknown>>) : undefined;
}

/** The type as `typeAt` writes it. Empty if it is unknown. */
function textOf(shape: Shape = []): string {
  const kinds = shape.map((kind) => {
    if (typeof kind === "string") return kind;
    if ("keys" in kind) return "object";
    const inner = textOf(kind.elements);
    return inner === "" ? "?" : `${kind.elements.length > 1 ? `(${inner})` : inner}[]`;
  });
  return kinds.join(" | ");
}

function columnPath(key: string): Path {
  return [{ each: true }, { key }];
}

/** A column by which a next call finds a record, and one to calculate with. */
function columnsOf(keys: readonly string[], isNumber: (key: string) => boolean): readonly string[] {
  const id = keys.find((key) => ID_LIKE.test(key)) ?? keys[0];
  const others = keys.filter((key) => key !== id);
  const number = others.findLast(isNumber) ?? others.at(-1);
  return [id, number].flatMap((key) => key ?? []);
}

const ID_LIKE = /^(?:_?id|key|uuid|slug|code|name|symbol)$|(?:_id|Id)$/u;

/** Paths that a handle suggests. */
const MAX_PATHS = 4;

/** Lists plain keys, which need no quotes, first. */
function keysOf(all: readonly string[]): readonly string[] {
  const keys = all.filter(isWritable);
  return [...keys.filter(isPlainKey), ...keys.filter((key) => !isPlainKey(key))];
}

/** False for a key that a reference cannot contain: it is too long or has a line break. */
function isWritable(key: string): boolean {
  return key.length <= limits.maxNameChars && !key.includes("\n") && !key.includes("\r");
}
