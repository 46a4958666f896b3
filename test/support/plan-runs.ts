import { type CheckedPlan, checkPlan, type PlanContext } from "../../src/plan/check-plan.ts";
import type { Plan } from "../../src/plan/plan.ts";
import { PlanRun, type PlanRunOptions } from "../../src/plan/plan-run.ts";
import type { RunRecord } from "../../src/plan/plan-record.ts";

/** A run that begins, as it is written down. */
export const runRecord = (id: string, about: Partial<RunRecord> = {}): RunRecord => ({
  id,
  plan: "p",
  status: "running",
  calls: {},
  gates: {},
  keep: true,
  needs: [],
  createdAt: "2026-11-22T00:00:00.000Z",
  ...about,
});

/** The plan, ready to run. Throws what is wrong with it. */
export async function checkedPlan(plan: Plan, context: PlanContext): Promise<CheckedPlan> {
  const { checked, findings } = await checkPlan(plan, context);
  if (checked === undefined) throw new Error(JSON.stringify(findings.list()));
  return checked;
}

type Given = Pick<PlanRunOptions, "checked" | "record" | "store" | "tools">;

/** A run whose calls happen once, which nobody stops and nothing is written down of, unless `given` says so. */
export const planRun = (given: Given & Partial<PlanRunOptions>): PlanRun =>
  new PlanRun({
    effectsOf: () => "once",
    keyPrefix: "c",
    signal: new AbortController().signal,
    commit: (work) => void work(),
    ...given,
  });
