import type { PlanView, RunView } from "../../../packages/plans/src/http/plan-view.ts";

export type CallState = RunView["calls"][number];
/** A plan's call with its state in the shown run. */
export type PlannedCall = PlanView["calls"][number] & Pick<CallState, "output">;
export type Mark =
  | CallState["status"]
  | PlanView["status"]
  | RunView["status"]
  /** Needs an approval. */
  | "asks";

const WORDS: Readonly<Record<Mark, string>> = {
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  skipped: "skipped",
  proposed: "needs your approval",
  approved: "ready",
  cancelled: "cancelled",
  asks: "needs your approval",
};

export function markWords(mark: Mark): string {
  return WORDS[mark];
}

export function markOfCall({ status, gate }: Pick<CallState, "status" | "gate">): Mark {
  return status === "waiting" && gate !== undefined ? "asks" : status;
}

/** Returns the mark of a plan: that of its run, if one waits for an approval. */
export function markOfPlan({
  status,
  calls,
}: Pick<PlanView, "status"> & {
  readonly calls: readonly Pick<CallState, "status" | "gate">[];
}): Mark {
  if (status !== "running") return status;
  return calls.some((call) => markOfCall(call) === "asks") ? "asks" : status;
}

export function planName({
  name,
  calls,
}: Pick<PlanView, "name"> & { readonly calls: readonly Pick<CallState, "_tool">[] }): string {
  if (name !== undefined) return name;
  const tools = [...new Set(calls.map(({ _tool }) => _tool))];
  if (tools.length === 1 && calls.length > 1) return `${tools[0]}, ${calls.length} times`;
  return tools.length <= 2 ? tools.join(", ") : `${tools.slice(0, 2).join(", ")} and more`;
}

/** An open gate of a run, with the calls that wait for it. */
export interface Gate {
  readonly name: string;
  readonly run: string;
  readonly calls: readonly CallState[];
}

/** Returns the open gates of all runs, without duplicates. */
export function gatesOf(runs: readonly RunView[]): readonly Gate[] {
  const open = runs.filter(({ status }) => status === "running" || status === "waiting");
  return open.flatMap(({ id, calls }) => {
    const gates = new Map<string, CallState[]>();
    for (const call of calls) {
      if (call.gate === undefined || call.status !== "waiting") continue;
      gates.set(call.gate, [...(gates.get(call.gate) ?? []), call]);
    }
    return [...gates].map(([name, waiting]) => ({ name, run: id, calls: waiting }));
  });
}

/** Merges the stream's state into the run in progress. Only one run is active at a time. */
export function runsNow(
  runs: readonly RunView[],
  told: ReadonlyMap<string, CallState> | undefined,
): readonly RunView[] {
  if (told === undefined) return runs;
  return runs.map((run) => {
    if (run.status !== "running") return run;
    return { ...run, calls: run.calls.map((call) => told.get(call._id) ?? call) };
  });
}

/** Returns the plan's calls with their state in a run, or in its stream if that is newer. */
export function callsIn(
  plan: PlanView,
  run: RunView | undefined,
  told: ReadonlyMap<string, CallState> | undefined,
): readonly PlannedCall[] {
  return plan.calls.map((call, index) => {
    const { _id, _tool, _outputPath, input } = call;
    const after = comesAfter(plan, index);
    const path = _outputPath === undefined ? {} : { _outputPath };
    const state = told?.get(_id) ?? run?.calls.find((other) => other._id === _id);
    const fresh = { _id, _tool, status: "waiting" as const };
    return {
      ...fresh,
      ...(told === undefined ? state : (told.get(_id) ?? fresh)),
      ...path,
      after,
      input,
    };
  });
}

/** Calls of JSON plans depend on data. Other formats run in written order. */
function comesAfter({ format, calls }: PlanView, index: number): string[] {
  if (format === "json") return calls[index]?.after ?? [];
  return calls.slice(Math.max(0, index - 1), index).map(({ _id }) => _id);
}
