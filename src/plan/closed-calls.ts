import type { Plan } from "./plan.ts";
import { type CallState, type RunRecord, stateIn } from "./run-record.ts";

/** Of a call that had begun when a crash cut it off. */
export const OUTCOME_UNKNOWN = {
  code: "outcome_unknown",
  message: "This call was cut off: it may have done its work or not.",
} as const;

/** The calls of a run of which nothing will go on: what waits is skipped, what had begun nobody knows of. */
export function closedCalls(
  { calls }: Plan,
  record: RunRecord,
  reason: string,
): Readonly<Record<string, CallState>> {
  const { code, message } = OUTCOME_UNKNOWN;
  const closed = calls.map(({ id }): [string, CallState] => {
    const state = stateIn(record, id);
    if (state.status === "running")
      return [id, { status: "failed", reason: `${code}: ${message}` }];
    return [id, state.status === "waiting" ? { status: "skipped", reason } : state];
  });
  return Object.fromEntries(closed);
}
