import type { Plan, PlanCall, PlanFormatName } from "./plan.ts";
import type { Json } from "../value/json.ts";

export type PlanStatus = "proposed" | "approved" | "running" | "done" | "failed" | "cancelled";

/** A plan as a conversation keeps it; its runs are kept beside it. */
export interface PlanRecord {
  readonly id: string;
  readonly status: PlanStatus;
  readonly plan: Plan;
  /** Whose tools it calls. */
  readonly agent: string;
  /** The model that wrote it had been shown what is not trusted. */
  readonly tainted?: boolean;
  /** By the id of a call: those that come before it. */
  readonly after: Readonly<Record<string, readonly string[]>>;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** A plan as lists show it. Its size does not depend on the inputs of its calls. */
export interface ListedPlanRecord extends Omit<PlanRecord, "plan"> {
  readonly name?: string;
  readonly format: PlanFormatName;
  readonly calls: readonly Omit<PlanCall, "parameters">[];
  /** The newest run. */
  readonly newest?: RunRecord;
  /** Set if the calls and their outcomes are left out, because they are too long. */
  readonly omitted?: true;
}

/** A run with what it was given, and what it came to. */
export interface StoredRun {
  readonly record: RunRecord;
  readonly input: Json;
  /** Undefined until it has ended. */
  readonly state: Json | undefined;
}

/** A run, with its values or without. */
export type ShownRun = Pick<StoredRun, "record"> & Partial<StoredRun>;

/** What became of a call in a run. */
export interface CallState {
  readonly status: "waiting" | "running" | "done" | "failed" | "skipped";
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

export function isOpenRun({ status }: Pick<RunRecord, "status">): boolean {
  return status === "running" || status === "waiting";
}

/** Of a call that had begun when a crash cut it off. */
export const OUTCOME_UNKNOWN = {
  code: "outcome_unknown",
  message: "This call was cut off: it may have done its work or not.",
} as const;

/** The calls of a run of which nothing will go on: what waits is skipped, what had begun nobody knows of. */
export function closedCalls(
  { calls }: Plan,
  record: RunRecord,
  reason: string,
): Readonly<Record<string, CallState>> {
  const { code, message } = OUTCOME_UNKNOWN;
  const closed = calls.map(({ id }): [string, CallState] => {
    const state = stateIn(record, id);
    if (state.status === "running")
      return [id, { status: "failed", reason: `${code}: ${message}` }];
    return [id, state.status === "waiting" ? { status: "skipped", reason } : state];
  });
  return Object.fromEntries(closed);
}
