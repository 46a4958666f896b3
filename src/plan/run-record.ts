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
