import * as limits from "../../limits.ts";
import { Findings } from "../../plan/findings.ts";
import type { Plan, PlanFormat } from "../../plan/plan.ts";
import { inputFindings } from "../../plan/plan-input.ts";
import type { PlanRecord } from "../../plan/plan-record.ts";
import { limitExceeded } from "../../errors.ts";
import { byteLength } from "../../value/utf8.ts";
import { invalidPlan, requireValid } from "./open-plan.ts";
import { frontEndOf, type Planner, toolsToCheck } from "./plan-tools.ts";

export interface Proposal {
  readonly format: PlanFormat;
  readonly text: string;
  /** The model that wrote it had been shown what is not trusted. */
  readonly tainted?: boolean;
}

/** A plan that could run, to be kept; nothing has happened yet. Throws `invalid_plan`, with all findings. */
export async function proposePlan(
  planner: Planner,
  { format, text, tainted = false }: Proposal,
): Promise<PlanRecord> {
  const actual = byteLength(text);
  const maximum = limits.maxPlanBytes;
  if (actual > maximum) {
    const advice = "Keep long data in variables, and refer to them.";
    throw limitExceeded("maxPlanBytes", { maximum, actual, advice });
  }
  const { plan, findings } = frontEndOf(planner.facilities ?? {}, format).read(text);
  if (plan === undefined) throw invalidPlan(new Findings(findings));
  return recordOf(plan, planner, tainted);
}

async function recordOf(
  read: Plan,
  { agent, store, facilities = {} }: Planner,
  tainted: boolean,
): Promise<PlanRecord> {
  const tools = await toolsToCheck(read, { agent, store, facilities });
  const plan = (await frontEndOf(facilities, read.format).fit?.(read, tools.plain)) ?? read;
  const checked = await requireValid(plan, tools, { store, more: inputFindings(plan) });
  const after = checked.calls.map(({ call, dependsOn }): [string, string[]] => [
    call.id,
    [...dependsOn].map((index) => plan.calls[index]?.id ?? ""),
  ]);
  // A rule cannot know of the doubt.
  const isApproved = !tainted && (await isApprovedByRule(plan, agent.approvesPlan));
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
