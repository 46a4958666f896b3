import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/utf8.ts";

/** Returns the argument. Throws `limit_exceeded` if its JSON is longer than a message may be. */
export function bounded<Asked extends object>(asked: Asked): Asked {
  requireMessageSize(byteLength(JSON.stringify(asked)));
  return asked;
}

/** Throws `limit_exceeded` if there are more bytes than one message may have. */
export function requireMessageSize(actual: number): void {
  const advice = "Put long data into a variable.";
  requireAtMost(["maxMessageBytes", limits.maxMessageBytes], actual, advice);
}
