import { limits } from "../limits.ts";
import type { RunScope } from "../tool/wrapped-tool.ts";
import type { Plan } from "./plan.ts";

type CallStatus = "waiting" | "running" | "done" | "failed" | "skipped";

/** What became of a call in a run. */
export interface CallState {
  readonly status: CallStatus;
  /** Why it waits for a person, failed, or was skipped. */
  readonly reason?: string;
  /** What a person has to open before it goes on. */
  readonly gate?: string;
  /** With what it would run, if the policy wants a person to see that: as text, shortened. */
  readonly asked?: string;
  /** Where its result went, as its output path has it. */
  readonly places?: readonly string[];
  /** A digest of what it was started with. */
  readonly pin?: string;
}

/** `waiting`: nothing is left to do before a gate is opened. */
export type RunStatus = "running" | "waiting" | "done" | "failed" | "cancelled";

/** What a person has decided of a gate. */
export interface GateDecision {
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** One run of a plan, as it is written down again and again while it goes on. */
export interface RunRecord {
  readonly id: string;
  readonly plan: string;
  readonly status: RunStatus;
  readonly calls: Readonly<Record<string, CallState>>;
  /** By name. */
  readonly gates: Readonly<Record<string, GateDecision>>;
  /** Does the conversation get the state when the run is done? */
  readonly keep: boolean;
  /** Variables of the conversation that it reads. */
  readonly needs: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
  /** Why none of its calls could go on. */
  readonly error?: string;
}

const WAITING: CallState = { status: "waiting" };

/** What has become of a call; an id may be any text, `constructor` included. */
export function stateIn({ calls }: Pick<RunRecord, "calls">, id: string): CallState {
  return (Object.hasOwn(calls, id) ? calls[id] : undefined) ?? WAITING;
}

/** The name whose references are gates that people open: `†approvals.<name>`. */
export const GATES = "approvals";

const OWN_NAMES = ["input", "state", GATES];

/** What the name stands for in this run: its own input and state, and what else lives in it alone. */
export function nameInRun(run: string, name: string, runNames: readonly string[]): string {
  if (!OWN_NAMES.includes(name) && !runNames.includes(name)) return name;
  const own = `${name}_${run}`;
  return own.length <= limits.maxNameChars ? own : `${shortName(name, runNames)}_${run}`;
}

/** For one that leaves no room for the run's id. No name that is found for a result begins like it. */
function shortName(name: string, runNames: readonly string[]): string {
  let short = `_${runNames.indexOf(name)}`;
  while (runNames.includes(short)) short = `_${short}`;
  return short;
}

/** The names of a run, for its calls. */
export function scopeOfRun(run: string, { runNames, order }: Pick<Plan, "runNames" | "order">) {
  return {
    run,
    names: runNames,
    // What nobody reads by a name that was written down is of no use to anybody else.
    ownsResults: order === "written",
    nameOf: (name) => nameInRun(run, name, runNames),
  } satisfies RunScope;
}

/** All variables that a run may have of its own. */
export function namesOfRun(run: string, runNames: readonly string[]): readonly string[] {
  return [...OWN_NAMES, ...runNames].map((name) => nameInRun(run, name, runNames));
}

export function isOpenRun({ status }: Pick<RunRecord, "status">): boolean {
  return status === "running" || status === "waiting";
}
