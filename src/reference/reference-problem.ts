import { ByrefError, type ErrorCode } from "../errors.ts";
import type { Unresolved } from "./expand.ts";
import type { Missing } from "./lookup.ts";
import { writtenKey } from "./lookup-in.ts";

/**
 * The error for a reference that cannot be resolved, with data for the model that wrote it. `code` is
 * `path_not_found`, `variable_evicted`, `variable_secret`, `variable_not_found`, `bad_alternatives` or
 * `limit_exceeded`.
 */
export class ReferenceProblem extends ByrefError {
  constructor(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>>) {
    super(code, message, details);
    this.name = "ReferenceProblem";
  }
}

const codeOfReason = {
  unknown: "variable_not_found",
  path: "path_not_found",
  evicted: "variable_evicted",
  secret: "variable_secret",
  unreadable: "limit_exceeded",
} as const;

/** Describes why a reference failed, so that a model can correct it. */
export function describe(
  source: string,
  missing: Missing,
): Omit<Unresolved, "reference"> & { message: string } {
  const { near = [], reason, code = codeOfReason[reason] } = missing;
  return { code, message: sentence(source, missing), ...(near.length > 0 && { near }) };
}

function sentence(source: string, missing: Missing): string {
  const { message, reason, near } = missing;
  if (message !== undefined) return message;
  if (reason === "unknown") return `${source} is not a variable.${didYouMean(near)}`;
  if (reason === "evicted") return `${source} has been evicted.`;
  if (reason === "secret") return `${source} is secret and cannot be used here.`;
  return `${source} leads nowhere.${existingPart(missing)}${didYouMean(near)}`;
}

function existingPart({ nearest, keys, length, type }: Missing): string {
  if (nearest === undefined) return "";
  if (keys !== undefined) {
    const shown = keys.slice(0, 20).map(writtenKey).join(", ");
    return ` ${nearest} has the keys ${shown || "(none)"}.`;
  }
  const kind = type === undefined || type === "null" ? type : `a ${type}`;
  if (length === undefined) return ` ${nearest} ${kind === undefined ? "exists" : `is ${kind}`}.`;
  return ` ${nearest} ${kind === undefined ? "has" : `is ${kind} of`} length ${length}.`;
}

function didYouMean(near: readonly string[] = []): string {
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}

/** Returns the same as an error, with all known details. */
export function problemFrom(source: string, missing: Missing): ReferenceProblem {
  const { code, message } = describe(source, missing);
  const { nearest, keys, length, type, near, tombstone } = missing;
  const about = { nearest, keys: keys?.slice(0, 50), length, type, near, tombstone };
  const details = { reference: source, ...about };
  return new ReferenceProblem(code, message, details);
}
