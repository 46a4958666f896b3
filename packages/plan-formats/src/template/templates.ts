import * as limits from "../../../../src/limits.ts";
import type {
  PlanFormat,
  RunResources,
  Finding,
  ReadPlan,
} from "../../../plans/src/plan/plan-format.ts";
import { StepPrompt } from "./step-prompt.ts";
import { stepOutputs } from "./step-outputs.ts";
import {
  type Input,
  type TemplateStep,
  templateStepSchema,
  shorten,
  readTemplate,
} from "./template.ts";
import {
  type Plan,
  type PlanCall,
  type PlanOutput,
  toolCalls,
  runtimeTools,
} from "../../../../src/internal-tool.ts";
import { joinedLabels, json, nearest, variableNames } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

/** The tool that a template's steps call. See `promptTool`. */
export const PROMPT_TOOL = "prompt";

/** Converts a template to a plan. Its steps run one after another. */
export function planFromTemplate(text: string): ReadPlan {
  const { template, findings } = readTemplate(text);
  if (template === undefined) return { findings };
  const { name, steps } = template;
  // Steps of the same run use the results that tools write.
  const made = steps.flatMap(({ tools }) => tools.flatMap(({ target }) => target?.name ?? []));
  const { outputs, findings: conflicts } = outputsOf(steps);
  if (conflicts.length > 0) return { findings: conflicts };
  const plan: Plan = {
    ...json.compact({ name }),
    format: "template",
    calls: callsFor(steps),
    // References in a prompt are for the model that reads it.
    syntaxes: [],
    runNames: [...new Set([...outputs.map((output) => output.name), ...made])],
    outputs,
    order: "written",
  };
  return { plan, findings: [] };
}

/** Finds the tools that a template names and nobody has, and, without a bucket, its files. */
const templateFindings: PlanFormat["findings"] & object = (plan, { toolNames, hasFiles }) => {
  const known = new Set(toolNames);
  const noBucket = "file: needs a bucket, and none is bound: bind BLOBS, or use variable:.";
  return stepsIn(plan).flatMap(({ call, step: { inputs, outputs, tools } }): Finding[] => {
    const fileFindings = (at: string, all: readonly Pick<Input, "target" | "line">[]) =>
      all
        .filter(({ target }) => target.scheme === "file" && !hasFiles)
        .map(({ line }) => ({ code: "no_bucket" as const, call, at, line, message: noBucket }));
    const toolFindings = tools
      .filter(({ name }) => !known.has(name))
      .map(({ name, line }) => {
        const near = nearest(name, known);
        const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
        const message = `There is no tool ${shorten(name)}.${hint}`;
        return { code: "unknown_tool" as const, call, at: "@tools", line, message };
      });
    return [
      ...toolFindings,
      ...fileFindings("@input", inputs),
      ...fileFindings("@output", outputs),
    ];
  });
};

/** The conversation's variables that a template reads, if they exist. */
function variablesRead(plan: Plan): readonly string[] {
  const targets = stepsIn(plan).flatMap(({ step }) => step.inputs.map(({ target }) => target));
  return [...new Set(targets.flatMap((one) => (one.scheme === "variable" ? [one.name] : [])))];
}

function stepsIn({ calls }: Plan): readonly { call: string; step: TemplateStep }[] {
  return calls
    .filter(({ tool }) => tool === PROMPT_TOOL)
    .map(({ id, parameters }) => ({ call: id, step: templateStepSchema.parse(parameters) }));
}

function callsFor(steps: readonly TemplateStep[]): readonly PlanCall[] {
  const ids = new Set<string>();
  return steps.map((step, index) => {
    const id = idFor(step.title ?? "", index + 1, ids);
    ids.add(id);
    // Removes undefined fields, as JSON does.
    const parameters = json.parsedJson(JSON.stringify(withPlace(step, id))) as Record<string, Json>;
    return { id, tool: PROMPT_TOOL, parameters };
  });
}

