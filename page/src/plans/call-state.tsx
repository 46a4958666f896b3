import type { PlanView, RunView } from "../../../packages/plans/src/http/plan-view.ts";
import type { Json } from "../../../src/value/json.ts";

export type CallState = RunView["calls"][number];
/** A plan's call with its state in the shown run. */
export type PlannedCall = PlanView["calls"][number] & Pick<CallState, "output">;
export type Mark =
  | CallState["status"]
  | PlanView["status"]
  | RunView["status"]
  /** Needs an approval. */
  | "asks";

/** The word of each mark, and its icon, 14 units wide. */
export const MARKS: Readonly<Record<Mark, readonly [word: string, drawn: string]>> = {
  waiting: ["waiting", "M7 1.75a5.25 5.25 0 1 0 .01 0z"],
  running: ["running", "M7 1.75A5.25 5.25 0 0 1 12.25 7"],
  done: ["done", "m2.5 7.5 3 3 6-6.5"],
  failed: ["failed", "m3 3 8 8M11 3l-8 8"],
  skipped: ["skipped", "M2 7h6M6 4l3 3-3 3M11.5 3v8"],
  proposed: ["needs your approval", "M3 2.5h8v9H3zM5 5.5h4M5 8.5h2.5"],
  approved: ["ready", "M4 2.75v8.5L11 7z"],
  cancelled: ["cancelled", "M3.3 3.3l7.4 7.4M7 1.75a5.25 5.25 0 1 0 .01 0z"],
  asks: ["needs your approval", "M5 5.2a2 2 0 1 1 3 1.7c-.7.4-1 .8-1 1.6M7 11v.1"],
};

export function markOfCall({ status, gate }: Pick<CallState, "status" | "gate">): Mark {
  return status === "waiting" && gate !== undefined ? "asks" : status;
}

/** Returns the mark of a plan: that of its run, if one waits for an approval. */
export function markOfPlan(plan: {
  readonly status: PlanView["status"];
  readonly calls: readonly Pick<CallState, "status" | "gate">[];
}): Mark {
  const { status, calls } = plan;
  if (status !== "running") return status;
  return calls.some((call) => markOfCall(call) === "asks") ? "asks" : status;
}

type Named = Pick<PlanView, "name"> & { readonly calls: readonly Pick<CallState, "_tool">[] };

export function planName({ name, calls }: Named): string {
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
  return open.flatMap(({ id: run, calls }) => {
    const waiting = calls.filter(({ gate, status }) => gate !== undefined && status === "waiting");
    const gates = Map.groupBy(waiting, ({ gate = "" }) => gate);
    return [...gates].map(([name, calls]) => ({ name, run, calls }));
  });
}

/** Returns the plan's calls with their state in a run. */
export function callsIn(
  plan: { readonly calls: readonly PlannedCall[] },
  run?: RunView,
): readonly PlannedCall[] {
  return plan.calls.map(({ _id, _tool, _outputPath, input, after }) => {
    const state = run?.calls.find((other) => other._id === _id);
    const path = _outputPath === undefined ? {} : { _outputPath };
    return { _id, _tool, status: "waiting" as const, ...state, ...path, after, input };
  });
}

const READ = /(?:†|\$|variable:|\{\{\s*)input\.([A-Za-z_]\w*)/g;

/** Returns the fields of the run's input that the calls read. */
export function inputFields(calls: readonly { readonly input: Json }[]): readonly string[] {
  const read = JSON.stringify(calls.map(({ input }) => input)).matchAll(READ);
  return [...new Set(Array.from(read, ([, field = ""]) => field))];
}

/** Returns a template of a run's input: the last run's input, or empty texts. */
export function inputTemplate(fields: readonly string[], last: Json | undefined): string {
  const isUseful = typeof last === "object" && last !== null && Object.keys(last).length > 0;
  const blank = Object.fromEntries(fields.map((field) => [field, ""]));
  return JSON.stringify(isUseful ? last : blank, undefined, 2);
}

/** Icon of a state, 14 units wide. */
export function MarkSign({ mark }: { readonly mark: Mark }) {
  return (
    <svg
      className={`plans-sign plans-${mark}`}
      width="14"
      height="14"
      viewBox="0 0 14 14"
      aria-hidden="true"
    >
      <path className={mark === "running" ? "plans-spin" : undefined} d={MARKS[mark][1]} />
    </svg>
  );
}

/** Icon and word of a state, so that colour is not the only signal. */
export function MarkLabel({ mark }: { readonly mark: Mark }) {
  return (
    <span className={`plans-mark plans-${mark}`}>
      <MarkSign mark={mark} />
      {MARKS[mark][0]}
    </span>
  );
}
