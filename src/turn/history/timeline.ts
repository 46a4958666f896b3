import type { Activity } from "../../tool/observer.ts";

/** Activities of each attempt, and attempts, that are stored with an answer. */
export const MAX_ACTIVITIES = 100;
export const MAX_ATTEMPTS = 10;

/** A model call, a tool call or a called agent. Names, times and codes, never a value. */
export interface TimedActivity {
  readonly kind: Activity["kind"];
  readonly name: string;
  /** Number of activities that it is inside of. */
  readonly depth: number;
  /** Milliseconds from the attempt's start. */
  readonly startMs: number;
  readonly durationMs: number;
  /** Milliseconds from its own start to the first part of the response. */
  readonly firstOutputMs?: number;
  readonly call?: string;
  readonly error?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** Durations within one attempt at a turn. A turn that waited for a person has several attempts. */
export interface TimedAttempt {
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly agent: string;
  readonly model: string;
  readonly provider: string;
  /** The first `MAX_ACTIVITIES`, in the order in which they began. */
  readonly activities: readonly TimedActivity[];
  readonly left?: number;
}

export interface Timeline {
  readonly message: string;
  readonly attempts: readonly TimedAttempt[];
}
