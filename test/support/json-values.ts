import * as fc from "fast-check";
import type { Json } from "../../src/value/json.ts";

/** Any JSON value, up to eight levels deep. */
export const anyJson = fc.jsonValue({ maxDepth: 8 }) as fc.Arbitrary<Json>;

/** A number inside this many levels. */
export function nested(levels: number, wrap: (inner: Json) => Json): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level++) value = wrap(value);
  return value;
}
