import type { TurnRecord } from "./turn-record.ts";

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
