import type * as z from "zod";
import { ByrefError } from "../../../../src/errors.ts";
import { json } from "../../../../src/internal.ts";
import { type Plan, turnAgents } from "../../../../src/internal-tool.ts";
import type { PlanRecord } from "../plan/plan-record.ts";
import { type Recomputation, recomputationOf } from "../program/recompute.ts";
import { type Planner, type PlanTools, toolsOf } from "../run/open-plan.ts";
import { recordOf, requireLength } from "../run/propose-plan.ts";
import type { recomputation } from "./plan-schemas.ts";

/** A plan of them; undefined if there is nothing to make again. */
interface PlannedRecomputation extends Pick<Recomputation, "left"> {
  readonly record?: PlanRecord;
  readonly effectsOf: PlanTools["effectsOf"];
}

/** Plans what makes these variables current, by default all that are stale. Runs and stores nothing. */
export async function planRecomputation(
  planner: Planner,
  names: readonly string[] | undefined,
): Promise<PlannedRecomputation> {
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
  const tools = await toolsOf(plan, planner);
  const hasTool = (name: string) => Object.hasOwn(tools.plain, name);
  const { calls, left, tainted } = recomputationOf({ store, syntaxes, hasTool, names });
  const { effectsOf } = tools;
  if (calls.length === 0) return { left, effectsOf };
  requireLength(JSON.stringify(calls), "Name fewer variables.");
  return { left, effectsOf, record: await recordOf({ ...plan, calls }, planner, { tainted }) };
}

export function recomputationView({
  record,
  left,
  effectsOf,
  agent,
}: Planned): z.infer<ReturnType<typeof recomputation>> {
  const after: PlanRecord["after"] = record?.after ?? {};
  const { policies = {}, policy, tools } = agent;
  const calls = (record?.plan.calls ?? []).map((call) => {
    const { id, tool } = call;
    const { approval = false } = policies[tool] ?? {};
    const { needsApproval = false } = Object.hasOwn(tools, tool) ? (tools[tool] ?? {}) : {};
    const isSure = approval === true || needsApproval === true;
    const mayBe = approval !== false || needsApproval !== false || policy !== undefined;
    const asks = isSure ? ("always" as const) : mayBe ? ("perhaps" as const) : undefined;
    const effects = effectsOf(call);
    return {
      _id: id,
      _tool: tool,
      after: [...(after[id] ?? [])],
      effects,
      ...json.compact({ approval: asks }),
    };
  });
  return { calls, left: left.map((one) => ({ ...one })) };
}

type Planned = PlannedRecomputation & { readonly agent: turnAgents.Agent };
