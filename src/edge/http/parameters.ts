import * as z from "zod";
import { ByrefError } from "../../errors.ts";
import { requireReadable } from "./request-headers.ts";

/** Schemas of query parameters and headers that several endpoints use. */

export const text = z.string();

/** A whole number, in decimal digits. */
export function wholeNumber(name: string, min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const numberIn = (given: unknown): number => {
    const number = /^\d{1,16}$/.test(String(given)) ? Number(given) : Number.NaN;
    if (number >= min && number <= max) return number;
    throw new ByrefError("bad_request", `${name} must be a whole number from ${min} to ${max}.`);
  };
  return z.preprocess(numberIn, z.int().min(min).max(max));
}

/** The id after which a list or a stream continues. */
export const after = wholeNumber("after", 0).optional().describe("The last id received");

/** The size of a page. */
export function pageSize(max: number) {
  return wholeNumber("limit", 1, max).prefault(max);
}

/** Runs a check that throws its own problem, then the schema. */
export function checked<Schema extends z.ZodType>(schema: Schema, check: (text: string) => void) {
  return z.preprocess((given) => {
    check(String(given));
    return given;
  }, schema);
}

export function oneOf<const Choices extends readonly [string, ...string[]]>(
  name: string,
  choices: Choices,
) {
  return checked(z.enum(choices), (given) => {
    if (choices.includes(given)) return;
    throw new ByrefError("bad_request", `${name} must be ${choices.join(", ")}; not ${given}.`);
  });
}

const ETAG = { pattern: /^(?:\*|(?:W\/)?"[!#-~]*")$/.source };

/** Dates are accepted, and never apply. */
export const ifRange = text.meta(ETAG);

export const ifMatch = checked(text.meta(ETAG), (given) => requireReadable({ ifMatch: given }));

export const ifNoneMatch = checked(text.meta(ETAG), (given) =>
  requireReadable({ ifNoneMatch: given }),
);

/** A header: a client's own identifier of a post. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/u, "must be 1 to 255 visible ASCII characters")
  .optional();
