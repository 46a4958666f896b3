import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type SentSpan, spansIn } from "./telemetry.ts";

interface Export {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly spans: readonly SentSpan[];
}

/** An OTLP/HTTP collector on the loopback address. */
export interface Collector {
  readonly url: string;
  /** All that it was sent so far. */
  readonly exports: readonly Export[];
  /** How it answers from now on. Default: it takes all. */
  answer: (response: ServerResponse) => void;
  down(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const exports: Export[] = [];
  const collector = {
    exports,
    answer: (response: ServerResponse) => {
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    },
  };
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { method, url: path, headers } = request;
      exports.push({ method, path, headers, body, spans: spansIn(body) });
      collector.answer(response);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const down = () =>
    new Promise<void>((done) => {
      server.close(() => done());
      server.closeAllConnections();
    });
  return Object.assign(collector, { url: `http://127.0.0.1:${port}`, down });
}
