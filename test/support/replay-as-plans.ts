import { isDeepStrictEqual } from "node:util";
import { jsonSchema, tool, type ToolSet } from "ai";
import { checkPlan, type CheckedPlan } from "../../packages/plans/src/plan/check-plan.ts";
import { readJsonPlan } from "../../packages/plans/src/plan/plan-format.ts";
import { type RunRecord, nameInRun } from "../../packages/plans/src/plan/plan-record.ts";
import { MemoryStore } from "../../src/store/memory-store.ts";
import { migrate } from "../../src/store/rows/migrations.ts";
import { SqlStore } from "../../src/store/sql-store.ts";
import type { VariableStore } from "../../src/store/variables.ts";
import { wrapTools } from "../../src/tool/tool-call.ts";
import type { Json } from "../../src/value/json.ts";
import { Random } from "../chaos/random.ts";
import { NodeSql } from "./node-sql.ts";
import { planRun, runRecord } from "./plan-runs.ts";
import type { Step, Trace } from "./replay.ts";
import { type PlannedTrace, planned } from "./replay-plan.ts";

interface PlanReplayOptions {
  readonly seed: number;
  /** Number of orders to try besides the written one, if there are that many. */
  readonly shuffles: number;
}

export type PlanReplay =
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "ran"; readonly runs: number; readonly failures: readonly PlanFailure[] };

interface PlanFailure {
  readonly id: string;
  readonly store: string;
  /** Indices of the steps, in the plan's order. */
  readonly order: readonly number[];
  /** What differs: the check, a call's input, the run's end or its state. */
  readonly at: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

type OpenStore = { readonly store: VariableStore; readonly close: () => void };

const stores: Readonly<Record<string, () => OpenStore>> = {
  MemoryStore: () => ({ store: new MemoryStore(), close: () => undefined }),
  SqlStore: () => {
    const sql = new NodeSql();
    migrate(sql);
    return { store: new SqlStore(sql), close: () => sql.close() };
  },
};

const RUN = "run_1";

/**
 * Runs a trace as a JSON plan over each store, in the written order and in others. A run fails unless every
 * tool was called exactly once with the input of its step, and the final state consists of the steps'
 * outputs. So the result does not depend on the order.
 */
export async function replayAsPlans(
  trace: Trace,
  { seed, shuffles }: PlanReplayOptions,
): Promise<PlanReplay> {
  const made = planned(trace);
  if (made.kind === "skipped") return made;
  const orders = ordersOf(trace.steps.length, { seed, shuffles });
  const failures: PlanFailure[] = [];
  for (const order of orders) {
    for (const store of Object.keys(stores)) {
      const differences = await differencesOf(trace, { made, order, store });
      failures.push(...differences.map((found) => ({ id: trace.id, store, order, ...found })));
    }
  }
  return { kind: "ran", runs: orders.length * Object.keys(stores).length, failures };
}

type Difference = Pick<PlanFailure, "at" | "expected" | "actual">;

async function differencesOf(
  { steps }: Trace,
  { made, order, store: kind }: { made: PlannedTrace; order: readonly number[]; store: string },
): Promise<readonly Difference[]> {
  const { plan, findings: unread } = readJsonPlan({
    calls: order.map((index) => made.calls[index]),
  });
  if (plan === undefined) return [{ at: "reading", expected: [], actual: unread }];
  const received: Json[][] = steps.map(() => []);
  const tools = recordedTools(steps, { made, received });
  const { checked, findings } = await checkPlan(plan, { tools, isKnown: () => false });
  if (checked === undefined) return [{ at: "check", expected: [], actual: findings.list() }];
  const { store, close } = stores[kind]?.() ?? { store: new MemoryStore(), close: () => undefined };
  try {
    const { status, calls } = await run(checked, { store, tools });
    const state = await store.read(nameInRun(RUN, "state", []));
    const differences: Difference[] = [
      ...steps.map((step, index) => ({
        at: `step ${index}`,
        expected: [step.expect],
        actual: received[index],
      })),
      { at: "end", expected: "done", actual: status === "done" ? status : { status, calls } },
      { at: "state", expected: made.state, actual: state },
    ];
    return differences.filter(({ expected, actual }) => !isDeepStrictEqual(actual, expected));
  } finally {
    close();
  }
}

/** Returns tools with their recorded names. The id of a call tells which step it is. */
function recordedTools(
  steps: readonly Step[],
  { made, received }: { made: PlannedTrace; received: readonly Json[][] },
): ToolSet {
  const recorded = tool({
    inputSchema: jsonSchema<Json>({ type: "object" }),
    execute: (given, { toolCallId }) => {
      const index = made.calls.findIndex(({ _id: id }) => toolCallId === `${RUN}/${id}`);
      received[index]?.push(given);
      return made.outputs[index] ?? null;
    },
  });
  return Object.fromEntries(steps.map((step) => [step.tool, recorded]));
}

async function run(
  checked: CheckedPlan,
  { store, tools }: { store: VariableStore; tools: ToolSet },
): Promise<RunRecord> {
  const wrapped = await wrapTools(tools, { store, syntaxes: ["dagger"], owner: RUN });
  return planRun({ checked, record: runRecord(RUN), store, tools: wrapped }).run();
}

/** Returns the written order and others, without duplicates. */
function ordersOf(length: number, { seed, shuffles }: PlanReplayOptions) {
  const written = Array.from({ length }, (_, index) => index);
  const random = new Random(seed);
  const others = Array.from({ length: shuffles }, () => shuffled(written, random));
  return [...new Map([written, ...others].map((order) => [order.join(), order])).values()];
}

/** Returns a random order that differs from the given one. */
function shuffled(indices: readonly number[], random: Random): readonly number[] {
  const left = [...indices];
  const order = indices.flatMap(() => left.splice(random.between(0, left.length - 1), 1));
  return isDeepStrictEqual(order, indices) ? order.reverse() : order;
}
