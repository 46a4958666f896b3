import type { PlanView, RunView } from "../../../src/edge/plans/plan-view.ts";

export type CallState = RunView["calls"][number];
/** With its output in the run that is shown. */
export type PlannedCall = PlanView["calls"][number] & Pick<CallState, "output">;
export type Mark =
  | CallState["status"]
  | PlanView["status"]
  | RunView["status"]
  /** A person has to decide. */
  | "asks";

const WORDS: Readonly<Record<Mark, string>> = {
  waiting: "waiting",
  running: "running",
  done: "done",
  failed: "failed",
  skipped: "skipped",
  proposed: "to be approved",
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

/** A plan whose run waits for a person says so. */
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

/** What a person is asked: a gate of a run, and the calls that wait behind it. */
export interface Gate {
  readonly name: string;
  readonly run: string;
  readonly calls: readonly CallState[];
}

/** All that runs wait for, each once. */
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

/** Runs that go on, as a stream tells of them: only one does at a time. */
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

/** The plan's calls as they stand in a run: the newest, or a stream that tells more. */
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

/** Only JSON plans run as their data flows; the others one call after the other, as they are written. */
function comesAfter({ format, calls }: PlanView, index: number): string[] {
  if (format === "json") return calls[index]?.after ?? [];
  return calls.slice(Math.max(0, index - 1), index).map(({ _id }) => _id);
}
