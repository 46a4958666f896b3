import { limits } from "../limits.ts";
import { checkPlan } from "../plan/check-plan.ts";
import type { Finding, Plan, PlanFormat } from "../plan/plan.ts";
import { inputFindings } from "../plan/plan-input.ts";
import type { PlanRecord } from "../plan/plan-store.ts";
import { readPlan } from "../plan/read-plan.ts";
import { limitExceeded } from "../errors.ts";
import { byteLength } from "../value/utf8.ts";
import { invalidPlan, planTools } from "./open-plan.ts";
import type { TurnOptions } from "./turn-options.ts";

export interface Proposal {
  readonly format: PlanFormat;
  readonly text: string;
  /** The model that wrote it had been shown what is not trusted. */
  readonly tainted?: boolean;
}

export type Proposer = Pick<TurnOptions, "agent" | "store" | "facilities">;

/** A plan that could run, to be kept; nothing has happened yet. Throws `invalid_plan`, with all findings. */
export async function proposePlan(
  proposer: Proposer,
  { format, text, tainted = false }: Proposal,
): Promise<PlanRecord> {
  const actual = byteLength(text);
  const maximum = limits.maxPlanBytes;
  if (actual > maximum) {
    const advice = "Keep long data in variables, and refer to them.";
    throw limitExceeded("maxPlanBytes", { maximum, actual, advice });
  }
  const { plan, findings } = readPlan(format, text);
  if (plan === undefined) throw invalidPlan(findings);
  return recordOf(plan, proposer, tainted);
}

async function recordOf(
  plan: Plan,
  { agent, store, facilities = {} }: Proposer,
  tainted: boolean,
): Promise<PlanRecord> {
  const tools = await planTools(plan, { agent, store, facilities }, { run: "proposed" });
  const isKnown = (name: string) => store.glance(name) !== undefined;
  const { checked, findings } = await checkPlan(plan, { tools: tools.plain, isKnown });
  const all: readonly Finding[] = [...inputFindings(plan), ...findings];
  if (checked === undefined || all.length > 0) throw invalidPlan(all);
  const after = checked.calls.map(({ call, dependsOn }): [string, string[]] => [
    call.id,
    [...dependsOn].map((index) => plan.calls[index]?.id ?? ""),
  ]);
  const isApproved = await isApprovedByRule(plan, agent.approvesPlan);
  return {
    id: crypto.randomUUID(),
    status: isApproved ? "approved" : "proposed",
    plan,
    agent: agent.name,
    after: Object.fromEntries(after),
    createdAt: new Date().toISOString(),
    ...(tainted ? { tainted } : {}),
  };
}

/** A rule that fails approves of nothing. */
async function isApprovedByRule(
  plan: Plan,
  approves: ((plan: Plan) => boolean | Promise<boolean>) | undefined,
): Promise<boolean> {
  try {
    return (await approves?.(plan)) === true;
  } catch (error) {
    console.error(error);
    return false;
  }
}
