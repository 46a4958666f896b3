import { ByrefError, requireAtMost } from "../errors.ts";
import { isJsonArray, isScalar, type Json, type JsonScalar } from "./json.ts";

/**
 * Validates a value. Throws `limit_exceeded` for more than `maxDepth` levels, which would overflow the
 * stack when written or read, or for more than `maxContainers` arrays and objects; `bad_value` for a number
 * that is not finite, which JSON would turn into null. `around`: levels of a wrapper, which do not
 * count. `before`: containers of the same value that were validated earlier. Returns the containers so far.
 * Not recursive. Cost: linear.
 */
export function requireJson(value: Json, around = 0, before = 0): number {
  let level = containersIn([value]);
  let containers = before;
  for (let levels = 1 - around; level.length > 0; levels++) {
    requireAtMost("maxDepth", levels, ADVICE);
    containers += level.length;
    requireAtMost("maxContainers", containers, ADVICE);
    level = level.flatMap(containersIn);
  }
  return containers;
}

const ADVICE = "Send flatter data, or text.";

type Container = Exclude<Json, JsonScalar>;

/** The arrays and objects among the elements. */
function containersIn(container: Container): Container[] {
  const found: Container[] = [];
  for (const element of isJsonArray(container) ? container : Object.values(container)) {
    if (typeof element === "number" && !Number.isFinite(element)) throw notFinite();
    if (!isScalar(element)) found.push(element);
  }
  return found;
}

function notFinite(): ByrefError {
  return new ByrefError("bad_value", "A number is too large to be kept; send it as a string.");
}
