import type { ToolSet } from "ai";
import * as z from "zod";
import { ByrefError, requireAtMost } from "../../../../src/errors.ts";
import { checkPlan, type CheckedPlan } from "../plan/check-plan.ts";
import { type Finding, Findings, dayAt, type PlanFormat, jsonCall } from "../plan/plan-format.ts";
import { inputFindings } from "../plan/plan-input.ts";
import { type PlanRecord, type RunRecord, RESERVED_NAMES, STATE } from "../plan/plan-record.ts";
import type { Lookup } from "../../../../src/references.ts";
import {
  type Attempt,
  lookupInStore,
  type Plan,
  type PlanCall,
  type PlanFormatName,
  runtimeTools,
  scopes,
  type wraps,
  toolCalls,
  toolboxes,
  turnAgents,
} from "../../../../src/internal-tool.ts";
import { encoding, Taint, type VariableStore } from "../../../../src/internal.ts";
import type { Effects } from "../../../../src/runtime.ts";

export interface OpenedPlan {
  readonly checked: CheckedPlan;
  readonly tools: Pick<PlanTools, "get">;
  readonly effectsOf: PlanTools["effectsOf"];
  /** Variables of the conversation that the plan reads. */
  readonly needs: readonly string[];
}

/** Prepares a plan for a run. Throws `invalid_plan`, with all findings. */
export async function openPlan(
  { attempt, planFormats }: { readonly attempt: Attempt } & Pick<Planner, "planFormats">,
  { plan, tainted = false }: PlanRecord,
  run: Pick<RunRecord, "id" | "createdAt"> & Partial<Pick<RunRecord, "needs">>,
): Promise<OpenedPlan> {
  const { store } = attempt.context;
  const { id, createdAt, needs: known = [] } = run;
  const planner = { ...attempt.context, planFormats };
  const tools = await toolsOf(plan, planner, { attempt, id, createdAt, tainted });
  const checked = await requireValid(plan, tools, { store, known });
  const read = planFormatOf(planFormats, plan.format).reads?.(plan) ?? [];
  const needs = needsOf(checked, read).filter((name) => new scopes.ScopedStore(store).glance(name));
  for (const name of needs) store.holds.hold(id, name);
  return { checked, tools, effectsOf: (call) => tools.effectsOf(call), needs };
}

interface Circumstances {
  readonly store: VariableStore;
  readonly more?: readonly Finding[];
  /** Variables that existed when the run began. If one is missing now, only the calls that read it fail. */
  readonly known?: readonly string[];
  /** True if a model receives the findings: they list no keys of untrusted values. */
  readonly isForModel?: boolean;
}

/** Checks a plan. Throws `invalid_plan`, with all findings. */
async function requireValid(
  plan: Plan,
  tools: PlanTools,
  { store, more = [], known = [], isForModel = false }: Circumstances,
): Promise<CheckedPlan> {
  // A run's own variables are visible to that run alone.
  const open = new scopes.ScopedStore(store);
  const isKnown = (name: string) => known.includes(name) || open.glance(name) !== undefined;
  const lookup = lookupInStore(open, { hidesUntrusted: isForModel });
  const state: Lookup = (reference, work) => {
    const { visibility = "model" } = open.glance(STATE) ?? {};
    // A finding would reveal the keys of a guarded value.
    const isSkipped = known.includes(STATE) || visibility !== "model";
    return isSkipped ? { found: true, value: null } : lookup(reference, work);
  };
  const context = { tools: tools.plain, isKnown, state };
  const { checked, findings } = await checkPlan(plan, context, new Findings(more));
  for (const one of tools.findings) findings.add(one);
  if (checked !== undefined && findings.isEmpty) return checked;
  throw invalidPlan(findings);
}

/** An error with the first findings as text and all of them as data. */
export function invalidPlan(all: Findings): ByrefError {
  const findings = all.list();
  const texts = findings
    .slice(0, MAX_SAID_FINDINGS)
    .map(({ call, at, message }) => [call ?? [], at ?? [], message].flat().join(": "))
    .map((text) => (text.endsWith(".") ? text : `${text}.`));
  return new ByrefError("invalid_plan", texts.join(" "), { findings });
}

