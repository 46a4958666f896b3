import * as limits from "../../../../src/limits.ts";
import type { Plan, PlanCall, PlanFormatName, wraps } from "../../../../src/internal-tool.ts";
import type { Finding } from "./plan-format.ts";
import { json, type stores, variableNames } from "../../../../src/internal.ts";
import type { Json } from "../../../../src/references.ts";

export type PlanStatus = "proposed" | "approved" | "running" | "done" | "failed" | "cancelled";

/** A plan as stored in a conversation. Its runs are stored separately. */
export interface PlanRecord {
  readonly id: string;
  readonly status: PlanStatus;
  readonly plan: Plan;
  /** The agent whose tools the plan calls. */
  readonly agent: string;
  /** True if the model that wrote the plan had seen untrusted content. */
  readonly tainted?: boolean;
  /** What a plan that was made from a conversation has instead of its values. */
  readonly notes?: readonly Finding[];
  /** The ids of the calls before each call, by its id. */
  readonly after: Readonly<Record<string, readonly string[]>>;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A plan as shown in lists. Its size does not depend on the inputs of its calls. */
export interface ListedPlanRecord extends Omit<PlanRecord, "plan"> {
  readonly name?: string;
  readonly format: PlanFormatName;
  readonly calls: readonly Omit<PlanCall, "parameters">[];
  readonly newest?: RunRecord;
  /** Set if the calls and their outcomes are left out because they are too long. */
  readonly omitted?: true;
}

export interface StoredRun {
  readonly record: RunRecord;
  readonly input: Json;
  /** Undefined until the run has ended. */
  readonly state: Json | undefined;
}

export type ShownRun = Pick<StoredRun, "record"> & Partial<StoredRun>;

export interface CallState {
  readonly status: "waiting" | "running" | "done" | "failed" | "skipped";
  /** Why the call waits for a person, failed, or was skipped. */
  readonly reason?: string;
  /** The gate that a person has to open before the call continues. */
  readonly gate?: string;
  /** The input that would run, as shortened text. Set if the policy requires a person's review. */
  readonly asked?: string;
  /** A digest of the input that a person was shown. If it changes, the call needs another approval. */
  readonly shown?: string;
  /** The places that the result was written to, as in the output path. */
  readonly places?: readonly string[];
  /** A digest of the input with which the call was started. Of a failed call: set if its tool may have had its effect. */
  readonly pin?: string;
  /** The result: a value of at most `maxShownResultChars`, else a handle. Of a guarded value only its name. */
  readonly output?: Json;
  /** The conversation's variable that keeps a result which is not shown in full, as long as the run. */
  readonly kept?: string;
}

/** `waiting`: all remaining calls wait for a gate. */
export type RunStatus = "running" | "waiting" | "done" | "failed" | "cancelled";

export interface GateDecision {
  readonly approved: boolean;
  readonly reason?: string | undefined;
}

/** One run of a plan. Written again with every change. */
export interface RunRecord {
  readonly id: string;
  readonly plan: string;
  readonly status: RunStatus;
  readonly calls: Readonly<Record<string, CallState>>;
  readonly gates: Readonly<Record<string, GateDecision>>;
  /** True if the conversation receives the state when the run is done. */
  readonly keep: boolean;
  /** Variables of the conversation that the run reads. */
  readonly needs: readonly string[];
  /** ISO 8601. */
  readonly createdAt: string;
  /** Why none of its calls could continue. */
  readonly error?: string;
  /** The variables that the conversation has received from a failed run. Absent if it cannot be retried. */
  readonly results?: readonly RunResult[];
}

/** A version of a variable, with what a run has written as this output. */
export interface RunResult {
  readonly output: string;
  readonly name: string;
  readonly version: number;
  /** Versions begin again after a delete. */
  readonly updatedAt: string;
}

const WAITING: CallState = { status: "waiting" };

/** The state of a call. An id may be any text, including `constructor`. */
export function stateIn({ calls }: Pick<RunRecord, "calls">, id: string): CallState {
  return (Object.hasOwn(calls, id) ? calls[id] : undefined) ?? WAITING;
}

export function isOpenRun({ status }: Pick<RunRecord, "status">): boolean {
  return status === "running" || status === "waiting";
}

/** The outcome of a call that had begun when a crash cut it off. */
export const OUTCOME_UNKNOWN = {
  code: "outcome_unknown",
  message: "This call was cut off: it may or may not have run.",
} as const;

/**
 * The calls of a run that does not continue. Waiting calls are skipped; calls that had begun have an unknown
 * outcome.
 */
export function closedCalls(
  { calls }: Plan,
  record: RunRecord,
  reason: string,
): Readonly<Record<string, CallState>> {
  const { code, message } = OUTCOME_UNKNOWN;
  const closed = calls.map(({ id }): [string, CallState] => {
    const { pin, ...state } = stateIn(record, id);
    if (state.status === "running")
      return [id, { status: "failed", reason: `${code}: ${message}`, ...json.compact({ pin }) }];
    return [id, state.status === "waiting" ? { status: "skipped", reason } : state];
  });
  return Object.fromEntries(closed);
}

/** The name of the gates that people open: `†approvals.<name>`. */
export const GATES = "approvals";

/** The results of a run, which are merged into the conversation's variable of this name. */
export const STATE = "state";

/** Names that every run reserves. Calls cannot use them freely. */
export const RESERVED_NAMES: readonly string[] = ["input", STATE, GATES];

/** The variable behind a name in a run. The run has its own input, state and further names. */
export function nameInRun(run: string, name: string, runNames: readonly string[]): string {
  if (!RESERVED_NAMES.includes(name) && !runNames.includes(name)) return name;
  const own = `${name}_${run}`;
  return own.length <= limits.maxNameChars ? own : `${shortName(name, runNames)}_${run}`;
}

/** Returns a name for one that is too long to add the run's id. Generated result names never begin like it. */
function shortName(name: string, runNames: readonly string[]): string {
  let short = `_${runNames.indexOf(name)}`;
  while (runNames.includes(short)) short = `_${short}`;
  return short;
}

interface NamedPlan extends Pick<wraps.RunScope, "inherits"> {
  readonly plan: Pick<Plan, "runNames" | "order">;
}

export function scopeOfRun(run: string, { plan: { runNames, order }, inherits }: NamedPlan) {
  return {
    run,
    names: runNames,
    // No later call can refer to such a result by a written name, so it is visible to the run alone.
    ownsResults: order === "written",
    nameOf: (name) => nameInRun(run, name, runNames),
    ...json.compact({ inherits }),
  } satisfies wraps.RunScope;
}

export function namesOfRun(run: string, runNames: readonly string[]): readonly string[] {
  return [...RESERVED_NAMES, ...runNames].map((name) => nameInRun(run, name, runNames));
}

/**
 * The name of the variable that keeps the result of a call: `<plan>_<call>`, with a number if another run has
 * one. A repetition of the call in the same run has the same name.
 */
export function keptName(run: string, { name = "plan" }: Pick<Plan, "name">, call: string) {
  const base = variableNames.automaticBase(`${name}_${call}`);
  return { base, numbered: false, inputDigest: `${run}/${call}` } satisfies stores.AutomaticName;
}
