import * as limits from "../../../../src/limits.ts";
import type { callView, planListed, planView, runView } from "./plan-schemas.ts";
import {
  type ListedPlanRecord,
  type PlanRecord,
  type ShownRun,
  isOpenRun,
  type RunRecord,
  stateIn,
  RESERVED_NAMES,
} from "../plan/plan-record.ts";
import type { PlanStore } from "../plan/plan-store.ts";
import { resultOf, resultParts } from "../run/run-outcome.ts";
import { charsOf, json, LookupWork, type VariableStore } from "../../../../src/internal.ts";
import {
  lookupInStore,
  type Plan,
  type PlanCall,
  saveTargets,
} from "../../../../src/internal-tool.ts";
import { type Json, type Lookup, resolveReferences } from "../../../../src/references.ts";

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
  const lookup = knownIn(store, plan);
  const newest = runs.at(-1)?.record;
  const listed = listedOf({ ...record, ...plan, ...json.compact({ newest }) });
  const calls: PlanView["calls"] = [];
  for (const [index, call] of plan.calls.entries()) {
    const about = listed.calls[index];
    if (about !== undefined) calls.push({ ...about, input: await inputOf(call, plan, lookup) });
  }
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

/**
 * Looks up references for display: only small values that the model may see and no call writes. All
 * references of the plan share the work limit of one input; beyond it they count as unknown.
 */
function knownIn(store: VariableStore, plan: Plan): Lookup {
  const own = new Set([...RESERVED_NAMES, ...plan.runNames, ...writtenNames(plan)]);
  const lookup = lookupInStore(store);
  const work = new LookupWork();
  let left = limits.maxPieceChars;
  return async (reference) => {
    const { name } = reference;
    const unknown = { found: false, reason: "unknown", near: [] } as const;
    if (own.has(name) || store.glance(name)?.visibility !== "model") return unknown;
    const most = Math.min(left, limits.maxDescriptionChars);
    const found = await lookup(reference, work);
    const chars = found.found ? charsOf(found.value, most) : Infinity;
    if (chars > most) return unknown;
    left -= chars;
    return found;
  };
}

function writtenNames({ calls }: Plan): readonly string[] {
  return calls.flatMap(({ outputPath }) =>
    outputPath === undefined
      ? []
      : saveTargets.saveTargetIn(outputPath).places.map(({ name }) => name),
  );
}

/** The call's input; unknown references stay as they are written. */
async function inputOf(
  { parameters }: PlanCall,
  { syntaxes }: Plan,
  lookup: Lookup,
): Promise<Json> {
  try {
    return (await resolveReferences(parameters, lookup, { syntaxes })).value;
  } catch {
    // Errors in references are reported when the plan runs.
    return parameters;
  }
}
