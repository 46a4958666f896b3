import { type RunRecord, closedCalls, OUTCOME_UNKNOWN } from "../plan/plan-record.ts";
import { PlanStore } from "../plan/plan-store.ts";
import type { ConversationData } from "../../../../src/internal-edge.ts";
import type { VariableStore } from "../../../../src/internal.ts";
import { namesOfRun } from "../plan/run-names.ts";

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
export function failRun(plans: PlanStore, record: RunRecord): void {
  const { code, message } = OUTCOME_UNKNOWN;
  const { plan } = plans.required(record.plan);
  const calls = closedCalls(plan, record, message);
  plans.saveRun({ ...record, status: "failed", calls, error: `${code}: ${message}` });
  plans.setStatus(record.plan, "failed");
}
