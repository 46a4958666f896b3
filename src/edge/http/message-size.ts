import { requireAtMost } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { byteLength } from "../../value/utf8.ts";

/** What is asked as JSON, to go to its conversation. Throws `limit_exceeded` where more would be kept than may be. */
export function boundedJson(asked: object): string {
  const text = JSON.stringify(asked);
  requireMessageSize(byteLength(text));
  return text;
}

/** Throws `limit_exceeded` for more bytes than one message may have. */
export function requireMessageSize(actual: number): void {
  const advice = "Put long data into a variable.";
  requireAtMost(["maxMessageBytes", limits.maxMessageBytes], actual, advice);
}
