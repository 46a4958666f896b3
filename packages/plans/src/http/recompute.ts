import type * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import {
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
import type { recomputation } from "./plan-schemas.ts";

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
  const walk = new Walk(store, { syntaxes, hasTool });
  for (const name of names ?? walk.names) walk.isMadeAgain(name);
  const { calls, left, tainted } = walk;
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
  /** The syntaxes in which the calls were written. */
  readonly syntaxes: Syntaxes;
  readonly hasTool: (name: string) => boolean;
}

class Walk {
  readonly calls: PlanCall[] = [];
  readonly left: { name: string; reason: string }[] = [];
  /** True if one of the values is untrusted: a model may have written its call after it had seen untrusted content. */
  tainted = false;
  readonly #store: VariableStore;
  readonly #rules: Rules;
  readonly #infos: ReadonlyMap<string, VariableInfo>;
  readonly #known = new Map<string, boolean>();
  /** Names on the way to the current one, each made of the next. */
  readonly #way = new Set<string>();
  /** Names that are made of themselves. */
  readonly #circular = new Set<string>();

  constructor(store: VariableStore, rules: Rules) {
    this.#store = store;
    this.#rules = rules;
    const infos = store.list().filter(({ scope }) => scope === "conversation");
    this.#infos = new Map(infos.map((info) => [info.name, info]));
  }

  get names(): Iterable<string> {
    return this.#infos.keys();
  }

  /** True if one of the calls makes it. The calls for what it is made of come first. */
  isMadeAgain(name: string): boolean {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    if (this.#way.has(name)) {
      const way = [...this.#way];
      for (const one of way.slice(way.indexOf(name))) this.#circular.add(one);
      return false;
    }
    const info = this.#infos.get(name);
    this.#way.add(name);
    const sources = Object.keys(info?.madeOf ?? {}).filter((source) => source !== name);
    const again = sources.filter((source) => this.isMadeAgain(source));
    this.#way.delete(name);
    const isMade = info?.stale !== undefined && this.#add(info, again);
    this.#known.set(name, isMade);
    return isMade;
  }

  #add({ name, trusted }: VariableInfo, again: readonly string[]): boolean {
    const info = this.#store.info(name);
    const reason = info === undefined ? "it is gone" : this.#whyLeft(info, again);
    if (reason !== undefined) {
      this.left.push({ name, reason });
      return false;
    }
    const { tool = "", input = null } = info ?? {};
    const parameters = parametersOf(tool, json.isJsonObject(input) ? input : {});
    this.calls.push({ id: name, tool, parameters, outputPath: `$${name}`, reads: again });
    this.tainted ||= !trusted;
    return true;
  }

  /** Why its call cannot make the value again, or need not. */
  #whyLeft(info: VariableInfo, again: readonly string[]): string | undefined {
    const { name, tool, input, madeOf = {}, stale, visibility } = info;
    const { syntaxes, hasTool } = this.#rules;
    if (this.#circular.has(name)) return "it is made of itself, through another value";
    if (visibility === "secret" || RESERVED_NAMES.includes(name)) return "no call may write it";
    if (tool === undefined || Object.hasOwn(madeOf, name))
      return "it was edited or added to after its call, or is one of several values of it";
    if (NOT_PLANNED.test(tool)) return `${tool} has no place in a plan`;
    if (!hasTool(tool)) return `there is no tool ${tool}`;
    if (input === undefined || !json.isJsonObject(input))
      return "the input of its call was not kept";
    const gone = Object.keys(madeOf).find((source) => !this.#infos.has(source));
    if (gone !== undefined) return `it is made of $${gone}, which is gone`;
    const read = needsIn(input, syntaxes).flatMap(({ references }) => references);
    if (read.some((one) => one.name === "input" || one.name === "approvals"))
      return "its call reads what came with one message";
    const isNewer = Object.entries(madeOf).some(
      ([source, version]) =>
        this.#infos.get(source)?.version !== version ||
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
