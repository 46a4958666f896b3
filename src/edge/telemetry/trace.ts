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
    this.root = this.begin({ kind: "agent", name: "" });
  }

  begin(activity: Activity, parent?: Span): Span {
    const span = new Span(this, activity, parent);
    if (this.spans.length < limits.maxItems) this.spans.push(span);
    this.sums[activity.kind].calls++;
    return span;
  }

  /** The activities so far, as they are stored with the answer. */
  timeline(): TimedAttempt {
    const { root, spans } = this;
    const { name: agent, model = "", provider = "" } = root.activity;
    const inside = spans.filter((span) => span !== root);
    const shown = inside.slice(0, MAX_ACTIVITIES);
    const { agent: agents, model: models, tool: tools } = this.sums;
    const left = agents.calls + models.calls + tools.calls - 1 - shown.length;
    const endMs = this.now();
    return {
      startedAt: new Date(root.startMs).toISOString(),
      durationMs: Math.max(endMs - root.startMs, 0),
      agent,
      model,
      provider,
      activities: shown.map((span) => span.timed(root, endMs)),
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
  firstOutputMs: number | undefined;
  endMs: number | undefined;
  outcome: Outcome = {};
  readonly #trace: Trace;

  constructor(trace: Trace, activity: Activity, parent: Span | undefined) {
    this.#trace = trace;
    this.activity = activity;
    this.parent = parent;
    this.startMs = trace.now();
  }

  begin(activity: Activity): Span {
    return this.#trace.begin(activity, this);
  }

  firstOutput(): void {
    this.firstOutputMs ??= this.#trace.now();
  }

  end(outcome: Outcome = {}): void {
    if (this.endMs !== undefined) return;
    this.endMs = this.#trace.now();
    this.outcome = outcome;
    const sum = this.#trace.sums[this.activity.kind];
    sum.ms += this.durationMs;
    if (outcome.error !== undefined) sum.failures++;
  }

  /** Describes the span within its attempt. `nowMs` is the end of a span that is open. */
  timed(root: Span, nowMs: number): TimedActivity {
    const { kind, name, toolCallId: call } = this.activity;
    const { error, inputTokens, outputTokens } = this.outcome;
    let depth = 0;
    for (let outer = this.parent; outer !== undefined && outer !== root; outer = outer.parent)
      depth++;
    const since = (ms: number, startMs: number) => Math.max(ms - startMs, 0);
    const firstOutputMs = this.firstOutputMs && since(this.firstOutputMs, this.startMs);
    return {
      kind,
      name: clip(name, MAX_NAME_CHARS),
      depth,
      startMs: since(this.startMs, root.startMs),
      durationMs: since(this.endMs ?? nowMs, this.startMs),
      ...compact({ firstOutputMs, call, error, inputTokens, outputTokens }),
    };
  }

  /** Duration in milliseconds. Never negative, even if the clock is set back. */
  get durationMs(): number {
    return Math.max((this.endMs ?? 0) - this.startMs, 0);
  }
}

/** W3C Trace Context: later versions may have more fields after these four. */
const TRACE_PARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/**
 * The caller's span, in a trace that began outside. Nothing is exported of one that is not sampled. Undefined for an
 * invalid `traceparent`: the turn then begins its own trace.
 */
export function readTraceParent(header: string | null | undefined) {
  const [, traceId, spanId, flags = ""] = TRACE_PARENT.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
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
  const { activity, startMs, durationMs } = root;
  const { name, model = "", provider = "" } = activity;
  const first = spans.find(
    ({ parent, firstOutputMs }) => parent === root && firstOutputMs !== undefined,
  );
  const { model: models, tool: tools } = sums;
  return {
    event: "turn",
    ...subject,
    agent: name,
    model,
    provider,
    startedAt: new Date(startMs).toISOString(),
    durationMs,
    /** Time until the first part from its own model. */
    firstPartMs: first?.firstOutputMs && first.firstOutputMs - startMs,
    /** Every try, including those of called agents. */
    modelCalls: models.calls,
    modelMs: models.ms,
    toolCalls: tools.calls,
    toolFailures: tools.failures,
    toolMs: tools.ms,
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
      record.firstPartMs ?? 0,
      record.modelCalls,
      record.modelMs,
      record.toolCalls,
      record.toolFailures,
      record.toolMs,
      usage?.inputTokens ?? 0,
      usage?.outputTokens ?? 0,
      savings?.promptChars ?? 0,
      savings?.inlinePromptChars ?? 0,
      savings?.authoredChars ?? 0,
      savings?.resolvedChars ?? 0,
      cost.rowsRead,
      cost.rowsWritten,
      cost.alarms,
      record.queuedMs ?? 0,
    ],
  };
}
