import type { PlanFormat } from "../plan-format.ts";
import { effectsOfStep, promptTool } from "./prompt-tool.ts";
import {
  filesWithoutBucket,
  planFromTemplate,
  PROMPT_TOOL,
  templateFindings,
  variablesRead,
  templateStepSchema,
} from "./template-plan.ts";

/** The plan format of templates: prompts in Markdown with directives for inputs and outputs. */
export const templates: PlanFormat = {
  format: "template",
  mediaTypes: ["text/markdown"],
  read: planFromTemplate,
  own: {
    plain: { [PROMPT_TOOL]: { inputSchema: templateStepSchema } },
    isAlone: true,
    tools: (places) => [promptTool(places)],
  },
  findings: (plan, { toolNames, hasFiles }) => [
    ...templateFindings(plan, toolNames),
    ...(hasFiles ? [] : filesWithoutBucket(plan)),
  ],
  effectsOf: ({ parameters }, effectsOf) =>
    effectsOfStep(templateStepSchema.parse(parameters), effectsOf),
  reads: variablesRead,
};
