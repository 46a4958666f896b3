import { isObject, type Json } from "../value/json.ts";
import { formatPath, type Path, type Reading, readPath } from "../value/path.ts";
import { nearest } from "./near.ts";
import type { Found, Lookup, Missing, Reference } from "./reference.ts";

/**
 * A lookup in a plain object: each own property is a variable. What it finds is not copied. Cost of a
 * miss: the edit distance to each name or key.
 */
export function lookupIn(variables: Readonly<Record<string, Json>>): Lookup {
  return (reference) => {
    const value =
      isObject(variables) && Object.hasOwn(variables, reference.name)
        ? variables[reference.name]
        : undefined;
    if (value === undefined) return unknownName(reference.name, Object.keys(variables));
    return readReference(reference, value);
  };
}

/** An unknown name, with the names that are nearly it. */
export function unknownName(name: string, names: Iterable<string>): Missing {
  return { found: false, reason: "unknown", near: nearest(name, names) };
}

/** What a reference stands for in its variable's value. */
function readReference(reference: Reference, value: Json): Found | Missing {
  return answerFrom(reference, readPath(value, reference.path));
}

/** What a reference stands for, when its path has been read. */
export function answerFrom({ name, path }: Reference, reading: Reading): Found | Missing {
  return reading.found ? reading : missingPath(name, path, reading);
}

function missingPath(
  name: string,
  path: Path,
  reading: Extract<Reading, { found: false }>,
): Missing {
  const { keys, length } = reading;
  const wanted = path[reading.nearest.length];
  const near =
    keys !== undefined && wanted !== undefined && "key" in wanted ? nearest(wanted.key, keys) : [];
  return {
    found: false,
    reason: "path",
    nearest: `${name}${formatPath(reading.nearest)}`,
    ...(keys === undefined ? {} : { keys }),
    ...(length === undefined ? {} : { length }),
    ...(near.length === 0 ? {} : { near }),
  };
}
