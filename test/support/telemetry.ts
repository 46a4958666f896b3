import { type MockInstance, vi } from "vitest";

export interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: object }[];
  readonly status: { readonly code?: number };
}

/** Returns the spans in a request body sent to a collector. */
export function spansIn(body: string): readonly SentSpan[] {
  const { resourceSpans } = JSON.parse(body) as {
    resourceSpans: readonly { scopeSpans: readonly { spans: readonly SentSpan[] }[] }[];
  };
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

/** Returns an attribute of a span as text. */
export function attributeOf(span: SentSpan | undefined, wanted: string): string | undefined {
  const value = span?.attributes.find(({ key }) => key === wanted)?.value;
  return value === undefined ? undefined : String(Object.values(value)[0]);
}

/** Returns each span's name with those of its ancestors: `a > b > c`. */
export function pathsIn(spans: readonly SentSpan[]): readonly string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = ({ name, parentSpanId = "" }: SentSpan): string => {
    const parent = byId.get(parentSpanId);
    return parent === undefined ? name : `${pathOf(parent)} > ${name}`;
  };
  return spans.map(pathOf);
}

interface Line extends Readonly<Record<string, unknown>> {
  readonly event: string;
}

/** Returns the JSON lines written to the console. */
export function linesOf({ mock }: MockInstance): readonly Line[] {
  return mock.calls.flatMap(([text]) =>
    typeof text === "string" && text.startsWith("{") ? [JSON.parse(text) as Line] : [],
  );
}

const HOST = "http://collector.example";
export const COLLECTOR = `${HOST}:4318`;

/** Replaces `fetch` with a collector. Returns the requests that it receives. */
export function collecting(answer: () => Promise<Response> | Response = () => new Response("{}")) {
  const requests: { readonly url: string; readonly init: RequestInit; readonly body: string }[] =
    [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init = {}) => {
    // The killed turn of another file may end now, and has a collector of its own.
    if (!String(url).startsWith(HOST)) return new Response("{}");
    requests.push({ url: String(url), init, body: String(init.body) });
    return answer();
  });
  return { requests, spans: (request = 0) => spansIn(requests[request]?.body ?? "") };
}
