import type * as z from "zod";
import { limits } from "../limits.ts";
import type { Lookup } from "../reference/reference.ts";
import { resolveReferences } from "../reference/resolve.ts";
import type { Plan, PlanCall } from "../plan/plan.ts";
import type { PlanRecord, StoredRun } from "../plan/plan-store.ts";
import { isOpenRun, nameInRun, type CallState } from "../plan/run-record.ts";
import { saveTargetIn } from "../tool/save-target.ts";
import { lookupInStore } from "../tool/store-lookup.ts";
import type { VariableStore } from "../store/variable-store.ts";
import type { Json } from "../value/json.ts";
import type { callView, plannedCallView, planView, runView } from "./plan-schemas.ts";

type CallView = z.infer<typeof callView>;
type PlannedCallView = z.infer<typeof plannedCallView>;
export type RunView = z.infer<typeof runView>;
export type PlanView = z.infer<typeof planView>;

/** A plan with its runs; `status` of a call is that of the newest run. */
export async function viewOf(
  { id, status, plan, agent, after, createdAt }: PlanRecord,
  runs: readonly StoredRun[],
  store: VariableStore,
): Promise<PlanView> {
  const newest = runs.at(-1);
  const lookup = knownIn(store, plan);
  const calls = plan.calls.map(async (call): Promise<PlannedCallView> => {
    const { outputPath } = call;
    return {
      ...callViewOf(call, newest?.record.calls[call.id]),
      ...(outputPath === undefined ? {} : { _outputPath: outputPath }),
      after: [...(after[call.id] ?? [])],
      input: await inputOf(call, plan, lookup),
    };
  });
  return {
    id,
    status,
    ...(plan.name === undefined ? {} : { name: plan.name }),
    format: plan.format,
    agent,
    createdAt,
    calls: await Promise.all(calls),
    findings: [],
    runs: await Promise.all(runs.map((run) => runViewOf(plan, run, store))),
  };
}

/** Of a run that goes on: its state so far. */
export async function runViewOf(
  plan: Plan,
  { record, input, state }: StoredRun,
  store: VariableStore,
): Promise<RunView> {
  const { id, status, createdAt, calls, error } = record;
  return {
    id,
    status,
    createdAt,
    input,
    state: state ?? (isOpenRun(record) ? await stateSoFar(id, store) : {}),
    calls: plan.calls.map((call) => callViewOf(call, calls[call.id])),
    ...(error === undefined ? {} : { error }),
  };
}

async function stateSoFar(run: string, store: VariableStore): Promise<Json> {
  const name = nameInRun(run, "state", []);
  const info = store.info(name);
  if (info === undefined) return {};
  const isShown = info.visibility !== "secret" && info.bytes <= limits.maxPlanBytes;
  return isShown ? ((await store.read(name)) ?? {}) : { $var: name };
}

function callViewOf({ id, tool }: PlanCall, state: CallState = { status: "waiting" }): CallView {
  const { status, reason, gate } = state;
  return {
    _id: id,
    _tool: tool,
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(gate === undefined ? {} : { gate }),
  };
}

/** What no call writes, and is small enough, and may be seen. */
function knownIn(store: VariableStore, plan: Plan): Lookup {
  const own = new Set(["input", "state", "approvals", ...plan.runNames, ...writtenNames(plan)]);
  const lookup = lookupInStore(store);
  return async (reference) => {
    const { name } = reference;
    const unknown = { found: false, reason: "unknown", near: [] } as const;
    if (own.has(name) || store.glance(name)?.visibility !== "model") return unknown;
    const found = await lookup(reference);
    const isSmall = found.found && JSON.stringify(found.value).length <= MAX_KNOWN_CHARS;
    return isSmall ? found : unknown;
  };
}

const MAX_KNOWN_CHARS = 500;

function writtenNames({ calls }: Plan): readonly string[] {
  return calls.flatMap(({ outputPath }) =>
    outputPath === undefined ? [] : saveTargetIn(outputPath).places.map(({ name }) => name),
  );
}

/** A reference to what is not known stays as it is written. */
async function inputOf(
  { parameters }: PlanCall,
  { syntaxes }: Plan,
  lookup: Lookup,
): Promise<Json> {
  try {
    return (await resolveReferences(parameters, lookup, { syntaxes })).value;
  } catch {
    // What does not fit together is said when it runs.
    return parameters;
  }
}
