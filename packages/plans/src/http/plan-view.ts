import * as limits from "../../../../src/limits.ts";
import type { callView, planListed, planView, runView } from "./plan-schemas.ts";
import {
  type ListedPlanRecord,
  type PlanRecord,
  type ShownRun,
  isOpenRun,
  type RunRecord,
  stateIn,
} from "../plan/plan-record.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { resultOf, resultParts } from "../run/run-outcome.ts";
import { charsOf, json, type VariableStore } from "../../../../src/internal.ts";
import type { Plan, PlanCall } from "../../../../src/internal-tool.ts";
import type { Json } from "../../../../src/references.ts";

import type * as z from "zod";

type CallView = z.infer<ReturnType<typeof callView>>;
export type RunView = z.infer<ReturnType<typeof runView>>;
export type ListedPlan = z.infer<ReturnType<typeof planListed>>;
export type PlanView = z.infer<ReturnType<typeof planView>>;

/** A plan with its runs. A call's `status` is that of the newest run. */
export async function viewOf(
  record: PlanRecord,
  plans: PlanStore,
  store: VariableStore,
): Promise<PlanView> {
  const { plan } = record;
  const runs = plans.runsOf(record.id, limits.maxPageChars);
  const newest = runs.at(-1)?.record;
  const listed = listedOf({ ...record, ...plan, ...json.compact({ newest }) });
  const inputs = plan.calls.map(({ parameters }) => parameters);
  const calls = listed.calls.map((call, index) => ({ ...call, input: inputs[index] ?? {} }));
  // JSON Schema is JSON.
  const input = plan.input as Json | undefined;
  const views = await runViews(plan, runs, store);
  return { ...listed, ...json.compact({ input }), calls, runs: views };
}

/** Views of the runs. Partial results of open runs are included for the newest first, as long as they fit. */
async function runViews(
  plan: Plan,
  runs: readonly ShownRun[],
  store: VariableStore,
): Promise<RunView[]> {
  const views: RunView[] = [];
  let room: number = limits.maxPageChars;
  for (const run of runs.toReversed()) {
    const view = await runViewOf(plan, run, store, Math.min(room, limits.maxRecordBytes));
    if (isOpenRun(run.record)) room -= charsOf(view.state, room);
    views.push(view);
  }
  return views.toReversed();
}

/** A plan in a list, without values. */
export function listedOf(record: ListedPlanRecord): ListedPlan {
  const { id, status, name, format, agent, after, createdAt, tainted, newest, omitted } = record;
  return {
    id,
    status,
    ...json.compact({ name }),
    format,
    agent,
    ...(tainted === true ? { tainted } : {}),
    createdAt,
    calls: record.calls.map((call) => {
      const { outputPath, gates } = call;
      const before = Object.hasOwn(after, call.id) ? after[call.id] : [];
      return {
        ...callViewOf(call, newest),
        ...json.compact({ _outputPath: outputPath }),
        ...(gates === undefined ? {} : { _after: [...gates] }),
        after: [...(before ?? [])],
      };
    }),
    findings: [...(record.notes ?? [])],
    ...(omitted === true ? { omitted } : {}),
  };
}

/** A run. The state of an open run is its partial result, of at most `maxBytes`. */
export async function runViewOf(
  plan: Plan,
  { record, input, state }: ShownRun,
  store: VariableStore,
  maxBytes: number = limits.maxRecordBytes,
): Promise<RunView> {
  const { id, status, createdAt, error } = record;
  const isOmitted = input === undefined;
  const isOpen = isOpenRun(record) && !isOmitted;
  const soFar = async () => resultOf(await resultParts(store, { plan, run: id, maxBytes }));
  return {
    id,
    status,
    createdAt,
    input: input ?? null,
    state: state ?? (isOpen ? await soFar() : {}),
    calls: isOmitted
      ? []
      : plan.calls.map((call) => {
          const { output } = stateIn(record, call.id);
          return { ...callViewOf(call, record), ...json.compact({ output }) };
        }),
    ...json.compact({ error }),
    ...(isOmitted ? { omitted: true } : {}),
  };
}

function callViewOf(
  { id, tool }: Pick<PlanCall, "id" | "tool">,
  run: RunRecord | undefined,
): CallView {
  const { status, reason, gate, asked } =
    run === undefined ? { status: "waiting" as const } : stateIn(run, id);
  return {
    _id: id,
    _tool: tool,
    status,
    ...json.compact({ reason, gate, asked }),
  };
}
