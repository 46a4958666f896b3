import * as limits from "../../limits.ts";
import { clip } from "../../value/characters.ts";
import { version } from "../../version.ts";
import type { Span, Trace, TurnRecord } from "./trace.ts";

/** Models choose the ids of their calls. */
const MAX_ID_CHARS = 128;

const OPERATIONS = { agent: "invoke_agent", model: "chat", tool: "execute_tool" } as const;

const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

/**
 * The JSON body of an OTLP/HTTP request to `/v1/traces`: the spans of one attempt at a turn, the attempt's
 * own first, with names and attributes of the semantic conventions for generative AI. `service`: `service.name`.
 * `parentSpanId`: the caller's span, if there is one.
 */
export function tracesRequest(
  { spans }: Trace,
  record: TurnRecord,
  { service, traceId, parentSpanId, newSpanId }: RequestOptions,
) {
  const ids = new Map(spans.map((span) => [span, newSpanId()]));
  const encoded = spans.map((span) => ({
    traceId,
    spanId: ids.get(span),
    parentSpanId: span.parent === undefined ? parentSpanId : ids.get(span.parent),
    name: `${OPERATIONS[span.activity.kind]} ${span.activity.name}`.trimEnd(),
    kind: span.activity.kind === "model" ? CLIENT : INTERNAL,
    // Clocks in Workers have millisecond resolution.
    startTimeUnixNano: `${span.startMs}000000`,
    endTimeUnixNano: `${span.startMs + span.durationMs}000000`,
    attributes: attributesIn({
      ...aboutSpan(span),
      "gen_ai.conversation.id": record.conversation,
      ...(span.parent === undefined ? aboutTurn(record) : {}),
    }),
    status: span.outcome.error === undefined ? {} : { code: ERROR },
  }));
  const resource = { attributes: attributesIn({ "service.name": service }) };
  const scope = { name: "byref", version };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: encoded }] }] };
}

type Attributes = Readonly<Record<string, string | number | boolean | object | undefined>>;

function aboutSpan({ activity, outcome, firstOutputMs }: Span): Attributes {
  const { kind, name, model, provider, toolCallId } = activity;
  const { finishReason, inputTokens, outputTokens, error } = outcome;
  return {
    "gen_ai.operation.name": OPERATIONS[kind],
    "gen_ai.agent.name": kind === "agent" ? name : undefined,
    "gen_ai.tool.name": kind === "tool" ? name : undefined,
    "gen_ai.tool.type": kind === "tool" ? "function" : undefined,
    "gen_ai.tool.call.id": toolCallId && clip(toolCallId, MAX_ID_CHARS),
    "gen_ai.provider.name": provider?.split(".", 1)[0],
    "gen_ai.request.model": model,
    "gen_ai.request.stream": kind === "model" || undefined,
    // A double, even if it is whole.
    "gen_ai.response.time_to_first_chunk":
      firstOutputMs === undefined ? undefined : { doubleValue: firstOutputMs / 1e3 },
    "gen_ai.response.finish_reasons": finishReason && [finishReason],
    "gen_ai.usage.input_tokens": inputTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    "error.type": error,
  };
}

/** Attributes without a name in the conventions. */
function aboutTurn(record: TurnRecord): Attributes {
  const { tenant, turn, kind, status, limit, queuedMs, recovered, savings = {}, cost } = record;
  return {
    ...prefixed("byref", { tenant, turn, kind, status, limit, queuedMs, recovered }),
    ...prefixed("byref.savings", savings),
    ...prefixed("byref.cost", cost),
  };
}

function prefixed(prefix: string, values: object): Attributes {
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`${prefix}.${snake(name)}`, value]),
  );
}

function attributesIn(attributes: Attributes) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

function valueOf(value: string | number | boolean | object): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // In JSON, 64-bit integers are text.
  if (typeof value === "number") return { intValue: String(value) };
  return Array.isArray(value) ? { arrayValue: { values: value.map(valueOf) } } : value;
}

interface RequestOptions {
  readonly service: string;
  readonly traceId: string;
  readonly parentSpanId: string | undefined;
  /** 16 hexadecimal digits. */
  readonly newSpanId: () => string;
}

export interface Collector {
  /** Base URL for all signals; the path for traces is appended. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns undefined if the collector accepted the spans, otherwise the reason. Never rejects. */
export async function sendTraces(
  { endpoint, headers }: Collector,
  request: object,
): Promise<string | undefined> {
  try {
    const url = new URL(endpoint);
    // The query is kept: some collectors take their key there.
    url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
    const response = await fetch(url.href, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(request),
      // The headers are only for this collector, so redirects are not followed.
      redirect: "manual",
      signal: AbortSignal.timeout(limits.connectMs),
    });
    await response.body?.cancel();
    return response.ok ? undefined : `status ${response.status}`;
  } catch (error) {
    // The error's message may contain the URL.
    return error instanceof Error && error.name === "TimeoutError" ? "timeout" : "unreachable";
  }
}
