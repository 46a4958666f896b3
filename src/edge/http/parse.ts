import type * as z from "zod";
import { ByrefError } from "../../errors.ts";
import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";

/** Parses the value. Throws `bad_request`, which names the first `maxInputIssues` invalid places. */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, at = "body") {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, limits.maxInputIssues).map(({ path, message }) => ({
    at: clip([at, ...path].join("."), MAX_PLACE_CHARS),
    message: clip(message, MAX_ISSUE_CHARS),
  }));
  const summary = issues.map((issue) => `${issue.at}: ${issue.message}`).join("; ");
  throw new ByrefError("bad_request", summary, { issues });
}

const MAX_PLACE_CHARS = 200;
const MAX_ISSUE_CHARS = 500;
