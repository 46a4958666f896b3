import { ByrefError } from "../../errors.ts";
import { checkPlan, type CheckedPlan } from "../../plan/check-plan.ts";
import { Findings } from "../../plan/findings.ts";
import type { Finding, Plan } from "../../plan/plan.ts";
import type { PlanRecord } from "../../plan/plan-record.ts";
import { OWN_NAMES } from "../../plan/run-names.ts";
import { referencesIn } from "../../reference/references-in.ts";
import type { VariableStore } from "../../store/variable-store.ts";
import { ScopedStore } from "../../tool/scoped-store.ts";
import { frontEndOf, type PlanTools, type RunToOpen, toolsToRun } from "./plan-tools.ts";
import type { TurnOptions } from "../turn-options.ts";

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
  run: Omit<RunToOpen, "tainted"> & { readonly needs?: readonly string[] },
): Promise<OpenedPlan> {
  const { store, facilities = {} } = options;
  const tools = await toolsToRun(plan, options, { ...run, tainted });
  const checked = await requireValid(plan, tools, { store, known: run.needs ?? [] });
  const read = frontEndOf(facilities, plan.format).reads?.(plan) ?? [];
  const needs = needsOf(plan, read).filter((name) => new ScopedStore(store).glance(name));
  for (const name of needs) store.holds.hold(run.run, name);
  return { checked, tools, effectsOf: (call) => tools.effectsOf(call), needs };
}

interface Circumstances {
  readonly store: VariableStore;
  /** Some that are known already. */
  readonly more?: readonly Finding[];
  /** Variables that were there when the run began: what misses them now fails, and nothing else. */
  readonly known?: readonly string[];
}

/** Throws `invalid_plan`, with all findings. */
export async function requireValid(
  plan: Plan,
  tools: PlanTools,
  { store, more = [], known = [] }: Circumstances,
): Promise<CheckedPlan> {
  // What is a run's is nobody else's.
  const open = new ScopedStore(store);
  const isKnown = (name: string) => known.includes(name) || open.glance(name) !== undefined;
  const { checked, findings: found } = await checkPlan(plan, { tools: tools.plain, isKnown });
  const findings = new Findings(more);
  findings.addAll(found);
  findings.add(...tools.findings);
  if (checked !== undefined && findings.isEmpty) return checked;
  throw invalidPlan(findings);
}

/** The first findings in words, all of them as data. */
export function invalidPlan(all: Findings): ByrefError {
  const findings = all.list();
  const said = findings
    .slice(0, MAX_SAID_FINDINGS)
    .map(({ call, at, message }) => [call ?? [], at ?? [], message].flat().join(": "));
  return new ByrefError("invalid_plan", said.join(" "), { findings });
}

const MAX_SAID_FINDINGS = 3;

/** Names that are not the run's own, of what its calls refer to or read. */
function needsOf(plan: Plan, read: readonly string[]): readonly string[] {
  const own = new Set([...OWN_NAMES, ...plan.runNames]);
  const referred = plan.calls.flatMap(({ parameters }) =>
    referencesIn(parameters, plan.syntaxes).flatMap(({ references }) =>
      references.map(({ name }) => name),
    ),
  );
  return [...new Set([...referred, ...read])].filter((name) => !own.has(name));
}
