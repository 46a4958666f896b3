import * as limits from "../../limits.ts";
import type { Activity, ObservedActivity, Outcome } from "../../tool/observer.ts";
import {
  MAX_ACTIVITIES,
  type TimedActivity,
  type TimedAttempt,
} from "../../turn/history/timeline.ts";
import type { TurnEnd } from "../../turn/turn-context.ts";
import { clip } from "../../value/characters.ts";
import { compact } from "../../value/json.ts";

/** Length of a name in a timeline. Models and servers choose them. */
const MAX_NAME_CHARS = 255;

const NONE = { calls: 0, failures: 0, ms: 0 };

/** The activities of one attempt at a turn. The log line, the timeline and the spans are read from it. */
export class Trace {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The first spans, up to `maxItems`, in the order in which they begin: each after its parent. */
  readonly spans: Span[] = [];
  /** Totals of all activities, including those without a span; times of concurrent activities are added up. */
  readonly sums = { agent: { ...NONE }, model: { ...NONE }, tool: { ...NONE } };
  readonly root: Span;

  constructor(now: () => number) {
    this.now = now;
    // The agent is not known until the turn begins.
    this.root = new Span(this, { kind: "agent", name: "" });
  }

  /** The activities so far, as they are stored with the answer. */
  timeline(): TimedAttempt {
    const { root, spans, sums } = this;
    const { name: agent, model = "", provider = "" } = root.activity;
    const activities = spans.slice(1, 1 + MAX_ACTIVITIES).map((span) => span.timed());
    const left = sums.agent.calls + sums.model.calls + sums.tool.calls - 1 - activities.length;
    return {
      startedAt: new Date(root.startMs).toISOString(),
      durationMs: root.durationMs,
      agent,
      model,
      provider,
      activities,
      ...(left > 0 ? { left } : {}),
    };
  }

  /** Ends the attempt and all spans that a stop left open. */
  end(outcome: Outcome): void {
    this.root.end(outcome);
    for (const span of this.spans) span.end({ error: "turn_stopped" });
  }
}

export class Span implements ObservedActivity {
  activity: Activity;
  readonly parent: Span | undefined;
  readonly startMs: number;
  outcome: Outcome = {};
  /** From its own start, in milliseconds. */
  firstOutputMs: number | undefined;
  readonly #trace: Trace;
  /** The activities that it is inside of, without the attempt. */
  readonly #depth: number;
  #endMs: number | undefined;

  constructor(trace: Trace, activity: Activity, parent?: Span) {
    const { spans, sums } = trace;
    this.#trace = trace;
    this.activity = activity;
    this.parent = parent;
    this.#depth = parent === undefined ? -1 : parent.#depth + 1;
    this.startMs = trace.now();
    if (spans.length < limits.maxItems) spans.push(this);
    sums[activity.kind].calls++;
  }

  begin(activity: Activity): Span {
    return new Span(this.#trace, activity, this);
  }

  firstOutput(): void {
    this.firstOutputMs ??= this.durationMs;
  }

  end(outcome: Outcome = {}): void {
    if (this.#endMs !== undefined) return;
    this.#endMs = this.#trace.now();
    this.outcome = outcome;
    const sum = this.#trace.sums[this.activity.kind];
    sum.ms += this.durationMs;
    if (outcome.error !== undefined) sum.failures++;
  }

  /** In milliseconds, of an open span until now. Never negative, even if the clock is set back. */
  get durationMs(): number {
    return Math.max((this.#endMs ?? this.#trace.now()) - this.startMs, 0);
  }

  /** Describes the span within its attempt. */
  timed(): TimedActivity {
    const { kind, name, toolCallId: call } = this.activity;
    const { error, inputTokens, outputTokens } = this.outcome;
    const { firstOutputMs, durationMs } = this;
    return {
      kind,
      name: clip(name, MAX_NAME_CHARS),
      depth: this.#depth,
      startMs: Math.max(this.startMs - this.#trace.root.startMs, 0),
      durationMs,
      ...compact({ firstOutputMs, call, error, inputTokens, outputTokens }),
    };
  }
}

export interface TurnSubject {
  readonly tenant: string;
  readonly conversation: string;
  readonly turn: string;
  /** Set for a run of a plan. */
  readonly kind?: "run" | undefined;
  /** Set if the turn has waited for those before it. */
  readonly queuedMs?: number | undefined;
  /** True if a crash interrupted the turn before. */
  readonly recovered?: true | undefined;
  /** Set if its spans are exported. */
  readonly traceId?: string | undefined;
}

/** An attempt that could not begin has no counts. */
export type RecordedEnd = Pick<TurnEnd, "status" | "cost"> & Partial<TurnEnd>;

export type TurnRecord = ReturnType<typeof turnRecord>;

/** The record of one attempt at a turn or run: ids, names, times, counts and codes; never a value. */
export function turnRecord(subject: TurnSubject, { root, spans, sums }: Trace, end: RecordedEnd) {
  const { name: agent, model = "", provider = "" } = root.activity;
  const first = spans.find((span) => span.parent === root && span.firstOutputMs !== undefined);
  return {
    event: "turn",
    ...subject,
    agent,
    model,
    provider,
    startedAt: new Date(root.startMs).toISOString(),
    durationMs: root.durationMs,
    /** Time until the first part from its own model. */
    firstPartMs: first && first.startMs + (first.firstOutputMs ?? 0) - root.startMs,
    /** Every try, including those of called agents. */
    modelCalls: sums.model.calls,
    modelMs: sums.model.ms,
    toolCalls: sums.tool.calls,
    toolFailures: sums.tool.failures,
    toolMs: sums.tool.ms,
    ...end,
  } as const;
}

/** Analytics Engine drops a data point with a longer index. */
const MAX_INDEX_BYTES = 96;

/** A turn in Workers Analytics Engine. Queries use positions, so new fields are added last. */
export function dataPointOf(record: TurnRecord): AnalyticsEngineDataPoint {
  const { tenant, code = "", limit = "", usage, savings, cost } = record;
  const { read } = new TextEncoder().encodeInto(tenant, new Uint8Array(MAX_INDEX_BYTES));
  return {
    indexes: [tenant.slice(0, read)],
    blobs: [record.conversation, record.agent, record.model, record.status, code, tenant, limit],
    doubles: [
      record.durationMs,
      record.firstPartMs,
      record.modelCalls,
      record.modelMs,
      record.toolCalls,
      record.toolFailures,
      record.toolMs,
      usage?.inputTokens,
      usage?.outputTokens,
      savings?.promptChars,
      savings?.inlinePromptChars,
      savings?.authoredChars,
      savings?.resolvedChars,
      cost.rowsRead,
      cost.rowsWritten,
      cost.alarms,
      record.queuedMs,
    ].map((count) => count ?? 0),
  };
}