const MAX_SAID_FINDINGS = 3;

/** The conversation's variables that a plan's calls refer to or read. */
function needsOf(
  { plan, calls, inherits }: CheckedPlan,
  read: readonly string[],
): readonly string[] {
  const own = new Set([...RESERVED_NAMES, ...plan.runNames]);
  const referred = calls
    .flatMap(({ needs }) => needs.flatMap(({ references }) => references))
    .filter((reference) => !own.has(reference.name) || inherits(reference))
    .map(({ name }) => name);
  return [...new Set([...referred, ...read.filter((name) => !own.has(name))])];
}

export interface Planner extends Pick<Attempt["context"], "agent" | "store" | "services"> {
  readonly planFormats: readonly PlanFormat[];
}

/** The tools that a plan may call: the agent's, the runtime's own, and those of the plan's format. */
export interface PlanTools {
  /** The unwrapped tools. Plans are checked against them. */
  readonly plain: ToolSet;
  /** Further findings that keep the plan from running. */
  readonly findings: readonly Finding[];
  get(name: string): wraps.WrappedTool | undefined;
  effectsOf(call: PlanCall): Effects;
}

/** Returns the plan format of a name. Throws `bad_configuration` if it is not built in. */
function planFormatOf(planFormats: readonly PlanFormat[], format: PlanFormatName): PlanFormat {
  const found = planFormats.find((one) => one.format === format);
  if (found !== undefined) return found;
  const message = `Plans of the format ${format} are not built into this Worker.`;
  throw new ByrefError("bad_configuration", message);
}

interface ToolsRun extends Pick<RunRecord, "id" | "createdAt"> {
  readonly attempt: Attempt;
  readonly tainted: boolean;
}

/** The tools of a plan in a run. Without a run they are for checking the plan, and cannot run. */
export async function toolsOf(
  plan: Plan,
  { agent, store, services = {}, planFormats }: Planner,
  run?: ToolsRun,
): Promise<PlanTools> {
  const planFormat = planFormatOf(planFormats, plan.format);
  const { syntaxes, order, remakes = false } = plan;
  const wrap: wraps.WrapOptions = {
    ...turnAgents.wrapOptionsFor({ ...agent, outputPath: false }),
    store,
    taint: new Taint(run?.tainted, { isFixed: run !== undefined }),
    syntaxes,
    // A call that is made again reads its references as its model wrote them.
    ...(remakes ? {} : { unknown: order === "data" ? "error" : "keep" }),
    ...(run && { owner: run.id }),
  };
  // Plans cannot propose plans, because a person could not approve those in advance, or run programs.
  const { planTools: _, ...others } = services;
  const toolbox = await toolboxes.openToolbox(agent, wrap, { ...others, ...run?.attempt.toolbox });
  const { files } = services;
  const resources = {
    async ask(question: Parameters<Attempt["ask"]>[0]) {
      if (run === undefined) throw new Error("A plan that is checked does not run.");
      return run.attempt.ask(question);
    },
    store,
    today: dayAt(run === undefined ? 0 : Date.parse(run.createdAt)),
    files,
  };
  const own = remakes ? [] : (planFormat.tools?.(resources) ?? []);
  const plain = Object.fromEntries(own.map(({ name, inputSchema }) => [name, { inputSchema }]));
  const wrapped = await toolCalls.wrapTools(run === undefined ? [] : own, wrap);
  const about = { toolNames: Object.keys(toolbox.plain), hasFiles: files !== undefined };
  const effectsOf = (name: string) => toolbox.effectsOf(name);
  return {
    plain: { ...toolbox.plain, ...plain },
    findings: planFormat.findings?.(plan, about) ?? [],
    get: (name) => wrapped.get(name) ?? toolbox.get(name),
    effectsOf(call) {
      const ownTool = own.find(({ name }) => name === call.tool);
      if (ownTool === undefined) return effectsOf(call.tool);
      return planFormat.effectsOf?.(call, effectsOf) ?? ownTool.effects ?? "none";
    },
  };
}

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
  "†name: variable, †input.x: given at the run, †approvals.x asks a person. _after: gates.";

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
