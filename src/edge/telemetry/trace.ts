import * as limits from "../../limits.ts";
import type { Activity, Observed, Outcome } from "../../tool/observer.ts";

/** Who answers is known when its time has come. */
const NOBODY: Activity = { kind: "agent", name: "" };

/** What goes on in one attempt at a turn. */
export class Trace {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The first so many, in the order in which they begin: each behind the one that it is in. */
  readonly spans: Span[] = [];
  /** Of all that there were; what ran at the same time is added up. */
  readonly sums: Readonly<Record<Activity["kind"], Sum>> = {
    agent: { calls: 0, failures: 0, ms: 0 },
    model: { calls: 0, failures: 0, ms: 0 },
    tool: { calls: 0, failures: 0, ms: 0 },
  };
  /** The attempt itself. */
  readonly root: Span;

  constructor(now: () => number) {
    this.now = now;
    this.root = this.begin(NOBODY);
  }

  begin(activity: Activity, parent?: Span): Span {
    const span = new Span(this, activity, parent);
    if (this.spans.length < limits.maxSpans) this.spans.push(span);
    this.sums[activity.kind].calls++;
    return span;
  }

  /** What a stop has left open ends with the turn. */
  end(outcome: Outcome): void {
    this.root.end(outcome);
    for (const span of this.spans) span.end({ error: "turn_stopped" });
  }
}

interface Sum {
  calls: number;
  failures: number;
  ms: number;
}

/** Something that has begun in a turn, and what came of it. */
export class Span implements Observed {
  activity: Activity;
  readonly parent: Span | undefined;
  readonly startMs: number;
  answersMs: number | undefined;
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

  answers(): void {
    this.answersMs ??= this.#trace.now();
  }

  end(outcome: Outcome = {}): void {
    if (this.endMs !== undefined) return;
    this.endMs = this.#trace.now();
    this.outcome = outcome;
    const sum = this.#trace.sums[this.activity.kind];
    sum.ms += this.durationMs;
    if (outcome.error !== undefined) sum.failures++;
  }

  /** Clocks are set back at times. */
  get durationMs(): number {
    return Math.max((this.endMs ?? 0) - this.startMs, 0);
  }
}

/** Who has called, in a trace that somebody else began. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** Somebody keeps it; otherwise nobody is to hear of it. */
  readonly isSampled: boolean;
}

/** W3C Trace Context: later versions may say more behind these four. */
const TRACE_PARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** Undefined for what is no `traceparent`: the turn then begins a trace of its own. */
export function readTraceParent(header: string | null | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags = ""] = TRACE_PARENT.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}
