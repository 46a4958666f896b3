import type * as z from "zod";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";

/** The value, checked; throws `bad_request`, which names the first `maxInputIssues` places that are wrong. */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, at = "body") {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, limits.maxInputIssues).map(({ path, message }) => ({
    at: clip([at, ...path].join("."), MAX_PLACE_CHARS),
    message: clip(message, MAX_ISSUE_CHARS),
  }));
  const said = issues.map((issue) => `${issue.at}: ${issue.message}`).join("; ");
  throw new ByrefError("bad_request", said, { issues });
}

const MAX_PLACE_CHARS = 200;
const MAX_ISSUE_CHARS = 500;

/** A whole number in a query; throws `bad_request`. */
export function wholeNumberIn(
  query: string | undefined,
  name: string,
  range: { readonly min: number; readonly max?: number },
): number | undefined {
  if (query === undefined) return undefined;
  const number = /^\d{1,15}$/.test(query) ? Number(query) : Number.NaN;
  const { min, max = Number.MAX_SAFE_INTEGER } = range;
  if (number >= min && number <= max) return number;
  throw new ByrefError("bad_request", `${name} must be a whole number from ${min} to ${max}.`);
}

/** A page's size: `maxPageSize` unless asked for less. */
export function pageSize(query: string | undefined): number {
  return wholeNumberIn(query, "limit", { min: 1, max: limits.maxPageSize }) ?? limits.maxPageSize;
}
