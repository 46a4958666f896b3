import type { TurnEnd } from "../../turn/turn-context.ts";
import type { Trace } from "./trace.ts";

/** The turn of which there is something to tell. */
export interface TurnSubject {
  readonly tenant: string;
  readonly conversation: string;
  /** Its id, or that of the run. */
  readonly turn: string;
  /** A run of a plan is a turn of another kind. */
  readonly kind?: "run" | undefined;
  /** A crash had cut it off. */
  readonly recovered?: true | undefined;
  /** Set if its spans are exported. */
  readonly traceId?: string | undefined;
}

/** An attempt that could not begin has nothing to count. */
export type RecordedEnd = Pick<TurnEnd, "status" | "cost"> & Partial<TurnEnd>;

export type TurnRecord = ReturnType<typeof turnRecord>;

/** What is told of one attempt at a turn, or a run: ids, names, times, counts and codes; never a value. */
export function turnRecord(subject: TurnSubject, { root, spans, sums }: Trace, end: RecordedEnd) {
  const { activity, startMs, durationMs } = root;
  const { name, model = "", provider = "" } = activity;
  const first = spans.find(({ parent, answersMs }) => parent === root && answersMs !== undefined);
  const { model: models, tool: tools } = sums;
  return {
    event: "turn",
    ...subject,
    agent: name,
    model,
    provider,
    startedAt: new Date(startMs).toISOString(),
    durationMs,
    /** Until its own model said the first of anything. */
    firstPartMs: first?.answersMs && first.answersMs - startMs,
    /** Every try, those of agents that were asked included. */
    modelCalls: models.calls,
    modelMs: models.ms,
    toolCalls: tools.calls,
    toolFailures: tools.failures,
    toolMs: tools.ms,
    ...end,
  } as const;
}

/** With a longer index the point would be lost. */
const MAX_INDEX_BYTES = 96;

/** A turn as Workers Analytics Engine keeps it. Queries go by position: what is new comes last. */
export function dataPointOf(record: TurnRecord): AnalyticsEngineDataPoint {
  const {
    tenant,
    conversation,
    agent,
    model,
    status,
    code = "",
    usage = {},
    savings,
    cost,
  } = record;
  const { read } = new TextEncoder().encodeInto(tenant, new Uint8Array(MAX_INDEX_BYTES));
  return {
    indexes: [tenant.slice(0, read)],
    blobs: [conversation, agent, model, status, code, tenant],
    doubles: [
      record.durationMs,
      record.firstPartMs ?? 0,
      record.modelCalls,
      record.modelMs,
      record.toolCalls,
      record.toolFailures,
      record.toolMs,
      usage.inputTokens ?? 0,
      usage.outputTokens ?? 0,
      savings?.promptChars ?? 0,
      savings?.inlinePromptChars ?? 0,
      savings?.authoredChars ?? 0,
      savings?.resolvedChars ?? 0,
      cost.rowsRead,
      cost.rowsWritten,
      cost.alarms,
    ],
  };
}
