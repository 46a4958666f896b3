import type { TurnEnd } from "../../turn/turn-context.ts";
import type { Trace } from "./trace.ts";

/** The turn that a record describes. */
export interface TurnSubject {
  readonly tenant: string;
  readonly conversation: string;
  /** The id of the turn or run. */
  readonly turn: string;
  /** Set for a run of a plan. */
  readonly kind?: "run" | undefined;
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
