import { type Bound, ByrefError, limitExceeded } from "../errors.ts";
import * as limits from "../limits.ts";
import { isScalar, type Json } from "./json.ts";

/**
 * Validates a value. Throws `limit_exceeded` for more than `maxDepth` levels, which would overflow the
 * stack when written or read, or for more than `maxContainers` arrays and objects; `bad_value` for a number
 * that is not finite (1e400), which JSON would turn into null. `around`: levels of a wrapper, which do not
 * count. `before`: containers of the same value that were validated earlier. Returns the containers so far.
 * Not recursive. Cost: linear.
 */
export function requireJson(value: Json, around = 0, before = 0): number {
  let level: readonly Json[] = [value];
  let containers = before;
  for (let depth = 0; level.length > 0; depth++) {
    const next: Json[] = [];
    for (const inner of level) {
      if (typeof inner === "number" && !Number.isFinite(inner)) throw notFinite();
      if (isScalar(inner)) continue;
      const levels = depth + 1 - around;
      if (levels > limits.maxDepth) throw tooMuch(["maxDepth", limits.maxDepth], levels);
      containers++;
      if (containers > limits.maxContainers)
        throw tooMuch(["maxContainers", limits.maxContainers], containers);
      for (const element of Object.values(inner)) next.push(element);
    }
    level = next;
  }
  return containers;
}

function notFinite(): ByrefError {
  return new ByrefError("bad_value", "A number is too large to be kept; send it as a string.");
}

function tooMuch([limit, maximum]: Bound, actual: number): ByrefError {
  const advice = "Send flatter data, or text.";
  return limitExceeded(limit, { maximum, actual, advice });
}
