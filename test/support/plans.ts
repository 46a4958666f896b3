import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readJsonPlan } from "../../packages/plans/src/plan/plan-format.ts";
import type { Plan, PlanCall } from "../../src/turn/plan.ts";
import type { Json } from "../../src/value/json.ts";

export interface PlanRun {
  readonly input?: Json;
  readonly state?: Json;
  /** Tools of the calls with this status, in the order of the calls. */
  readonly skipped?: readonly string[];
  readonly failed?: readonly string[];
}

interface PlanCase extends PlanRun {
  readonly name: string;
  readonly calls: readonly Readonly<Record<string, Json>>[];
  readonly rejected?: readonly string[];
  /** Several runs of the same plan. */
  readonly runs?: readonly PlanRun[];
}

const file = join(import.meta.dirname, "../cases/workflows/plans.json");

/** The specification's plans; see `about` in the file. */
export const cases = (JSON.parse(readFileSync(file, "utf8")) as { cases: readonly PlanCase[] })
  .cases;

/** Returns a plan whose references define its graph, unless `about` says otherwise. */
export const planWith = (calls: readonly PlanCall[], about: Partial<Plan> = {}): Plan => ({
  calls,
  syntaxes: ["dagger"],
  runNames: [],
  outputs: [],
  format: "json",
  order: "data",
  ...about,
});

/** Reads a plan as a model or a person writes it. */
export function planOf(calls: PlanCase["calls"]): Plan {
  const { plan, findings } = readJsonPlan({ calls });
  if (plan === undefined) throw new Error(JSON.stringify(findings));
  return plan;
}
