import { codeOf } from "../errors.ts";
import { closedCalls } from "../plan/close-calls.ts";
import type { RunRecord } from "../plan/run-record.ts";
import type { PlanTurnOptions } from "./plan-turn.ts";
import { RunOutcome } from "./run-outcome.ts";

/** The conversation may change while the end is made ready. */
const MAX_TRIES = 3;

/** Ends a run that waits for a person; one that goes on is stopped by its signal. */
export async function cancelRun(
  { plans, store, journal }: Pick<PlanTurnOptions, "plans" | "store" | "journal">,
  record: RunRecord,
): Promise<void> {
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, "The run was cancelled.");
  const ended = { ...record, status: "cancelled", calls } as const;
  for (let tries = 1; ; tries++) {
    const outcome = await RunOutcome.prepare({ store, plan, record: ended });
    try {
      journal.atomically(() => {
        outcome.commit();
        plans.saveRun(outcome.record);
        plans.saveState(record.id, outcome.state);
      });
      break;
    } catch (error) {
      store.forget();
      outcome.discard();
      if (codeOf(error) !== "conflict" || tries === MAX_TRIES) throw error;
    }
  }
  store.holds.release(record.id);
}