/** Gives an answer without an output a place in the run's result. */
function withPlace(step: TemplateStep, id: string): TemplateStep {
  if (step.outputs.length > 0) return step;
  const target = { scheme: "variable", name: "state", path: [{ key: id }] } as const;
  return { ...step, outputs: [{ target, line: step.line }] };
}

const MAX_ID_CHARS = 40;

function idFor(title: string, number: number, taken: ReadonlySet<string>): string {
  const slug = variableNames
    .toIdentifier(title.slice(0, 4 * MAX_ID_CHARS).toLowerCase())
    .slice(0, MAX_ID_CHARS);
  // Ids are object keys, some of which have a meaning.
  const isPlain = /^[a-z]/.test(slug) && !(slug in Object.prototype);
  const base = isPlain ? slug : `step_${number}`;
  let id = base;
  for (let count = 2; taken.has(id); count++) id = `${base}_${count}`;
  return id;
}

interface Written extends PlanOutput {
  readonly step: TemplateStep;
  readonly line: number;
}

/** The variables that steps write. Each is passed on in one way when the run is done. */
function outputsOf(steps: readonly TemplateStep[]) {
  const written = new Map<string, Written>();
  const findings: Finding[] = [];
  const targets = steps.flatMap((step) => step.outputs.map((output) => ({ ...output, step })));
  for (const { target, line, step } of targets) {
    if (target.scheme === "file") continue;
    const { name } = target;
    const mode = step.writeMode;
    const before = written.get(name);
    if (before === undefined) written.set(name, { name, mode, step, line });
    const isNewTwice = before !== undefined && mode === "new" && before.step !== step;
    if (before === undefined || (before.mode === mode && !isNewTwice)) continue;
    const advice = isNewTwice
      ? "with @write-mode new each step needs a name of its own."
      : "one way of writing it (append, replace, new) has to be enough.";
    const message = `variable:${name} is an @output in line ${before.line} too: ${advice}`;
    findings.push({ code: "bad_directive", at: "@output", line, message });
  }
  const outputs = Array.from(written.values(), ({ name, mode }): PlanOutput => ({ name, mode }));
  return { outputs, findings };
}

/** The plan format of templates: prompts in Markdown with directives for inputs and outputs. */
export const templates: PlanFormat = {
  format: "template",
  mediaTypes: ["text/markdown"],
  read: planFromTemplate,
  own: { isAlone: true, tools: (resources) => [promptTool(resources)] },
  findings: templateFindings,
  effectsOf: ({ parameters }, effectsOf) =>
    templateStepSchema.parse(parameters).tools.some(({ name }) => effectsOf(name) === "once")
      ? "once"
      : "none",
  reads: variablesRead,
};

/**
 * Creates the tool that runs a template's steps. Asks a model with the step's inputs, and writes the answer
 * to the step's outputs. Fails with `skipped` if a required input is missing.
 */
export function promptTool({ ask, ...resources }: RunResources): runtimeTools.RuntimeTool {
  return runtimeTools.runtimeTool({
    name: PROMPT_TOOL,
    description: "Asks a model, and writes its answer where the step says.",
    inputSchema: templateStepSchema,
    timeMs: limits.turnMs,
    async execute(step, context) {
      const { call } = context;
      const inputs = new StepPrompt(resources, context);
      const outputs = stepOutputs({ step, resources, call, tool: PROMPT_TOOL });
      outputs.requireWritable();
      const prompt = await inputs.render(step);
      const { tools } = outputs;
      const callOptions = { ...call, madeOf: inputs.questionLabels() };
      const { value, labels } = await ask({
        prompt,
        tools,
        texts: inputs.texts,
        variables: [...inputs.given],
        call: callOptions,
      });
      const answer = { value, labels: joinedLabels([labels, inputs.labelsOf(PROMPT_TOOL)]) };
      let writing: ReturnType<typeof outputs.write> | undefined;
      return {
        output: null,
        save: async () => {
          const { written, shown, kept } = await (writing ??= outputs.write(answer));
          const output = { answer: shown, written };
          return toolCalls.change(() => ({
            output,
            places: written,
            shown: output,
            ...json.compact({ kept }),
          }));
        },
      };
    },
  });
}
