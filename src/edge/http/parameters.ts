import * as z from "zod";
import { etagsIn } from "./request-headers.ts";

/** Schemas of query parameters and headers that several endpoints use. */

export const text = z.string();

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const numberIn = (given: unknown) => (/^\d{1,16}$/.test(String(given)) ? Number(given) : given);
  const error = `must be a whole number from ${min} to ${max}`;
  return z.preprocess(numberIn, z.int(error).min(min, error).max(max, error));
}

/** The id after which a list or a stream continues. */
export const after = wholeNumber(0).optional().describe("The last id received");

export function pageSize(max: number) {
  return wholeNumber(1, max).prefault(max);
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(choices: Choices) {
  return z.enum(choices, `must be one of ${choices.join(", ")}`);
}

const ETAG = { pattern: /^(?:\*|(?:W\/)?"[!#-~]*")$/.source };

/** Dates are accepted, and never apply. */
export const ifRange = text.meta(ETAG);

/** The headers of a request that depends on what is there. `expected`: what `If-Match` should name. */
export function conditions(expected = "The expected ETag, or *") {
  return {
    "If-Match": etags("If-Match").optional().describe(expected),
    "If-None-Match": etags("If-None-Match").optional(),
  };
}

/** A malformed list has an error of its own. */
function etags(header: string) {
  return text.meta(ETAG).transform((given) => etagsIn(header, given));
}

/** A header: a client's own identifier of a post. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/u, "must be 1 to 255 visible ASCII characters")
  .optional();
