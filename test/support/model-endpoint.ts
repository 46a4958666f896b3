import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Loopback, startLoopback, textOf } from "./loopback.ts";

/** A request body of any protocol, which tests inspect. */
type AnyBody = Readonly<Record<string, unknown>>;

interface EndpointRequest<Body = AnyBody> {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
}

/** What the model answers to one request, as events of the protocol. */
type Said =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Awaited in the middle of the text, in protocols that support it. */
      readonly hold?: Promise<unknown>;
    }
  | {
      readonly kind: "calls";
      readonly calls: readonly { readonly name: string; readonly input: object }[];
    }
  /** The start of a text, after which the connection breaks. */
  | { readonly kind: "cut"; readonly text: string };

/** What the endpoint does with one request. */
export type EndpointStep =
  | Said
  /** A status and a document instead of a stream. */
  | { readonly kind: "status"; readonly status: number; readonly body: object | string }
  /** Status 200 with a body that is not a valid answer. */
  | { readonly kind: "garbage"; readonly type: string; readonly body: string };

/** One step per request, or a function that returns the step for a request. */
export type EndpointScript<Body = AnyBody> =
  | readonly EndpointStep[]
  | ((body: Body) => EndpointStep);

/** The token usage that every answer reports. */
export const INPUT_TOKENS = 11;
export const OUTPUT_TOKENS = 7;

export interface ModelEndpoint<Body = AnyBody> extends Loopback {
  /** Requests since the last `play`, oldest first. */
  readonly requests: readonly EndpointRequest<Body>[];
  /** Starts a new script. A request beyond its end gets status 500. */
  play(script: EndpointScript<Body>): void;
}

/** Returns the data of the protocol's events for one step. `number` counts the requests of a script. */
export type Protocol = (
  step: Said,
  number: number,
) => AsyncIterable<AnyBody | string> | Iterable<AnyBody>;

/** Starts an endpoint on the loopback address that streams the events of a protocol. */
export async function startModelEndpoint<Body = AnyBody>(
  protocol: Protocol,
): Promise<ModelEndpoint<Body>> {
  let script: EndpointScript<Body> = [];
  let requests: EndpointRequest<Body>[] = [];
  const server = await startLoopback(async (request, response) => {
    const body = JSON.parse(await textOf(request)) as Body;
    requests.push({ path: request.url ?? "", headers: request.headers, body });
    const step = typeof script === "function" ? script(body) : script[requests.length - 1];
    await answer(response, step ?? BEYOND_SCRIPT, (said) => protocol(said, requests.length));
  });
  return {
    ...server,
    get requests() {
      return requests;
    },
    play(next) {
      script = next;
      requests = [];
    },
  };
}

const BEYOND_SCRIPT: EndpointStep = {
  kind: "status",
  status: 500,
  body: { error: { type: "api_error", message: "The script of the test has ended." } },
};

async function answer(
  response: ServerResponse,
  step: EndpointStep,
  eventsOf: (said: Said) => ReturnType<Protocol>,
): Promise<void> {
  if (step.kind === "status" || step.kind === "garbage") {
    const [status, type, body] =
      step.kind === "status"
        ? [step.status, "application/json", textIn(step.body)]
        : [200, step.type, step.body];
    response.writeHead(status, { "content-type": type }).end(body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for await (const event of eventsOf(step)) {
    const name = typeof event === "string" || event.type === undefined ? "" : String(event.type);
    const data = typeof event === "string" ? event : JSON.stringify(event);
    const frame = `${name === "" ? "" : `event: ${name}\n`}data: ${data}\n\n`;
    await new Promise<void>((done) => response.write(frame, () => done()));
  }
  if (step.kind === "cut") response.destroy();
  else response.end();
}

function textIn(body: object | string): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

/** Splits a text into pieces of five characters, so that references are cut in awkward places. */
export function fragments(text: string): readonly string[] {
  return Array.from(text.matchAll(/.{1,5}/gsu), ([fragment]) => fragment);
}
