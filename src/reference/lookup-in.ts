import { compact, isObject, type Json } from "../value/json.ts";
import { codeOf, messageOf } from "../errors.ts";
import { formatPath, type Reading, readPath } from "../value/path.ts";
import { LookupWork, type Found, type Lookup, type Missing } from "./lookup.ts";
import { nearest } from "./near.ts";
import type { Reference } from "./reference.ts";

/**
 * A lookup in a plain object: each own property is a variable. What it finds is not copied. Cost of a
 * miss: the edit distance to at most 1,000 names or keys.
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

/** An unknown name, with the names that are nearly it. */
export function unknownName(
  name: string,
  work: LookupWork,
  list: () => readonly string[],
): Missing {
  const near = work.explains() ? nearest(name, (work.names ??= list())) : [];
  return { found: false, reason: "unknown", near };
}

/** For a value that is too large to be returned, or bytes. Rethrows any other error. */
export function unreadable(error: unknown): Missing {
  const code = codeOf(error);
  if (code !== "limit_exceeded" && code !== "bad_value") throw error;
  return { found: false, reason: "unreadable", code, message: messageOf(error) };
}

/** What a reference stands for, when its path has been read. */
export function answerFrom(
  { name, path }: Reference,
  reading: Reading,
  work = new LookupWork(),
): Found | Missing {
  if (reading.found) return reading;
  const { keys = [], length } = reading;
  const wanted = path[reading.nearest.length];
  const isKey = wanted !== undefined && "key" in wanted;
  const near = isKey && work.explains() ? nearest(wanted.key, keys) : [];
  return {
    found: false,
    reason: "path",
    nearest: `${name}${formatPath(reading.nearest)}`,
    ...(reading.keys === undefined ? {} : { keys }),
    ...compact({ length }),
    ...(near.length === 0 ? {} : { near }),
  };
}
