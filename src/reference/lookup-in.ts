import { compact, isJsonObject, isObject, type Json } from "../value/json.ts";
import { codeOf, messageOf } from "../errors.ts";
import { formatPath, type Path, type Reading, readPath } from "../value/path.ts";
import { LookupWork, type Found, type Lookup, type Missing } from "./lookup.ts";
import { nearest } from "./near.ts";
import type { Reference } from "./reference.ts";

/**
 * Creates a lookup in a plain object: each own property is a variable. Found values are not copied. Cost of
 * a miss: the edit distance to at most 1,000 names or keys.
 */
export function lookupIn(variables: Readonly<Record<string, Json>>): Lookup {
  return (reference, work = new LookupWork()) => {
    const value =
      isObject(variables) && Object.hasOwn(variables, reference.name)
        ? variables[reference.name]
        : undefined;
    if (value === undefined) {
      return unknownName(reference.name, work, () => Object.keys(variables));
    }
    try {
      return answerFrom(reference, readPath(value, reference.path, work), work);
    } catch (error) {
      return unreadable(error);
    }
  };
}

/** Creates the miss for an unknown name, with similar names. */
export function unknownName(
  name: string,
  work: LookupWork,
  list: () => readonly string[],
): Missing {
  const near = work.explains() ? nearest(name, (work.names ??= list())) : [];
  return { found: false, reason: "unknown", near };
}

/** Creates the miss for bytes, or a value that is too large to return or gone from the bucket. Rethrows other errors. */
export function unreadable(error: unknown): Missing {
  const code = codeOf(error);
  if (!["limit_exceeded", "bad_value", "variable_evicted"].includes(code)) throw error;
  return { found: false, reason: "unreadable", code, message: messageOf(error) };
}

/** Converts a reading to the result of a lookup. */
export function answerFrom(
  { name, path }: Reference,
  reading: Reading,
  work = new LookupWork(),
): Found | Missing {
  if (reading.found) return reading;
  const { keys, length, type } = reading;
  const wanted = path[reading.nearest.length];
  const isKey = wanted !== undefined && "key" in wanted;
  const near = isKey && work.explains() ? nearIn(wanted.key, reading, { name, path, work }) : [];
  return {
    found: false,
    reason: "path",
    nearest: `${name}${formatPath(reading.nearest)}`,
    ...compact({ keys, length, type }),
    ...(near.length === 0 ? {} : { near }),
  };
}

/** Similar keys, as they are written after a name. For a key of a list's elements: the reference with `[*]`. */
function nearIn(
  wanted: string,
  { keys = [], element, nearest: above }: Exclude<Reading, { found: true }>,
  { name, path, work }: Reference & { readonly work: LookupWork },
): readonly string[] {
  if (element === undefined || !isJsonObject(element)) {
    return nearest(wanted, keys).map(writtenKey);
  }
  const below = path.slice(above.length);
  const rests: readonly Path[] = readPath(element, below, work).found
    ? [below]
    : nearest(wanted, work.keysOf(element)).map((key) => [{ key }]);
  return rests.map((rest) => `${name}${formatPath([...above, { each: true }, ...rest])}`);
}

/** A key as it is written after a full stop, or else in brackets. */
export function writtenKey(key: string): string {
  return formatPath([{ key }]).replace(/^\./u, "");
}
