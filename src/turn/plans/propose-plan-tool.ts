import * as z from "zod";
import { jsonPlan } from "../../plan/json-plan.ts";
import type { PlanRecord } from "../../plan/plan-record.ts";
import { runtimeTool } from "../../tool/runtime-tool.ts";
import type { Agent } from "../agent.ts";

const PROPOSE_PLAN = "propose_plan";

/** A plan that a model has written. */
interface ModelProposal {
  readonly format: "json";
  readonly text: string;
  readonly tainted: boolean;
}

/** Where models propose plans. */
export interface PlanDesk {
  /** Throws `invalid_plan`, with all findings. */
  propose(agent: Agent, proposal: ModelProposal): Promise<PlanRecord>;
  /** Keeps it for a person to see. */
  keep(record: PlanRecord): void;
}

const DESCRIPTION =
  "Write a plan that a person approves before it runs: calls of your tools. A call's `_outputPath`, e.g. " +
  "†state.user, names its result, and other calls read it: †state.user.id. †input.x is given when it runs, " +
  "†name is a variable, †approvals.x waits for a person.";

const inputSchema = z.object({
  name: z.string().optional(),
  calls: jsonPlan.shape.calls,
});

/** The person approves and runs what was proposed, over HTTP. */
export function proposePlanTool(agent: Agent, desk: PlanDesk) {
  return runtimeTool({
    name: PROPOSE_PLAN,
    description: DESCRIPTION,
    inputSchema,
    async execute(input, { labels }) {
      const text = JSON.stringify(input);
      const record = await desk.propose(agent, {
        format: "json",
        text,
        tainted: !labels.isTrusted,
      });
      return {
        output: () => {
          desk.keep(record);
          const { id, status, plan } = record;
          return { plan: id, status, calls: plan.calls.map((call) => call.id) };
        },
      };
    },
  });
}
