import {
  type PlanRecord,
  type RunRecord,
  type StoredRun,
  closedCalls,
  OUTCOME_UNKNOWN,
  namesOfRun,
} from "../plan/plan-record.ts";
import { PlanStore } from "../plan/plan-store.ts";
import { badImport } from "../../../transfer/src/transfer-lines.ts";
import { cancelRun } from "../run/plan-turn.ts";
import type { ConversationData, contexts } from "../../../../src/internal-edge.ts";
import type { VariableStore } from "../../../../src/internal.ts";

/** A conversation's plan store. Applications without plans do not bundle it. */
export function plansOf({ sql, store }: Pick<ConversationData, "sql" | "store">): PlanStore {
  return new PlanStore(sql, (run) => deleteKept(run, store));
}

/** Deletes the variables that keep a run's results, unless something else was saved under their names. */
function deleteKept({ id, calls }: RunRecord, store: VariableStore): void {
  for (const [call, { kept }] of Object.entries(calls)) {
    const info = typeof kept === "string" ? store.info(kept) : undefined;
    if (info?.toolCallId === `${id}/${call}` && info.scope === "conversation")
      store.delete(info.name);
  }
}

/** Deletes the variables of ended runs, and holds those of runs that continue or wait. */
export function endRuns(data: ConversationData): void {
  const { store, journal } = data;
  const plans = plansOf(data);
  // Checked first, because finding a run's variables scans all variables.
  if (!plans.isUsed) return;
  const head = journal.head();
  const continuing = head?.isOpen === true ? head.id : undefined;
  for (const record of plans.runningRuns()) {
    // Its turn was closed while the application had no plans.
    if (record.id !== continuing) failRun(plans, record);
  }
  const runs = store.runs();
  if (runs.length === 0) return;
  const open = new Set(continuing === undefined ? [] : [continuing]);
  const namesOf = new Map<string, readonly string[]>();
  for (const { id, plan, needs } of plans.openRuns()) {
    open.add(id);
    const runNames = namesOf.get(plan) ?? plans.get(plan)?.plan.runNames ?? [];
    namesOf.set(plan, runNames);
    const names = [...namesOfRun(id, runNames), ...store.ofRun(id), ...needs];
    for (const name of names) store.holds.hold(id, name);
  }
  for (const run of runs) if (!open.has(run)) store.endRun(run);
}

/** Closes a run that cannot continue. The outcome of its calls is unknown. */
function failRun(plans: PlanStore, record: RunRecord): void {
  const { code, message } = OUTCOME_UNKNOWN;
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, message);
  plans.saveRun({ ...record, status: "failed", calls, error: `${code}: ${message}` });
  plans.setStatus(record.plan, "failed");
}

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

/**
 * Stores a line of a file. A running run is closed, because the outcome of its calls is unknown. One that has failed
 * cannot be retried. Throws `bad_import`.
 */
export function takePlanLine(data: ConversationData, line: contexts.PlanLine): void {
  const plans = plansOf(data);
  // The casts remove the schemas' statement that absent fields may be undefined.
  if (line.type === "plan") {
    const plan = line.plan as unknown as PlanRecord;
    if (plans.get(plan.id) !== undefined) throw badImport("It contains a plan twice.");
    return plans.add(plan);
  }
  const { record: taken, input, state } = line as unknown as StoredRun;
  const { results: _, ...record } = taken;
  if (plans.get(record.plan) === undefined || plans.run(record.id) !== undefined) {
    throw badImport("It contains a run twice or without its plan.");
  }
  plans.addRun(record, input);
  if (record.status === "running") failRun(plans, record);
  else plans.saveRun(record);
  if (state !== undefined) plans.saveState(record.id, state);
}

/** Cancels the runs that wait for a person. Their result is what they have produced so far. */
export async function cancelWaitingRuns(data: ConversationData, reason: string): Promise<number> {
  const { events } = data;
  const plans = plansOf(data);
  if (!plans.isUsed) return 0;
  let cancelled = 0;
  for (const run of plans.openRuns()) {
    cancelled++;
    const { id, plan } = run;
    await cancelRun({ ...data, plans }, { ...run, error: reason }, reason);
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
