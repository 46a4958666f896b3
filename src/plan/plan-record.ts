import type { Json } from "../value/json.ts";
import type { Plan, PlanCall, PlanFormat } from "./plan.ts";
import type { RunRecord } from "./run-record.ts";

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
  readonly format: PlanFormat;
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
