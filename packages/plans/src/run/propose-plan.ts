import * as z from "zod";
import { requireAtMost } from "../../../../src/errors.ts";
import { type Finding, Findings } from "../plan/findings.ts";
import { jsonCall } from "../plan/json-plan.ts";
import { inputFindings } from "../plan/plan-input.ts";
import type { PlanRecord } from "../plan/plan-record.ts";
import {
  type Plan,
  type PlanFormatName,
  toolCalls,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import { encoding } from "../../../../src/internal.ts";
import { planFormatOf, invalidPlan, type Planner, requireValid, toolsOf } from "./open-plan.ts";

export interface Proposal {
  readonly format: PlanFormatName;
  readonly text: string;
  /** True if the model that wrote the plan had seen untrusted content. */
  readonly tainted?: boolean;
  /** True if a model wrote the plan and receives the findings. */
  readonly isForModel?: boolean;
  /** See `PlanRecord`. */
  readonly notes?: readonly Finding[];
}

/**
 * Checks a proposed plan and returns its record. Nothing runs yet. Throws `invalid_plan`, with all findings.
 */
export async function proposePlan(
  planner: Planner,
  { format, text, notes = [], ...about }: Proposal,
): Promise<PlanRecord> {
  requireLength(text, "Keep long data in variables, and refer to them.");
  const { plan, findings } = planFormatOf(planner.planFormats, format).read(text);
  if (plan === undefined) throw invalidPlan(new Findings(findings));
  const record = await recordOf(plan, planner, about);
  return notes.length === 0 ? record : { ...record, notes };
}

export function requireLength(text: string, advice: string): void {
  requireAtMost("maxRecordBytes", encoding.byteLength(text), advice);
}

export async function recordOf(
  read: Plan,
  planner: Planner,
  { tainted = false, isForModel = false }: Pick<Proposal, "tainted" | "isForModel">,
): Promise<PlanRecord> {
  const { agent, store, planFormats } = planner;
  const tools = await toolsOf(read, planner);
  const plan = (await planFormatOf(planFormats, read.format).fit?.(read, tools.plain)) ?? read;
  const checked = await requireValid(plan, tools, {
    store,
    more: inputFindings(plan),
    isForModel,
  });
  const after = checked.calls.map(({ call, dependsOn }): [string, string[]] => [
    call.id,
    [...dependsOn].map((index) => plan.calls[index]?.id ?? ""),
  ]);
  // A rule cannot know about the taint.
  const isApproved = !tainted && (await isApprovedByRule(plan, planner));
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

/** A rule that throws approves nothing. */
async function isApprovedByRule(plan: Plan, { agent }: Planner): Promise<boolean> {
  try {
    return (await agent.approvesPlan?.(plan)) === true;
  } catch (error) {
    console.error(error);
    return false;
  }
}

const PROPOSE_PLAN = "propose_plan";

interface PlanProposals {
  /** Throws `invalid_plan`, with all findings. */
  propose(proposal: Proposal): Promise<PlanRecord>;
  keep(record: PlanRecord): void;
}

const DESCRIPTION =
  "Propose tool calls, run once approved. _outputPath †state.a names a result, †state.a.id reads it; " +
  "†name: a variable, †input.x: given at the run, †approvals.x asks a person. _after: ids.";

const inputSchema = z.object({
  name: z.string().optional(),
  // The plan's own check has a finding for each wrong part.
  calls: z.array(jsonCall.extend({ _after: z.unknown().optional() })),
});

/** Creates the tool `propose_plan`. A person approves and runs the plan over HTTP. */
export function proposePlanTool({ propose, keep }: PlanProposals) {
  return runtimeTools.runtimeTool({
    name: PROPOSE_PLAN,
    description: DESCRIPTION,
    offeredFrom: "start",
    inputSchema,
    async execute(input, { labels }) {
      const about = { tainted: !labels.isTrusted, isForModel: true };
      const record = await propose({ format: "json", text: JSON.stringify(input), ...about });
      return {
        output: async () =>
          toolCalls.change(() => {
            keep(record);
            const { id, status, plan } = record;
            return { plan: id, status, calls: plan.calls.map((call) => call.id) };
          }),
      };
    },
  });
}
