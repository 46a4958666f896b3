import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/utf8.ts";

/** Returns the argument. Throws `limit_exceeded` if its JSON is longer than a message may be. */
export function bounded<Body extends object>(body: Body): Body {
  requireMessageSize(byteLength(JSON.stringify(body)));
  return body;
}

/** Throws `limit_exceeded` if there are more bytes than one message may have. */
export function requireMessageSize(actual: number): void {
  const advice = "Put long data into a variable.";
  requireAtMost(["maxMessageBytes", limits.maxMessageBytes], actual, advice);
}
