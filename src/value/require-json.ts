import { ByrefError, requireAtMost } from "../errors.ts";
import * as limits from "../limits.ts";
import * as ascii from "./ascii.ts";
import { isJsonArray, isScalar, type Json, type JsonScalar } from "./json.ts";

/**
 * Validates a value. Throws `limit_exceeded` for more than `maxDepth` levels, which would overflow the
 * stack when written or read, or for more than `maxContainers` arrays and objects; `bad_value` for a number
 * that is not finite, which JSON would turn into null. `around`: levels of a wrapper, which do
 * not count. Not recursive. Cost: linear.
 */
export function requireJson(value: Json, around = 0): void {
  let level = containersIn([value]);
  let containers = 0;
  for (let levels = 1 - around; level.length > 0; levels++) {
    requireAtMost("maxDepth", levels, ADVICE);
    containers += level.length;
    requireAtMost("maxContainers", containers, ADVICE);
    level = level.flatMap(containersIn);
  }
}

/**
 * Throws `limit_exceeded` for a JSON text with more than `maxContainers` arrays and objects before it is parsed: empty
 * ones take many times the memory of their text. Cost: linear.
 */
export function requireFewContainers(json: string): void {
  if (json.length <= limits.maxContainers) return;
  let containers = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === ascii.OPEN_BRACKET || code === ascii.OPEN_BRACE) containers++;
    if (code !== ascii.QUOTE) continue;
    at++;
    while (at < json.length && json.charCodeAt(at) !== ascii.QUOTE)
      at += json.charCodeAt(at) === ascii.BACKSLASH ? 2 : 1;
  }
  requireAtMost("maxContainers", containers, ADVICE);
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
