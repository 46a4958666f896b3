import { ByrefError } from "../errors.ts";
import { checkPlan, type CheckedPlan } from "../plan/check-plan.ts";
import type { Finding, Plan } from "../plan/plan.ts";
import type { PlanRecord } from "../plan/plan-store.ts";
import type { Effects, WrappedTool } from "../tool/wrapped-tool.ts";
import { Taint } from "../tool/taint.ts";
import type { Account } from "./account.ts";
import { wrapOptionsFor } from "./steps.ts";
import { Toolbox } from "./toolbox.ts";
import type { TurnOptions } from "./turn-options.ts";

/** A plan that can run, with the tools that it calls. */
export interface OpenedPlan {
  readonly checked: CheckedPlan;
  readonly tools: { get(name: string): WrappedTool | undefined };
  readonly effectsOf: (tool: string) => Effects;
  /** Variables of the conversation that it reads. */
  readonly needs: readonly string[];
}

export interface PlanToOpen {
  readonly plan: Pick<PlanRecord, "plan"> & { readonly tainted?: boolean };
  /** Whose tools' results are held; the run's id. */
  readonly run: string;
  /** Where it is counted what it costs. */
  readonly account: Account;
}

/** Throws `invalid_plan`, with all findings. */
export async function openPlan(
  options: TurnOptions,
  { plan: { plan, tainted }, run }: PlanToOpen,
): Promise<OpenedPlan> {
  const { store } = options;
  const tools = await planTools(plan, options, { run, ...(tainted === true ? { tainted } : {}) });
  const isKnown = (name: string) => store.glance(name) !== undefined;
  const { checked, findings } = await checkPlan(plan, { tools: tools.plain, isKnown });
  if (checked === undefined) throw invalidPlan(findings);
  const needs = needsOf(checked).filter(isKnown);
  for (const name of needs) store.holds.hold(run, name);
  return {
    checked,
    tools,
    effectsOf: (tool) => tools.effectsOf(tool),
    needs,
  };
}

/** The tools that a plan may call: the agent's, the runtime's own, and what belongs to its format. */
export function planTools(
  { syntaxes, order }: Plan,
  { agent, store, facilities = {} }: Pick<TurnOptions, "agent" | "store" | "facilities">,
  { run, tainted = false }: { readonly run: string; readonly tainted?: boolean },
): Promise<Toolbox> {
  const wrap = {
    ...wrapOptionsFor({ ...agent, outputPath: false }),
    store,
    owner: run,
    taint: new Taint(tainted),
    syntaxes,
    unknown: order === "data" ? ("error" as const) : ("keep" as const),
  };
  // A plan that proposes plans is nothing that a person could approve.
  const { plans: _, ...others } = facilities;
  return Toolbox.open(agent, wrap, others);
}

export function invalidPlan(findings: readonly Finding[]): ByrefError {
  const said = findings.map(({ call, at, message }) =>
    [call ?? [], at ?? [], message].flat().join(": "),
  );
  return new ByrefError("invalid_plan", said.join(" "), { findings });
}

/** Names that no call of the plan writes. */
function needsOf({ calls, plan }: CheckedPlan): readonly string[] {
  const own = new Set(["input", "state", "approvals", ...plan.runNames]);
  const names = calls.flatMap(({ needs }) =>
    needs.flatMap(({ references, writers }) =>
      references.flatMap(({ name }, at) => (writers[at] === undefined ? [name] : [])),
    ),
  );
  return [...new Set(names)].filter((name) => !own.has(name));
}
