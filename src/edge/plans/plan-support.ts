import type { FrontEnd } from "../../plan/front-end.ts";
import { jsonPlans } from "../../plan/json-plan.ts";
import { planApi } from "../openapi/plan-operations.ts";
import { endRuns } from "./plans-of.ts";
import { Plans, planTool, type PlanSupport } from "./plans.ts";
import { planRoutes } from "../routes/plans.ts";

/** Plans as JSON, and in these other ways of writing: `capabilityWorkflows`, `templates`. */
export function planSupport(...others: readonly FrontEnd[]): PlanSupport {
  const frontEnds = [jsonPlans, ...others];
  return {
    frontEnds,
    endRuns,
    planTool,
    open: (context) => new Plans(context),
    routes: () => planRoutes(frontEnds),
    api: planApi,
  };
}
