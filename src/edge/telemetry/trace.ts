import type { Activity, Observed, Outcome } from "../../tool/observer.ts";

/** Who answers is known when its time has come. */
const NOBODY: Activity = { kind: "agent", name: "" };

/** What goes on in one attempt at a turn, in the order in which it begins. */
export class Trace {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly spans: Span[] = [];
  /** The attempt itself. */
  readonly root: Span;

  constructor(now: () => number) {
    this.now = now;
    this.root = this.begin(NOBODY);
  }

  begin(activity: Activity, parent?: Span): Span {
    const span = new Span(this, activity, parent);
    this.spans.push(span);
    return span;
  }

  /** What a stop has left open ends with the turn. */
  end(outcome: Outcome): void {
    this.root.end(outcome);
    for (const span of this.spans) span.end({ error: "turn_stopped" });
  }
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
  }

  /** Clocks are set back at times. */
  get durationMs(): number {
    return Math.max((this.endMs ?? 0) - this.startMs, 0);
  }
}
