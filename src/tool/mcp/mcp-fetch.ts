import * as limits from "../../limits.ts";
import { withTimeLimit } from "../../value/deadline.ts";

/** Time limit for ending a session. */
const DELETE_MS = 2_000;
const MAX_REFUSAL_CHARS = 1_000;

/**
 * The `fetch` of an MCP client in a Worker. It opens no stream that would outlive the turn, follows
 * redirects within the origin only, because headers hold keys, and limits the size of responses. If a stream
 * ends or breaks before its response, it adds an error response, because the client would wait for one.
 */
export const mcpFetch: typeof fetch = async (input: RequestInfo | URL, init: RequestInit = {}) => {
  // A GET would open the stream of the server's own messages, which nothing reads. Servers without that
  // stream answer 405.
  if (init.method === "GET") return new Response(null, { status: 405 });
  const url = new URL(input instanceof Request ? input.url : input);
  const send = (signal = init.signal) => fetchWithin(url, { ...init, ...(signal && { signal }) });
  if (init.method === "DELETE") return withTimeLimit(DELETE_MS, send);
  const response = await send();
  if (response.status === 400 || response.status === 404) return refusal(response);
  if (response.body === null || !response.ok) return response;
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.includes("text/event-stream") === true;
  const ending = isStream ? { id: idOf(init.body) } : undefined;
  // The body is already decoded, so headers about its encoding are dropped.
  const kept = ["content-type", "mcp-session-id"].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return new Response(bounded(response.body, ending), { status, headers: kept });
};

async function fetchWithin(url: URL, init: RequestInit): Promise<Response> {
  let target = url;
  for (let hop = 0; hop <= limits.maxMcpRedirects; hop++) {
    const response = await fetch(target.href, { ...init, redirect: "manual" });
    if (response.status < 300 || response.status > 399) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    // Other redirects would change the request to a GET.
    const keepsMethod = response.status === 307 || response.status === 308;
    const next = location === null || !keepsMethod ? undefined : new URL(location, target);
    if (next?.origin !== url.origin) throw new Error("The server redirects to somewhere else.");
    target = next;
  }
  throw new Error(`The server redirects more than ${limits.maxMcpRedirects} times.`);
}

/**
 * Converts a refusal to text, so that the client reports the status. As JSON-RPC, the same text would hide
 * it.
 */
async function refusal({ status, body }: Response): Promise<Response> {
  const text = body === null ? "" : await new Response(bounded(body)).text();
  return new Response(`Refused: ${text.slice(0, MAX_REFUSAL_CHARS)}`, { status });
}

/** The request's id, which is at the end of its body. Undefined for a notification. */
function idOf(body: RequestInit["body"]): string | undefined {
  return typeof body === "string" ? /"id":(\d+)\}$/.exec(body.slice(-40))?.[1] : undefined;
}

/**
 * Limits the stream's size. With `ending`, the stream always ends without an error, and with a response to
 * the request.
 */
function bounded(
  body: ReadableStream<Uint8Array>,
  ending?: { readonly id: string | undefined },
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  const end = (controller: ReadableStreamDefaultController<Uint8Array>, why: string) => {
    // The client ignores it for a request that already has its response.
    if (ending?.id !== undefined) controller.enqueue(errorEvent(ending.id, why));
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const read = await reader.read();
        if (read.done) return end(controller, "The server ended its answer too early.");
        bytes += read.value.byteLength;
        if (bytes <= limits.maxMcpAnswerBytes) return controller.enqueue(read.value);
        const error = new Error(
          `The server's answer is longer than ${limits.maxMcpAnswerBytes} bytes.`,
        );
        reader.cancel(error).catch(() => undefined);
        throw error;
      } catch (error) {
        if (ending === undefined) throw error;
        end(controller, error instanceof Error ? error.message : "The connection broke.");
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function errorEvent(id: string, message: string): Uint8Array {
  const answer = { jsonrpc: "2.0", id: Number(id), error: { code: -32_000, message } };
  // The empty line ends an event that was cut off.
  return new TextEncoder().encode(`\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`);
}
