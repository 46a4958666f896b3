import { codeOf, messageOf } from "../errors.ts";
import type { Write } from "../store/variable-store.ts";
import type { Flag } from "../store/variable.ts";
import { flagged } from "../store/value-labels.ts";
import type { Json } from "../value/json.ts";
import type { Labels } from "./labels.ts";
import type { CallOptions } from "./wrapped-tool.ts";

/**
 * True if the model must not learn whether a call failed before its tool ran: sealed values went in, so
 * that each failure would tell something of them. The result is then a variable either way. A step of a plan
 * fails openly, because the steps after it must not run; so does a call with secrets alone, because a wrong
 * argument beside a key has to be corrected.
 */
export function hidesFailure(
  labels: Labels,
  { isPlanned }: Pick<CallOptions, "isPlanned">,
): boolean {
  return isPlanned !== true && labels.consumed.some(({ visibility }) => visibility === "sealed");
}

/** What the variable holds in place of a result: for people, not for the model or for tools. */
export function failureReport(error: unknown): Json {
  return { error: codeOf(error), message: messageOf(error) };
}

/** The same flags, with the mark of a failure. */
export function failureFlags(flags: readonly Flag[] = []): { readonly flags?: readonly Flag[] } {
  return flagged([...flags, "failed"]);
}

/** The write with the report of its failure in place of its value: of the variable as a whole. */
export function failedWrite<Given extends Write>(write: Given, error: unknown) {
  const value = failureReport(error);
  const whole = { path: [], mode: "replace" as const };
  return { ...write, ...whole, value, ...failureFlags(write.flags) };
}

/** True if the write reports a failure already: then there is no other report to make. */
export function isFailure({ flags }: Pick<Write, "flags">): boolean {
  return flags?.includes("failed") === true;
}
