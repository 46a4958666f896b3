import type { Hono } from "hono";
import type { FrontEnd } from "../../plan/front-end.ts";
import { jsonPlans } from "../../plan/json-plan.ts";
import type { AppEnv } from "../app.ts";
import type { ConversationData } from "../conversation-data.ts";
import type { Described } from "../openapi/document.ts";
import { planApi } from "../openapi/plan-operations.ts";
import { endRuns } from "./plans-of.ts";
import { Plans, type PlansOptions } from "./plans.ts";
import { planRoutes } from "../routes/plans.ts";

/** What a runtime with plans carries. */
export interface PlanSupport {
  readonly frontEnds: readonly FrontEnd[];
  /** When a conversation wakes. */
  readonly endRuns: (data: ConversationData) => void;
  /** Those of one conversation. */
  open(options: PlansOptions): Plans;
  routes(): Hono<AppEnv>;
  readonly api: Described;
}

/** Plans as JSON, and in these other ways of writing: `capabilityWorkflows`, `templates`. */
export function planSupport(...others: readonly FrontEnd[]): PlanSupport {
  const frontEnds = [jsonPlans, ...others];
  return {
    frontEnds,
    endRuns,
    open: (options) => new Plans(options),
    routes: () => planRoutes(frontEnds),
    api: planApi,
  };
}
