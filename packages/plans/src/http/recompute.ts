import type * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import {
  inTexts,
  json,
  needsIn,
  type Syntaxes,
  targets,
  type VariableStore,
} from "../../../../src/internal.ts";
import { type Plan, type PlanCall, turnAgents } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";
import type { VariableInfo } from "../../../../src/runtime.ts";
import { type PlanRecord, RESERVED_NAMES } from "../plan/plan-record.ts";
import { NOT_PLANNED } from "../program/slice-calls.ts";
import { type Planner, recordOf, requireLength, toolsOf } from "../run/open-plan.ts";
import type { recomputation } from "./plan-view.ts";

/** The calls that make stale values again, with a plan of them if there are any, and the values that stay. */
interface Recomputation {
  readonly record?: PlanRecord;
  readonly view: z.infer<ReturnType<typeof recomputation>>;
}

/**
 * Plans the least calls after which these variables, by default all that are stale, and what they are made of are
 * current: each is the call that made the variable, as it was written, and reads what is there now. Runs and stores
 * nothing. Throws `variable_not_found`.
 */
export async function planRecomputation(
  planner: Planner,
  names: readonly string[] | undefined,
): Promise<Recomputation> {
  const { agent, store } = planner;
  const { syntaxes = ["dollar"] } = turnAgents.wrapOptionsFor(agent);
  const plan: Plan = {
    name: "recompute",
    format: "json",
    calls: [],
    syntaxes: syntaxes.filter((one) => typeof one === "string"),
    runNames: [],
    outputs: [],
    order: "data",
    remakes: true,
  };
  if (plan.syntaxes.length < syntaxes.length) {
    const message = "Calls with references of an agent's own syntax cannot be made again.";
    throw new ByrefError("bad_configuration", message);
  }
  const { plain, effectsOf } = await toolsOf(plan, planner);
  const hasTool = (name: string) => Object.hasOwn(plain, name);
  for (const name of names ?? []) targets.existing(store, name);
  const { calls, left, tainted } = callsFor(names, { store, syntaxes, hasTool });
  if (calls.length === 0) return { view: { calls: [], left } };
  requireLength(JSON.stringify(calls), "Name fewer variables.");
  const record = await recordOf({ ...plan, calls }, planner, { tainted });
  const views = calls.map((call) => ({
    _id: call.id,
    _tool: call.tool,
    after: [...(record.after[call.id] ?? [])],
    effects: effectsOf(call),
    ...json.compact({ approval: approvalOf(call, agent) }),
  }));
  return { record, view: { calls: views, left } };
}

/** Whether a person will be asked. */
function approvalOf(
  { tool }: PlanCall,
  { policies = {}, policy, tools }: turnAgents.Agent,
): "always" | "perhaps" | undefined {
  const { approval = false } = policies[tool] ?? {};
  const { needsApproval = false } = Object.hasOwn(tools, tool) ? (tools[tool] ?? {}) : {};
  if (approval === true || needsApproval === true) return "always";
  const mayBe = approval !== false || needsApproval !== false || policy !== undefined;
  return mayBe ? "perhaps" : undefined;
}

interface Rules {
  readonly store: VariableStore;
  /** The syntaxes in which the calls were written. */
  readonly syntaxes: Syntaxes;
  readonly hasTool: (name: string) => boolean;
}

/** The calls that make these values again, by default all, and the values that stay. */
function callsFor(names: readonly string[] | undefined, { store, syntaxes, hasTool }: Rules) {
  const all = store.list().filter(({ scope }) => scope === "conversation");
  const infos: ReadonlyMap<string, VariableInfo> = new Map(all.map((info) => [info.name, info]));
  const calls: PlanCall[] = [];
  const left: { name: string; reason: string }[] = [];
  // A model may have written the call of an untrusted value after it had seen untrusted content.
  let tainted = false;
  const known = new Map<string, boolean>();
  /** Names on the way to the current one, each made of the next. */
  const way = new Set<string>();
  /** Names that are made of themselves. */
  const circular = new Set<string>();
  /** The syntaxes in which only calls of plans are written. */
  const unread = inTexts.filter((one) => !syntaxes.includes(one));
  for (const name of names ?? infos.keys()) isMadeAgain(name);
  return { calls, left, tainted };

  /** True if one of the calls makes it. The calls for what it is made of come first. */
  function isMadeAgain(name: string): boolean {
    const before = known.get(name);
    if (before !== undefined) return before;
    if (way.has(name)) {
      const names = [...way];
      for (const one of names.slice(names.indexOf(name))) circular.add(one);
      return false;
    }
    way.add(name);
    const sources = Object.keys(infos.get(name)?.madeOf ?? {}).filter((source) => source !== name);
    const again = sources.filter((source) => isMadeAgain(source));
    way.delete(name);
    const isMade = infos.get(name)?.stale !== undefined && add(name, again);
    known.set(name, isMade);
    return isMade;
  }

  function add(name: string, again: readonly string[]): boolean {
    const info = store.info(name);
    const reason = info === undefined ? "it is gone" : whyLeft(info, again);
    if (info === undefined || reason !== undefined) {
      left.push({ name, reason: reason ?? "" });
      return false;
    }
    const { tool = "", input = null, trusted } = info;
    const parameters = parametersOf(tool, json.isJsonObject(input) ? input : {});
    calls.push({ id: name, tool, parameters, outputPath: `$${name}`, reads: again });
    tainted ||= !trusted;
    return true;
  }

  /** Why its call cannot make the value again, or need not. */
  function whyLeft(info: VariableInfo, again: readonly string[]): string | undefined {
    const { name, tool, input, madeOf = {}, stale, visibility } = info;
    if (circular.has(name)) return "it is made of itself, through another value";
    if (visibility === "secret" || RESERVED_NAMES.includes(name)) return "no call may write it";
    if (tool === undefined || Object.hasOwn(madeOf, name))
      return "it was edited or added to after its call, or is one of several values of it";
    if (NOT_PLANNED.test(tool)) return `${tool} has no place in a plan`;
    if (!hasTool(tool)) return `there is no tool ${tool}`;
    if (input === undefined || !json.isJsonObject(input))
      return "the input of its call was not kept";
    const gone = Object.keys(madeOf).find((source) => !infos.has(source));
    if (gone !== undefined) return `it is made of $${gone}, which is gone`;
    const read = needsIn(input, syntaxes).flatMap(({ references }) => references);
    if (read.some((one) => one.name === "input" || one.name === "approvals"))
      return "its call reads what came with one message";
    const others = needsIn(input, unread).flatMap(({ references }) => references);
    if (others.some((one) => Object.hasOwn(madeOf, one.name)))
      return "a call of a plan made it, whose references are written otherwise: run the plan again";
    const isNewer = Object.entries(madeOf).some(
      ([source, version]) =>
        infos.get(source)?.version !== version ||
        stale?.madeOf.some((newer) => newer.name === source),
    );
    if (isNewer || again.length > 0) return undefined;
    return "what it is made of cannot be made again";
  }
}

/** The input of a call, without where it saves its result. */
function parametersOf(tool: string, input: Readonly<Record<string, Json>>): PlanCall["parameters"] {
  const { saveAs: _saveAs, outputs: _outputs, ...others } = input;
  if (tool === "set_variable") return { value: input["value"] ?? null };
  return OWN.has(tool) ? others : input;
}

const OWN = new Set(["edit_variable", "query_variables", "run_code"]);
