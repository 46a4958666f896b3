import type { Observer } from "../../tool/observer.ts";
import { modelNameOf } from "../../turn/model/prepare-model-call.ts";
import type { Bindings } from "../bindings.ts";
import { conversationIn, type ObjectContext } from "../conversation-name.ts";
import { type Settings, settingsOf } from "../settings.ts";
import type { ChosenAgent } from "../turns/chosen-agent.ts";
import { type Collector, sendTraces, tracesRequest } from "./otlp.ts";
import { readTraceParent, Trace } from "./trace.ts";
import { dataPointOf, type RecordedEnd, turnRecord, type TurnSubject } from "./turn-record.ts";

/** The turn that is observed, and the trace of the request that asked for it. */
export interface Watched extends Omit<TurnSubject, "tenant" | "traceId"> {
  /** The request's header, or the context that `watch` returned for an earlier attempt at the turn. */
  readonly traceparent?: string | null | undefined;
}

/**
 * Reports how turns end: a line in the log, a data point for Analytics Engine, spans for a collector if there is
 * one. No request waits for it, and it never throws.
 */
export class Telemetry {
  readonly #options: ObjectContext;
  readonly #tenant: string;
  /** The collector has failed; reported once until it works again. */
  #hasFailed = false;

  constructor(options: ObjectContext) {
    this.#options = options;
    this.#tenant = conversationIn(options.state.id.name)?.tenant ?? "";
  }

  /** Observes an attempt from now until `end`. */
  watch(watched: Watched) {
    const trace = new Trace(Date.now);
    const { root } = trace;
    const context = this.#contextOf(watched.traceparent);
    return {
      /** To be stored, so that a later attempt at the turn belongs to the same trace. */
      trace: context,
      observer: root satisfies Observer,
      /** To call when the agent is known. */
      chosen: ({ agent, model }: Pick<ChosenAgent, "agent" | "model">) => {
        root.activity = { kind: "agent", name: agent.name, ...modelNameOf(model) };
      },
      end: (end: RecordedEnd) => {
        const { status, code, finishReason, usage } = end;
        trace.end({ ...usage, finishReason, error: status === "failed" ? code : undefined });
        this.#report({ ...watched, traceparent: context }, trace, end);
      },
    };
  }

  /** A valid header, or the id of a trace that begins here. Undefined where nothing is exported. */
  #contextOf(given: Watched["traceparent"] = null): string | undefined {
    if (given !== null && (readTraceParent(given) !== undefined || TRACE_ID.test(given))) {
      return given.slice(0, TRACE_PARENT_CHARS);
    }
    try {
      return collectorIn(settingsOf(this.#options.env)) && randomHex(16);
    } catch {
      // Choosing the agent reports what is wrong with the settings.
      return undefined;
    }
  }

  #report({ traceparent, ...watched }: Watched, trace: Trace, end: RecordedEnd): void {
    try {
      const { env } = this.#options;
      const { ANALYTICS }: Partial<Bindings> = env;
      const settings = settingsOf(env);
      const parent = readTraceParent(traceparent);
      // Skipped when the trace is not sampled.
      const collector = parent?.isSampled === false ? undefined : collectorIn(settings);
      const traceId = collector && (parent?.traceId ?? traceparent ?? randomHex(16));
      const record = turnRecord({ tenant: this.#tenant, ...watched, traceId }, trace, end);
      if (settings.LOG === "turns") console.log(JSON.stringify(record));
      if (collector !== undefined && traceId !== undefined) {
        const request = tracesRequest(trace, record, {
          service: settings.OTEL_SERVICE_NAME,
          traceId,
          parentSpanId: parent?.spanId,
          newSpanId: () => randomHex(8),
        });
        this.#options.state.waitUntil(this.#send(collector, request));
      }
      ANALYTICS?.writeDataPoint(dataPointOf(record));
    } catch (error) {
      console.error(error);
    }
  }

  async #send(collector: Collector, request: object): Promise<void> {
    const reason = await sendTraces(collector, request);
    if (reason !== undefined && !this.#hasFailed) {
      console.error(JSON.stringify({ event: "export_failed", reason }));
    }
    this.#hasFailed = reason !== undefined;
  }
}

const TRACE_ID = /^[0-9a-f]{32}$/;
const TRACE_PARENT_CHARS = 55;

function collectorIn(settings: Settings): Collector | undefined {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers } = settings;
  return endpoint === undefined ? undefined : { endpoint, headers };
}

function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
