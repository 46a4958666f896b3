import type { ToolSet } from "ai";
import type { Finding, Plan, PlanCall } from "../plan/plan.ts";
import { dayAt } from "../plan/file-target.ts";
import { filesWithoutBucket, PROMPT_TOOL, templateFindings } from "../plan/template-plan.ts";
import { templateStep } from "../plan/template-schema.ts";
import { effectsOfStep, promptTool } from "../plan/template-step.ts";
import { variableCapability } from "../plan/variable-capability.ts";
import type { WrapOptions } from "../tool/prepared-call.ts";
import type { RuntimeTool } from "../tool/runtime-tool.ts";
import { Taint } from "../tool/taint.ts";
import { wrapRuntimeTools } from "../tool/wrap-runtime-tool.ts";
import type { Effects, WrappedTool } from "../tool/wrapped-tool.ts";
import type { Account } from "./account.ts";
import { wrapOptionsFor } from "./steps.ts";
import { askerFor, askModelOf } from "./sub-turn.ts";
import { plainSetOf, Toolbox } from "./toolbox.ts";
import type { TurnOptions } from "./turn-options.ts";

/** Whose tools a plan calls, and what they work with. */
export type Planner = Pick<TurnOptions, "agent" | "store" | "facilities">;

/** The tools that a plan may call: the agent's, the runtime's own, and what belongs to its format. */
export interface PlanTools {
  /** As they were given, to check a plan against. */
  readonly plain: ToolSet;
  /** What else would keep the plan from running. */
  readonly findings: readonly Finding[];
  get(name: string): WrappedTool | undefined;
  effectsOf(call: PlanCall): Effects;
}

/** A plan that is only looked at: nothing of it runs. */
export async function toolsToCheck(plan: Plan, planner: Planner): Promise<PlanTools> {
  return toolsOf(plan, planner, { wrap: wrapFor(plan, planner, new Taint()), extra: extras(plan) });
}

export interface RunToOpen {
  /** The run's id. */
  readonly run: string;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Whoever wrote the plan had been shown what is not trusted. */
  readonly tainted: boolean;
  /** Where it is counted what it costs. */
  readonly account: Account;
}

export async function toolsToRun(
  plan: Plan,
  options: TurnOptions,
  { run, createdAt, tainted, account }: RunToOpen,
): Promise<PlanTools> {
  const { agent, model, redact, store, facilities = {} } = options;
  const asking = { ...options, account };
  const colleague = { agent, model, ...(redact === undefined ? {} : { redact }) };
  const prompt = promptTool({
    ask: askModelOf(asking, colleague),
    store,
    today: dayAt(Date.parse(createdAt)),
    ...(facilities.files === undefined ? {} : { files: facilities.files }),
  });
  return toolsOf(plan, options, {
    wrap: { ...wrapFor(plan, options, new Taint(tainted)), owner: run },
    extra: plan.format === "template" ? [prompt] : extras(plan),
    ask: askerFor(asking),
  });
}

interface Parts {
  readonly wrap: WrapOptions;
  readonly extra: readonly RuntimeTool[];
  readonly ask?: ReturnType<typeof askerFor>;
}

async function toolsOf(
  plan: Plan,
  { agent, facilities = {} }: Planner,
  { wrap, extra, ask }: Parts,
): Promise<PlanTools> {
  // A plan that proposes plans is nothing that a person could approve.
  const { plans: _, ...others } = facilities;
  const asking = ask === undefined ? {} : { ask };
  const toolbox = await Toolbox.open(agent, wrap, { ...others, ...asking });
  const isTemplate = plan.format === "template";
  const wrapped = await wrapRuntimeTools(extra, wrap);
  const effects = new Map(extra.map(({ name, effects = "none" }) => [name, effects] as const));
  const noFiles = facilities.files === undefined ? filesWithoutBucket(plan) : [];
  return {
    plain: isTemplate
      ? { [PROMPT_TOOL]: { inputSchema: templateStep } }
      : { ...plainSetOf(extra), ...toolbox.plain },
    findings: isTemplate ? [...templateFindings(plan, Object.keys(toolbox.plain)), ...noFiles] : [],
    // An agent's tool goes before what a format brings, which only a template is made of.
    get: (name) => (isTemplate ? wrapped.get(name) : (toolbox.get(name) ?? wrapped.get(name))),
    effectsOf({ tool, parameters }) {
      const effectsOf = (name: string) => toolbox.effectsOf(name);
      if (isTemplate) return effectsOfStep(templateStep.parse(parameters), effectsOf);
      return toolbox.get(tool) === undefined ? (effects.get(tool) ?? "once") : effectsOf(tool);
    },
  };
}

function wrapFor({ syntaxes, order }: Plan, { agent, store }: Planner, taint: Taint): WrapOptions {
  return {
    ...wrapOptionsFor({ ...agent, outputPath: false }),
    store,
    taint,
    syntaxes,
    unknown: order === "data" ? "error" : "keep",
  };
}

function extras({ format }: Plan): readonly RuntimeTool[] {
  return format === "capability-xml" ? variableCapability : [];
}
