import type { PlanRecord, StoredRun } from "../plan/plan-record.ts";
import { badImport } from "../../../transfer/src/transfer-lines.ts";
import { cancelRun } from "../run/plan-turn.ts";
import type { ConversationData, contexts } from "../../../../src/internal-edge.ts";
import { failRun, plansOf } from "./plans-of.ts";

/** The lines of an export: each plan, then its runs. */
export function* planLines(data: ConversationData): Generator<contexts.PlanLine> {
  const plans = plansOf(data);
  for (const id of plans.ids()) {
    const plan = plans.required(id);
    yield { type: "plan", plan };
    // Their values are loaded one run at a time.
    for (const { record } of plans.runsOf(plan.id, 0)) {
      const run = plans.run(record.id);
      if (run !== undefined) yield { ...run, type: "run" };
    }
  }
}

/** Stores a line of a file. Throws `bad_import`. */
export function takePlanLine(data: ConversationData, line: contexts.PlanLine): void {
  // The casts remove the schemas' statement that absent fields may be undefined.
  if (line.type === "plan") takePlan(data, line.plan as unknown as PlanRecord);
  else takeRun(data, line as unknown as StoredRun);
}

function takePlan(data: ConversationData, plan: PlanRecord): void {
  const plans = plansOf(data);
  if (plans.get(plan.id) !== undefined) throw badImport("It contains a plan twice.");
  plans.add(plan);
}

/** A running run is closed, because the outcome of its calls is unknown. One that has failed cannot be retried. */
function takeRun(data: ConversationData, { record: taken, input, state }: StoredRun): void {
  const { results: _, ...record } = taken;
  const plans = plansOf(data);
  const plan = plans.get(record.plan);
  if (plan === undefined || plans.run(record.id) !== undefined) {
    throw badImport("It contains a run twice or without its plan.");
  }
  plans.addRun(record, input);
  if (record.status === "running") failRun(plans, record);
  else plans.saveRun(record);
  if (state !== undefined) plans.saveState(record.id, state);
}

/** Cancels the runs that wait for a person. Their result is what they have produced so far. */
export async function cancelWaitingRuns(data: ConversationData, reason: string): Promise<number> {
  const { store, journal, events } = data;
  const plans = plansOf(data);
  if (!plans.isUsed) return 0;
  let cancelled = 0;
  for (const run of plans.openRuns()) {
    cancelled++;
    const { id, plan } = run;
    await cancelRun({ plans, store, journal }, { ...run, error: reason }, reason);
    events.add({ type: "run.cancelled", run: id, plan });
    // The plan itself may run again, as after any cancelled run.
    if (plans.countOpen(plan) === 0 && plans.statusOf(plan) === "running") {
      plans.setStatus(plan, "approved");
    }
  }
  events.flush();
  return cancelled;
}

/** Plans that a file calls approved wait for approval again. Returns their number. */
export function withdrawApprovals(data: ConversationData): number {
  const plans = plansOf(data);
  const approved = plans
    .ids()
    .filter((id) => !["proposed", "cancelled"].includes(plans.statusOf(id)));
  for (const id of approved) plans.setStatus(id, "proposed");
  return approved.length;
}
