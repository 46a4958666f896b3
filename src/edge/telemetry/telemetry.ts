import { toHex } from "../../value/encoding.ts";
import { modelNameOf } from "../../turn/model/model-call.ts";
import type { Bindings } from "../app-env.ts";
import { nameIn, type ObjectContext } from "../conversation-of.ts";
import { logFailure, placeIn } from "../log-failure.ts";
import { type Settings, settingsOf } from "../settings.ts";
import type { ChosenAgent } from "../turns/chosen-agent.ts";
import { type Collector, sendTraces, tracesRequest } from "./otlp.ts";
import { dataPointOf, type RecordedEnd, Trace, turnRecord, type TurnSubject } from "./trace.ts";

export interface ObservedTurn extends Omit<TurnSubject, "tenant" | "traceId"> {
  /** The request's header, or the context that `watch` returned for an earlier attempt at the turn. */
  readonly traceparent?: string | null | undefined;
}

/**
 * Reports how turns end: a line in the log, a data point for Analytics Engine, and spans for a collector if
 * one is set. No request waits for it, and it never throws.
 */
export class Telemetry {
  readonly #options: ObjectContext;
  /** True after the collector has failed; reported once until it works again. */
  #hasFailed = false;

  constructor(options: ObjectContext) {
    this.#options = options;
  }

  /** Observes an attempt from now until `end`. */
  watch({ traceparent, ...turn }: ObservedTurn) {
    const trace = new Trace(Date.now);
    const { root } = trace;
    const context = this.#contextOf(traceparent ?? "");
    return {
      /** Stored with the turn, so that a later attempt belongs to the same trace. */
      trace: context,
      observer: root,
      timeline: () => trace.timeline(),
      /** Call this when the agent is known. */
      chosen: ({ agent, model }: Pick<ChosenAgent, "agent" | "model">) => {
        root.activity = { kind: "agent", name: agent.name, ...modelNameOf(model) };
      },
      end: (end: RecordedEnd) => {
        const { status, code, finishReason, usage } = end;
        trace.end({ ...usage, finishReason, error: status === "failed" ? code : undefined });
        try {
          this.#report(turn, context, trace, end);
        } catch (error) {
          logFailure(error, placeIn(this.#options, "telemetry"));
        }
      },
    };
  }

  /** A valid header, or the id of a new trace. Undefined if nothing is exported. */
  #contextOf(given: string): string | undefined {
    if (readTraceParent(given) !== undefined || TRACE_ID.test(given)) {
      return given.slice(0, TRACE_PARENT_CHARS);
    }
    try {
      return collectorIn(settingsOf(this.#options.env)) && randomHex(16);
    } catch {
      // Invalid settings are reported when the agent is chosen.
      return undefined;
    }
  }

  #report(
    turn: Omit<TurnSubject, "tenant" | "traceId">,
    context: string | undefined,
    trace: Trace,
    end: RecordedEnd,
  ): void {
    const { env, state } = this.#options;
    const { ANALYTICS }: Partial<Bindings> = env;
    const settings = settingsOf(env);
    const parent = readTraceParent(context ?? "");
    // Skipped when the trace is not sampled.
    const collector = parent?.isSampled === false ? undefined : collectorIn(settings);
    const traceId = collector && (parent?.traceId ?? context ?? randomHex(16));
    const { tenant = "" } = nameIn(state.id.name);
    const record = turnRecord({ tenant, ...turn, traceId }, trace, end);
    if (settings.LOG === "turns") console.log(JSON.stringify(record));
    if (collector !== undefined && traceId !== undefined) {
      const { OTEL_SERVICE_NAME: service } = settings;
      const newSpanId = () => randomHex(8);
      const about = { service, traceId, parentSpanId: parent?.spanId, newSpanId };
      state.waitUntil(this.#send(collector, tracesRequest(trace, record, about)));
    }
    ANALYTICS?.writeDataPoint(dataPointOf(record));
  }

  async #send(collector: Collector, request: object): Promise<void> {
    const reason = await sendTraces(collector, request);
    if (reason !== undefined && !this.#hasFailed) {
      const at = new Date().toISOString();
      console.error(JSON.stringify({ event: "export_failed", at, reason }));
    }
    this.#hasFailed = reason !== undefined;
  }
}

const TRACE_ID = /^[0-9a-f]{32}$/;
const TRACE_PARENT_CHARS = 55;

/** W3C Trace Context: later versions may have more fields after these four. */
const TRACE_PARENT =
  /^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/**
 * The caller's span, in a trace that began outside. Nothing is exported of one that is not sampled. Undefined for an
 * invalid `traceparent`: the turn then begins its own trace.
 */
export function readTraceParent(header: string) {
  const [, traceId, spanId, flags = ""] = TRACE_PARENT.exec(header) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

function collectorIn(settings: Settings): Collector | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = settings;
  return endpoint === undefined ? undefined : { endpoint, headers };
}

function randomHex(bytes: number): string {
  return toHex(crypto.getRandomValues(new Uint8Array(bytes)));
}
