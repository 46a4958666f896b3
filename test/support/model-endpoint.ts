import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { type Loopback, startLoopback, textOf } from "./loopback.ts";

/** What a protocol wants: tests look into it. */
type AnyBody = Readonly<Record<string, unknown>>;

export interface EndpointRequest<Body = AnyBody> {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
}

/** What the model says to one request, as events of the protocol. */
type Said =
  | {
      readonly kind: "text";
      readonly text: string;
      /** Awaited in the middle of the text, by protocols that can wait. */
      readonly hold?: Promise<unknown>;
    }
  | {
      readonly kind: "calls";
      readonly calls: readonly { readonly name: string; readonly input: object }[];
    }
  /** The beginning of a text, and then the connection is gone. */
  | { readonly kind: "cut"; readonly text: string };

/** What the endpoint does with one request. */
export type EndpointStep =
  | Said
  /** Not a stream: a status and a document. */
  | { readonly kind: "status"; readonly status: number; readonly body: object | string }
  /** 200 and bytes that are no answer. */
  | { readonly kind: "garbage"; readonly type: string; readonly body: string };

/** One step for each request, or what to say to it. */
export type EndpointScript<Body = AnyBody> =
  | readonly EndpointStep[]
  | ((body: Body) => EndpointStep);

/** What `usage` says of every answer. */
export const INPUT_TOKENS = 11;
export const OUTPUT_TOKENS = 7;

export interface ModelEndpoint<Body = AnyBody> extends Loopback {
  /** Since the last `play`, oldest first. */
  readonly requests: readonly EndpointRequest<Body>[];
  /** Says these from now on. A request beyond the list's end is answered 500. */
  play(script: EndpointScript<Body>): void;
}

/** The data of a protocol's events for one step; `number` counts the requests of a script. */
export type Protocol = (
  step: Said,
  number: number,
) => AsyncIterable<AnyBody | string> | Iterable<AnyBody>;

/** An endpoint on the loopback address that streams the events of a protocol. */
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

/** Five characters each, so that references are cut where it hurts. */
export function fragments(text: string): readonly string[] {
  return Array.from(text.matchAll(/.{1,5}/gsu), ([fragment]) => fragment);
}
