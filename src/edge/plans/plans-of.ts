import { PlanStore } from "../../plan/plan-store.ts";
import { namesOfRun } from "../../plan/run-names.ts";
import type { ConversationData } from "../conversation-data.ts";

/** What a conversation keeps of plans. An application without plans does not carry it. */
export function plansOf({ sql }: Pick<ConversationData, "sql">): PlanStore {
  return new PlanStore(sql);
}

/** What was a run's ends, unless the run goes on or waits: its variables are held for it. */
export function endRuns(data: ConversationData): void {
  const { store, journal } = data;
  const plans = plansOf(data);
  // Asked first: which variables are a run's is known by going through all of them.
  if (!plans.isUsed) return;
  const runs = store.runs();
  if (runs.length === 0) return;
  const head = journal.head();
  const open = new Set(head?.isOpen === true ? [head.id] : []);
  for (const { id, plan, needs } of plans.openRuns()) {
    open.add(id);
    const runNames = plans.get(plan)?.plan.runNames ?? [];
    const names = [...namesOfRun(id, runNames), ...store.ofRun(id), ...needs];
    for (const name of names) store.holds.hold(id, name);
  }
  for (const run of runs) if (!open.has(run)) store.endRun(run);
}
