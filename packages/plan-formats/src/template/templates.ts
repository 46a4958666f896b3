import type { PlanFormat, RunResources } from "../../../plans/src/plan/plan-format.ts";
import {
  filesWithoutBucket,
  planFromTemplate,
  PROMPT_TOOL,
  templateFindings,
  variablesRead,
} from "./template-plan.ts";
import * as limits from "../../../../src/limits.ts";
import { ByrefError } from "../../../../src/errors.ts";
import { renderStep } from "./render-step.ts";
import { StepInputs } from "./step-inputs.ts";
import { StepOutputs } from "./step-outputs.ts";
import { type TemplateStep, templateStepSchema } from "./template-step.ts";
import {
  change,
  type ModelAnswer,
  type RuntimeTool,
  runtimeTool,
} from "../../../../src/internal-tool.ts";
import { joinedLabels, json, previewOf } from "../../../../src/internal.ts";
import type { Effects } from "../../../../src/runtime.ts";
import type { Json } from "../../../../src/references.ts";

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

/**
 * Creates the tool that runs a template's steps. Asks a model with the step's inputs, and writes the answer
 * to the step's outputs. Fails with `skipped` if a required input is missing.
 */
export function promptTool({ ask, ...resources }: RunResources): RuntimeTool {
  return runtimeTool({
    name: PROMPT_TOOL,
    description: "Asks a model, and writes its answer where the step says.",
    inputSchema: templateStepSchema,
    timeMs: limits.turnMs,
    async execute(step, context) {
      const { call, hidesUntrusted } = context;
      const inputs = new StepInputs(resources, context);
      const outputs = new StepOutputs({ step, resources, call, tool: PROMPT_TOOL });
      outputs.requireWritable();
      const rendered = await renderStep(step, inputs);
      if (rendered.kind === "skipped") throw new ByrefError("skipped", rendered.reason);
      await outputs.begin();
      const { tools } = outputs;
      const callOptions = { ...call, madeOf: inputs.questionLabels };
      const { value, labels } = await ask({
        prompt: rendered.prompt,
        tools,
        texts: inputs.texts,
        variables: inputs.variables,
        call: callOptions,
      });
      const answer = { value, labels: joinedLabels([labels, inputs.labelsOf(PROMPT_TOOL)]) };
      let writing: ReturnType<StepOutputs["write"]> | undefined;
      return {
        output: null,
        save: async () => {
          const { written, shown, kept } = await (writing ??= outputs.write(answer));
          const output = { ...shownOf(answer, hidesUntrusted), written };
          const saved = { output, places: written, shown: { answer: shown, written } };
          return change(() => ({ ...saved, ...json.compact({ kept }) }));
        },
      };
    },
  });
}

/** The effects of asking a step's question again: those of its tools. */
function effectsOfStep(step: TemplateStep, effectsOf: (tool: string) => Effects): Effects {
  return step.tools.some(({ name }) => effectsOf(name) === "once") ? "once" : "none";
}

/** The part of the answer that the tool result shows, subject to its visibility. */
function shownOf(
  { value, labels: { visibility, trusted } }: ModelAnswer,
  hidesUntrusted: boolean,
): Readonly<Record<string, Json>> {
  if (visibility !== "model") return { visibility };
  if (!trusted && hidesUntrusted) return { visibility: "hidden" };
  const isShort = JSON.stringify(value).length <= limits.maxShownResultChars;
  const shown = isShort
    ? { answer: value }
    : { count: json.countOf(value), preview: previewOf(value) };
  return trusted ? shown : { ...shown, untrusted: true };
}
