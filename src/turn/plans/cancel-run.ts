import { closedCalls } from "../../plan/closed-calls.ts";
import type { RunRecord } from "../../plan/run-record.ts";
import type { PlanTurnOptions } from "./plan-turn.ts";
import { commitOutcome } from "./run-outcome.ts";

/** Ends a run that waits for a person; one that goes on is stopped by its signal. */
export async function cancelRun(
  { plans, store, journal }: Pick<PlanTurnOptions, "plans" | "store" | "journal">,
  record: RunRecord,
  reason = "The run was cancelled.",
): Promise<void> {
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, reason);
  const ended = { ...record, status: "cancelled", calls } as const;
  await commitOutcome({ store, plan, record: ended }, (outcome) => {
    journal.atomically(() => {
      outcome.commit();
      plans.saveRun(outcome.record);
      plans.saveState(record.id, outcome.state);
    });
  });
  store.holds.release(record.id);
}
