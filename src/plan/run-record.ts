import type { Json } from "../value/json.ts";

export type CallStatus = "waiting" | "running" | "done" | "failed" | "skipped";

/** What became of a call in a run. */
export interface CallState {
  readonly status: CallStatus;
  /** Why it waits for a person, failed, or was skipped. */
  readonly reason?: string;
  /** Where its result went, as its output path has it. */
  readonly places?: readonly string[];
  /** A digest of what it was started with. */
  readonly pin?: string;
}

/** `waiting`: nothing is left to do before a gate is opened. */
export type RunStatus = "running" | "waiting" | "done" | "failed" | "cancelled";

/** One run of a plan, as it is written down. */
export interface RunRecord {
  readonly id: string;
  readonly plan: string;
  readonly status: RunStatus;
  readonly input: Json;
  readonly calls: Readonly<Record<string, CallState>>;
  /** Gates that a person has opened. */
  readonly opened: readonly string[];
}

/** What the name stands for in this run: its own input and state, and what else lives in it alone. */
export function nameInRun(run: string, name: string, runNames: readonly string[]): string {
  const isOwn = name === "input" || name === "state" || runNames.includes(name);
  return isOwn ? `${name}_${run}` : name;
}
