import { ByrefError } from "../errors.ts";
import { checkPlan, type CheckedPlan } from "../plan/check-plan.ts";
import type { Finding, Plan } from "../plan/plan.ts";
import type { PlanRecord } from "../plan/plan-store.ts";
import { GATES } from "../plan/run-record.ts";
import { referencesIn } from "../reference/references-in.ts";
import type { VariableStore } from "../store/variable-store.ts";
import { frontEndOf, type PlanTools, type RunToOpen, toolsToRun } from "./plan-tools.ts";
import type { TurnOptions } from "./turn-options.ts";

/** A plan that can run, with the tools that it calls. */
export interface OpenedPlan {
  readonly checked: CheckedPlan;
  readonly tools: Pick<PlanTools, "get">;
  readonly effectsOf: PlanTools["effectsOf"];
  /** Variables of the conversation that it reads. */
  readonly needs: readonly string[];
}

/** Throws `invalid_plan`, with all findings. */
export async function openPlan(
  options: TurnOptions,
  { plan, tainted = false }: PlanRecord,
  run: Omit<RunToOpen, "tainted">,
): Promise<OpenedPlan> {
  const { store, facilities = {} } = options;
  const tools = await toolsToRun(plan, options, { ...run, tainted });
  const checked = await requireValid(plan, tools, { store });
  const read = frontEndOf(facilities, plan.format).reads?.(plan) ?? [];
  const needs = needsOf(plan, read).filter((name) => store.glance(name) !== undefined);
  for (const name of needs) store.holds.hold(run.run, name);
  return { checked, tools, effectsOf: (call) => tools.effectsOf(call), needs };
}

/** Throws `invalid_plan`, with all findings; `more` are some that are known already. */
export async function requireValid(
  plan: Plan,
  tools: PlanTools,
  { store, more = [] }: { readonly store: VariableStore; readonly more?: readonly Finding[] },
): Promise<CheckedPlan> {
  const isKnown = (name: string) => store.glance(name) !== undefined;
  const { checked, findings } = await checkPlan(plan, { tools: tools.plain, isKnown });
  const all = [...more, ...findings, ...tools.findings];
  if (checked !== undefined && all.length === 0) return checked;
  throw invalidPlan(all);
}

export function invalidPlan(findings: readonly Finding[]): ByrefError {
  const said = findings.map(({ call, at, message }) =>
    [call ?? [], at ?? [], message].flat().join(": "),
  );
  return new ByrefError("invalid_plan", said.join(" "), { findings });
}

/** Names that are not the run's own, of what its calls refer to or read. */
function needsOf(plan: Plan, read: readonly string[]): readonly string[] {
  const own = new Set(["input", "state", GATES, ...plan.runNames]);
  const referred = plan.calls.flatMap(({ parameters }) =>
    referencesIn(parameters, plan.syntaxes).flatMap(({ references }) =>
      references.map(({ name }) => name),
    ),
  );
  return [...new Set([...referred, ...read])].filter((name) => !own.has(name));
}
