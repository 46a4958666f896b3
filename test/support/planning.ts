import type { ToolSet } from "ai";
import { expect } from "vitest";
import * as z from "zod";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import {
  callPart,
  planView,
  runPart,
  runView,
  type PlanView,
  type RunView,
} from "../../packages/plans/src/http/plan-view.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { capabilityWorkflows } from "../../packages/plan-formats/src/capability/capability-workflows.ts";
import { templates } from "../../packages/plan-formats/src/template/templates.ts";
import type { Agent } from "../../src/turn/agent.ts";
import type { Json } from "../../src/value/json.ts";
import { json } from "./edge.ts";
import type { NodeRuntime } from "./node-runtime.ts";
import type { OwnRuntime } from "./own-runtime.ts";
import { programView } from "../../packages/plans/src/http/program-schemas.ts";
import { specified } from "./plan-runs.ts";
import { scriptedModel, type Step } from "../../packages/testing/src/testing.ts";
import { chunksIn } from "./turn-client.ts";
import { toolOf } from "./tool-of.ts";

/** Returns the tools that the plans of the tests call. `seen` collects their inputs. */
export function planTools(seen: Json[] = []): ToolSet {
  const { add, fail } = specified as { add: ToolSet[string]; fail: ToolSet[string] };
  return {
    echo: toolOf({ value: z.any() }, ({ value }) => {
      seen.push(value as Json);
      return value as Json;
    }),
    add,
    fail,
  };
}

/**
 * Returns options of a runtime whose only agent has these tools, and whose model answers with these steps.
 */
export function planning(
  tools: ToolSet = planTools(),
  { agent = {}, steps = [] }: { agent?: Partial<Agent>; steps?: readonly Step[] } = {},
): RuntimeOptions {
  return {
    agents: [{ name: "planner", description: "Plans.", instructions: "", tools, ...agent }],
    model: scriptedModel(steps),
    plans: planSupport(capabilityWorkflows, templates),
  };
}

const ROOT = "/conversations/c/plans";

type Calls = readonly Readonly<Record<string, unknown>>[];

/** Proposes a plan and expects it to be accepted. */
export async function propose(own: OwnRuntime, calls: Calls, more: object = {}): Promise<PlanView> {
  const response = await own.call("POST", ROOT, json({ calls, ...more }));
  expect(response.status).toBe(201);
  return planView().parse(await response.json());
}

/** Proposes and approves a plan. */
export async function approved(own: OwnRuntime, calls: Calls, more: object = {}): Promise<string> {
  const { id } = await propose(own, calls, more);
  await own.call("POST", `${ROOT}/${id}/approve`);
  return id;
}

export async function planOf(own: OwnRuntime, id: string): Promise<PlanView> {
  const response = await own.call("GET", `${ROOT}/${id}`);
  expect(response.status).toBe(200);
  return planView().parse(await response.json());
}

/** Runs a plan until it ends or waits. */
export async function runOf(own: OwnRuntime, id: string, body: object = {}): Promise<RunView> {
  const init = json(body, { accept: "application/json" });
  const response = await own.call("POST", `${ROOT}/${id}/run`, init);
  expect(response.status).toBe(200);
  return runView().parse(await response.json());
}

/** Returns the data parts of a run's stream. */
export async function streamed(response: Response): Promise<readonly RunPart[]> {
  expect(response.status).toBe(200);
  return chunksIn(await response.text()).flatMap((chunk) =>
    chunk.type === "data-call" || chunk.type === "data-run"
      ? [{ type: chunk.type, ...partOf(chunk) }]
      : [],
  );
}

/** Returns the data of a chunk. Throws unless it matches its schema. */
function partOf({ type, data }: { readonly type: string; readonly data: unknown }): object {
  return type === "data-call" ? callPart().parse(data) : runPart().parse(data);
}

type PartData = z.infer<ReturnType<typeof callPart>> & z.infer<ReturnType<typeof runPart>>;
type RunPart = { readonly type: string } & Partial<PartData>;

/** Returns the status of each call, by id. */
export function statusesOf({ calls }: Pick<RunView, "calls">): Readonly<Record<string, string>> {
  return Object.fromEntries(calls.map(({ _id, status }) => [_id, status]));
}

export async function variable(own: OwnRuntime, name: string): Promise<unknown> {
  const response = await own.call("GET", `/conversations/c/variables/${name}`);
  if (response.status !== 200) return response.status;
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  return isJson ? response.json() : response.text();
}

/** Keeps a program. */
export async function kept({ ask }: Pick<NodeRuntime, "ask">, name: string, program: object) {
  const response = await ask("PUT", `/programs/${name}`, json(program));
  expect(response.status, await response.clone().text()).toBe(200);
  return programView().parse(await response.json());
}

/** Returns tools and a policy that requires approval for `pay`, and the amounts paid. */
export function payingPlanner() {
  const paid: number[] = [];
  const pay = toolOf({ amount: z.number() }, ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  });
  const policy = ({ tool }: { tool: string }) =>
    tool === "pay" ? ({ ask: "Money goes." } as const) : ("allow" as const);
  return { paid, tools: { ...planTools(), pay }, policy };
}

/** Sends a person's decision about a gate. */
export function decide(own: OwnRuntime, gate: string, body: object): Promise<Response> {
  return own.call("POST", `/conversations/c/approvals/${gate}`, json(body));
}
