import type { Write } from "../../src/store/variable-store.ts";
import type { Json } from "../../src/value/json.ts";
import type { Path } from "../../src/value/path.ts";
import { textOf } from "./variable-store-fixture.ts";

/** A value in the model: JSON, or bytes of no particular type. */
export type Value = Json | Uint8Array;
export const BYTES_TYPE = "application/octet-stream";

export type ModelWrite = Omit<Write, "value"> & { readonly value: Value };

/** Thrown where the store throws an error with this code. */
export class Refused extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Returns the value of a variable after a write that extends it. */
export function extended(
  { value, path = [], mode = "replace" }: ModelWrite,
  base: { readonly value: Value } | undefined,
): Value {
  if (base?.value instanceof Uint8Array) throw new Refused("bad_value");
  if (value instanceof Uint8Array) {
    if (path.length > 0 || base !== undefined) throw new Refused("bad_value");
    return value;
  }
  const root = { is: structuredClone(base?.value) };
  writeAt(root, [{ key: "is" }, ...path], { value, mode });
  return root.is ?? null;
}

/** Writes into an object or array in place. */
function writeAt(
  parent: unknown,
  [segment, ...rest]: Path,
  { value, mode }: { readonly value: Json; readonly mode: string },
): void {
  if (segment === undefined) return;
  const isArray = Array.isArray(parent);
  if ("key" in segment && (typeof parent !== "object" || parent === null || isArray))
    throw new Refused("bad_value");
  if (!("key" in segment) && !("index" in segment)) throw new Refused("bad_path");
  if ("index" in segment && !isArray) throw new Refused("bad_value");
  const at =
    "key" in segment
      ? segment.key
      : String((segment.index < 0 && isArray ? parent.length : 0) + segment.index);
  const holder = parent as Record<string, unknown>;
  const before = Object.hasOwn(holder, at) ? holder[at] : undefined;
  if (isArray && before === undefined) throw new Refused("bad_value");
  if (rest.length > 0) {
    const [next] = rest;
    const inner = before === undefined && next && "key" in next ? {} : before;
    writeAt(inner, rest, { value, mode });
    define(holder, at, inner);
  } else define(holder, at, combined(mode, before as Json | undefined, structuredClone(value)));
}

function define(holder: object, key: string, value: unknown): void {
  Object.defineProperty(holder, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

function combined(mode: string, before: Json | undefined, value: Json): Json {
  if (before === undefined || mode === "replace") return value;
  if (mode === "append" && Array.isArray(before)) return before.concat(value) as Json;
  if (mode === "append" && typeof before === "string" && typeof value === "string")
    return before + value;
  if (mode === "merge" && isPlain(before) && isPlain(value)) return merged(before, value);
  throw new Refused("bad_value");
}

function merged(before: object, value: object): Json {
  const result = { ...before };
  for (const [key, inner] of Object.entries(value)) {
    const own = Object.getOwnPropertyDescriptor(before, key)?.value as Json | undefined;
    define(
      result,
      key,
      isPlain(own) && isPlain(inner as Json) ? merged(own, inner as object) : inner,
    );
  }
  return result as Json;
}

function isPlain(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the bytes of a value, computed in the plainest way, and once for each object or long text. */
export const storedBytes = once((value: Value): Buffer =>
  value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(textOf(value)),
);

/** Does the work once for each object and each long text. */
export function once<Result>(work: (value: Value) => Result): (value: Value) => Result {
  const ofObjects = new WeakMap<object, { readonly result: Result }>();
  const ofTexts = new Map<string, { readonly result: Result }>();
  return (value) => {
    if (typeof value === "object" && value !== null) {
      const known = ofObjects.get(value) ?? { result: work(value) };
      ofObjects.set(value, known);
      return known.result;
    }
    if (typeof value !== "string" || value.length < 10_000) return work(value);
    const known = ofTexts.get(value) ?? { result: work(value) };
    ofTexts.set(value, known);
    return known.result;
  };
}
