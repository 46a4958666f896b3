import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Loopback, startLoopback, textOf } from "./loopback.ts";
import { type SentSpan, spansIn } from "./telemetry.ts";

interface Export {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly spans: readonly SentSpan[];
}

/** An OTLP/HTTP collector on the loopback address. */
export interface Collector extends Loopback {
  /** Everything received so far. */
  readonly exports: readonly Export[];
  /** Sets how it responds. Default: it accepts everything. */
  answer: (response: ServerResponse) => void;
}

export async function startCollector(): Promise<Collector> {
  const exports: Export[] = [];
  const collector = {
    exports,
    answer: (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    },
  };
  const server = await startLoopback(async (request, response) => {
    const body = await textOf(request);
    const { method, url: path, headers } = request;
    exports.push({ method, path, headers, body, spans: spansIn(body) });
    collector.answer(response);
  });
  return Object.assign(collector, server);
}
