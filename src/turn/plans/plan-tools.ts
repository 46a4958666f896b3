import type { ToolSet } from "ai";
import { ByrefError } from "../../errors.ts";
import { dayAt } from "../../plan/template/placeholders.ts";
import type { FrontEnd } from "../../plan/front-end.ts";
import type { Finding, Plan, PlanCall, PlanFormat } from "../../plan/plan.ts";
import type { RuntimeTool } from "../../tool/runtime-tool.ts";
import { Taint } from "../../store/labels.ts";
import { wrapRuntimeTools } from "../../tool/wrap-runtime-tool.ts";
import type { Effects, WrapOptions, WrappedTool } from "../../tool/wrapped-tool.ts";
import type { Account } from "../spend/account.ts";
import { askerFor, askModelOf } from "../sub-turn.ts";
import { type Facilities, Toolbox, type ToolboxOptions } from "../toolbox.ts";
import type { TurnOptions } from "../turn-options.ts";
import { wrapOptionsFor } from "../wrap-options.ts";

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

/** The front end of a format. Throws `bad_configuration` where it is not built in. */
export function frontEndOf(
  { frontEnds = [] }: Pick<Facilities, "frontEnds">,
  format: PlanFormat,
): FrontEnd {
  const found = frontEnds.find((one) => one.format === format);
  if (found !== undefined) return found;
  const message = `Plans of the format ${format} are not built into this Worker.`;
  throw new ByrefError("bad_configuration", message);
}

/** A plan that is only looked at: nothing of it runs. */
export async function toolsToCheck(plan: Plan, planner: Planner): Promise<PlanTools> {
  return toolsOf(plan, planner, { wrap: wrapFor(plan, planner, new Taint()), own: [] });
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
  const places = {
    ask: askModelOf(asking, colleague),
    store,
    today: dayAt(Date.parse(createdAt)),
    ...(facilities.files === undefined ? {} : { files: facilities.files }),
  };
  return toolsOf(plan, options, {
    wrap: { ...wrapFor(plan, options, new Taint(tainted, { isFixed: true })), owner: run },
    own: frontEndOf(facilities, plan.format).own?.tools(places) ?? [],
    toolbox: { ask: askerFor(asking), onCall: () => account.spend.add("toolCalls", 1) },
  });
}

interface Parts {
  readonly wrap: WrapOptions;
  /** What the format brings. */
  readonly own: readonly RuntimeTool[];
  readonly toolbox?: ToolboxOptions;
}

async function toolsOf(
  plan: Plan,
  { agent, facilities = {} }: Planner,
  { wrap, own, toolbox: how }: Parts,
): Promise<PlanTools> {
  // A plan that proposes plans is nothing that a person could approve.
  const { planTool: _, ...others } = facilities;
  const frontEnd = frontEndOf(facilities, plan.format);
  const { plain = {}, isAlone = false } = frontEnd.own ?? {};
  const toolbox = await Toolbox.open(agent, wrap, { ...others, ...how });
  const wrapped = await wrapRuntimeTools(own, wrap);
  const toolNames = Object.keys(toolbox.plain);
  const hasFiles = facilities.files !== undefined;
  const effectsOf = (name: string) => toolbox.effectsOf(name);
  return {
    plain: isAlone ? plain : { ...plain, ...toolbox.plain },
    findings: frontEnd.findings?.(plan, { toolNames, hasFiles }) ?? [],
    // An agent's tool goes before what a format brings beside it.
    get: (name) => (isAlone ? undefined : toolbox.get(name)) ?? wrapped.get(name),
    effectsOf(call) {
      const { tool } = call;
      if (!isAlone && toolbox.get(tool) !== undefined) return effectsOf(tool);
      const said = own.find(({ name }) => name === tool)?.effects ?? "none";
      return frontEnd.effectsOf?.(call, effectsOf) ?? said;
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
