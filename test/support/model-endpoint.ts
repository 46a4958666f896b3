import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface EndpointRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // Whatever the protocol wants: tests look into it.
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the model says to one request. */
export type EndpointStep =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "calls"; readonly calls: readonly EndpointCall[] }
  /** Not a stream: a status and a document. */
  | { readonly kind: "status"; readonly status: number; readonly body: object };

interface EndpointCall {
  readonly name: string;
  readonly input: object;
}

/** What `usage` says of every answer. */
export const INPUT_TOKENS = 11;
export const OUTPUT_TOKENS = 7;

export interface ModelEndpoint {
  /** The address, without `/v1`. */
  readonly url: string;
  /** Since the last `play`, oldest first. */
  readonly requests: readonly EndpointRequest[];
  /** Says these from now on. A request beyond the list's end is answered 500. */
  play(script: EndpointScript): void;
  stop(): Promise<void>;
}

/** One step for each request, or what to say to it. */
type EndpointScript = readonly EndpointStep[] | ((body: EndpointRequest["body"]) => EndpointStep);

/** The events of a protocol for one step; `number` counts the requests of a script. */
export type Protocol = (
  step: Exclude<EndpointStep, { kind: "status" }>,
  number: number,
) => readonly Readonly<Record<string, unknown>>[];

/** An endpoint on the loopback address that streams the events of a protocol. */
export async function startModelEndpoint(protocol: Protocol): Promise<ModelEndpoint> {
  let script: EndpointScript = [];
  let requests: EndpointRequest[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await readBody(request);
      requests.push({ path: request.url ?? "", headers: request.headers, body });
      const step = typeof script === "function" ? script(body) : script[requests.length - 1];
      answer(response, step ?? BEYOND_SCRIPT, (said) => protocol(said, requests.length));
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(0, "127.0.0.1", done);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return requests;
    },
    play(next) {
      script = next;
      requests = [];
    },
    stop: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const BEYOND_SCRIPT: EndpointStep = {
  kind: "status",
  status: 500,
  body: { error: { type: "api_error", message: "The script of the test has ended." } },
};

async function readBody(request: IncomingMessage): Promise<EndpointRequest["body"]> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text) as EndpointRequest["body"];
}

function answer(
  response: ServerResponse,
  step: EndpointStep,
  eventsOf: (said: Exclude<EndpointStep, { kind: "status" }>) => ReturnType<Protocol>,
): void {
  if (step.kind === "status") {
    response.writeHead(step.status, { "content-type": "application/json" });
    response.end(JSON.stringify(step.body));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of eventsOf(step)) {
    response.write(`event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`);
  }
  response.end();
}

/** Five characters each, so that references are cut where it hurts. */
export function fragments(text: string): readonly string[] {
  return Array.from(text.matchAll(/.{1,5}/gsu), ([fragment]) => fragment);
}
