import type { PlanFormat } from "../../plan/plan-format.ts";
import { jsonPlan, jsonPlans } from "../../plan/json-plan.ts";
import type { Api } from "../api.ts";
import type { ConversationContext, PlanParts } from "../conversation-context.ts";
import { decided, planEndpoints, runBody } from "../routes/plans.ts";
import { planList, planView, runView } from "./plan-schemas.ts";
import { endRuns } from "./plans-of.ts";
import { Plans, planTool } from "./plans.ts";

/** Plan support, as an application passes it to `createRuntime`. */
export interface PlanSupport extends PlanParts {
  /** The plans of one conversation. */
  open(context: ConversationContext): Plans;
  readonly api: Api;
}

/** Supports JSON plans, and plans in other formats: `capabilityWorkflows`, `templates`. */
export function planSupport(...others: readonly PlanFormat[]): PlanSupport {
  const planFormats = [jsonPlans, ...others];
  return {
    planFormats,
    endRuns,
    planTool,
    open: (context) => new Plans(context),
    api: {
      conversation: planEndpoints(planFormats),
      components: {
        JsonPlan: jsonPlan,
        RunBody: runBody,
        Plan: planView,
        PlanList: planList,
        Run: runView,
        Decided: decided,
      },
    },
  };
}
